"""The burst as data: people of companies that follow Zipf's law, and what three systems say about each of them when.

Each event carries something that no other event carries: a record of the CRM tells which events have reached it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import orjson

from fairturn.assemble.demo.scenario import FREE_MAIL, ZIPF, Address, Company, addresses, companies

SEED: Final = 8
APART: Final = 5.0  # seconds in which the events of one lead lie

Source = Literal["website", "enrichment", "scoring"]
SOURCES: Final[tuple[Source, ...]] = ("website", "enrichment", "scoring")
FIELDS: Final = {"website": "message", "enrichment": "title", "scoring": "score"}  # that only this system tells


@dataclass(frozen=True, slots=True)
class Event:
    """A webhook: `at` seconds after the start. `told`: of FIELDS, the value that no other event has."""

    number: int
    at: float
    lead: int
    source: Source
    email: str
    told: str | float
    body: bytes


@dataclass(frozen=True, slots=True)
class Burst:
    """`people` are the leads; `there`: those of them whom the CRM has before it, by their number."""

    companies: tuple[Company, ...]
    people: tuple[Address, ...]
    events: tuple[Event, ...]  # by time
    there: frozenset[int]
    seconds: float


def burst(
    leads: int, seconds: float, *, each: int = 3, every: float | None = None, there: float = 0.0, zipf: float = ZIPF
) -> Burst:
    """`each`: events of a lead, 1 to 3. `every`: seconds from lead to lead; None = at random within `seconds`.
    `there`: share of the people whom the CRM has. `zipf`: the exponent; 0 = all companies send alike.
    """
    dice = random.Random(SEED)
    known = companies(dice)
    weights = [1 / rank**zipf for rank in range(1, len(known) + 1)]
    people = tuple(who for who, _ in zip(addresses(dice, known, weights), range(leads), strict=False))
    apart = min(APART, seconds / 3) if each > 1 else 0.0
    events: list[Event] = []
    for number, who in enumerate(people):
        start = dice.uniform(0, max(0.0, seconds - apart)) if every is None else number * every
        for source, at in zip(SOURCES[:each], moments(dice, start, apart), strict=False):
            events.append(event(len(events), at, number, source, who))
    before = frozenset(dice.sample(range(leads), round(there * leads)))
    return Burst(known, people, tuple(sorted(events, key=lambda one: one.at)), before, seconds)


def moments(dice: random.Random, start: float, apart: float) -> Iterator[float]:
    """Of form, enrichment and score: one after the other, the last within `apart`."""
    yield start
    yield start + dice.uniform(0.1 * apart, 0.5 * apart)
    yield start + dice.uniform(0.55 * apart, apart)


def event(number: int, at: float, lead: int, source: Source, who: Address) -> Event:
    told = float(lead) if source == "scoring" else f"{FIELDS[source]} {lead}"
    body: dict[str, str | float | None] = {"id": f"{source}-{lead}", "email": who.email, FIELDS[source]: told}
    if source == "website":
        body |= {"first_name": who.first, "last_name": who.last, "company": who.company.name or None}
    return Event(number, at, lead, source, who.email, told, orjson.dumps(body))


def warm(first: int, count: int) -> Burst:
    """People of free mailboxes, all at once: by them a CRM is learnt before it counts."""
    nobody = Company("", FREE_MAIL[0], 1, "", "")
    people = tuple(
        Address("Warm", f"Up {n}", f"warm.up.{n}@{FREE_MAIL[0]}", nobody) for n in range(first, first + count)
    )
    events = tuple(event(n, 0.0, 1_000_000 + first + n, "website", who) for n, who in enumerate(people))
    return Burst((), people, events, frozenset(), 0.0)


def hottest(plan: Burst) -> int:
    """Leads of the company that sends most."""
    counts: dict[str, int] = {}
    for who in plan.people:
        if who.company.name:
            counts[who.company.domain] = counts.get(who.company.domain, 0) + 1
    return max(counts.values(), default=0)


def calls_if(plan: Burst, window: float) -> dict[str, int]:
    """Calls for the same burst, counted and not measured, were there one for each of these and the window so long."""
    domains = {number: who.company.domain if who.company.name else who.email for number, who in enumerate(plan.people)}
    at = [(int(one.at // window), one.lead) for one in plan.events]
    return {
        "event": len(at),
        "lead and window": len(set(at)),
        "account and window": len({(window_, domains[lead]) for window_, lead in at}),
        "window": len({window_ for window_, _ in at}),
    }


def per_second(plan: Burst, values: Sequence[float | None]) -> Iterator[tuple[int, list[float | None]]]:
    """Second of the burst -> the values of the events that came in it, by event number."""
    found: dict[int, list[float | None]] = {}
    for one in plan.events:
        found.setdefault(int(one.at), []).append(values[one.number])
    yield from sorted(found.items())
