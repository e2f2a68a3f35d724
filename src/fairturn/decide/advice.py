"""What is asked of the chooser, what it rests on, and what it answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil, isfinite
from typing import Final, Literal

Crm = Literal["salesforce", "hubspot"]
Choice = Literal["keep", "lock", "queue", "batch"]

DAY: Final = 1440  # minutes


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. `burst`: leads that may come within the same second; None = no more than the rate says."""

    leads_per_minute: float
    reps: int
    enrichment_seconds: float = 0.0
    burst: int | None = None
    events_per_lead: int = 1  # a form, then enrichment, then a score: three
    crm: Crm | None = None
    crm_calls_per_day: int | None = None
    caller_waits: bool = False

    @property
    def at_once(self) -> int:
        return max(ceil(self.leads_per_minute / 60), self.burst or 1)

    @property
    def leads_a_day(self) -> float:
        return self.leads_per_minute * DAY

    @property
    def events_a_day(self) -> float:
        return self.leads_a_day * self.events_per_lead


@dataclass(frozen=True, slots=True)
class Crowd:
    """A router while so many requests were under way at any time."""

    router: str
    concurrency: int
    requests: int
    reps: int
    unassigned: int  # leads without a rep
    spread: int  # leads of the rep with most, less those of the rep with fewest
    mean_ms: float
    p99_ms: float
    per_second: float


@dataclass(frozen=True, slots=True)
class Writing:
    """A way of writing a burst into a CRM."""

    model: str
    crm: str
    events: int
    seconds: float  # that the burst lasted
    calls: int
    failed_share: float  # of the events
    p95_s: float  # from the webhook to the CRM's answer
    source: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What the files of measurements hold, as far as there are any."""

    crowds: tuple[Crowd, ...] = ()
    writings: tuple[Writing, ...] = ()
    assigned_per_second: float | None = None  # one worker, webhook to ledger
    machine: str = ""  # on which


@dataclass(frozen=True, slots=True)
class Reason:
    about: str
    says: str
    source: str  # a file of measurements, "the article" or "arithmetic"


@dataclass(frozen=True, slots=True)
class Advice:
    choice: Choice
    says: str
    usual: float | None  # requests under way at once, on average; None: the time of a decision was not measured
    at_once: int  # in the worst second
    calls: Mapping[str, int]  # way of writing -> calls a day, at most
    reasons: tuple[Reason, ...]
    fairturn: tuple[str, ...]  # what Fairturn would do
    not_measured: tuple[str, ...] = field(default=())


def complaints(question: Question) -> Iterator[tuple[str, str]]:
    """(option, what is wrong with it and what to write instead) for every figure that makes no sense."""
    rate, wait = question.leads_per_minute, question.enrichment_seconds
    if not (isfinite(rate) and 0.0001 <= rate <= 1_000_000):
        yield "--leads-per-minute", "is from 0.0001 (one a week) to 1,000,000; five leads a day are 0.0035"
    if not 1 <= question.reps <= 10_000:
        yield "--reps", "is from 1 to 10,000: how many people share the leads of one pool"
    if not (isfinite(wait) and (wait == 0 or 0.001 <= wait <= 3600)):
        yield "--enrichment-seconds", "is 0 when nothing outside is asked before a rep is chosen, else 0.001 to 3600"
    if question.burst is not None and not 1 <= question.burst <= 1_000_000:
        yield "--burst", "is from 1 to 1,000,000: how many leads may come within one second"
    if not 1 <= question.events_per_lead <= 1000:
        yield "--events-per-lead", "is from 1 to 1000: a form, then enrichment, then a score are 3"
    if question.crm_calls_per_day is not None and question.crm_calls_per_day < 1:
        yield "--crm-calls-per-day", "is at least 1; your CRM shows its limit among its API usage"
