"""What people look at and do: the frozen nouns of lists, stories and acts. Times as in `model`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from fairturn.model import Fields, Key, Lead


@dataclass(frozen=True, slots=True)
class By:
    """Who acts, and why: every act of a person leaves both in the history."""

    actor: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    at: datetime
    by: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class RepStanding:
    id: str
    pause: Pause | None
    pools: tuple[str, ...]  # that have the rep in their rotation
    leads_day: int  # leads of the last 24 hours that are theirs


@dataclass(frozen=True, slots=True)
class LeadLine:
    """A lead in a list."""

    lead: Lead
    held_at: datetime | None
    assigned_at: datetime | None


@dataclass(frozen=True, slots=True)
class EventLine:
    id: str  # hex
    source: str
    received_at: datetime
    state: str  # pending | routed | waiting | expired | quarantined
    problem: str | None
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AssignmentLine:
    """A row of a pool's record, or of an owner that a rule named (no pool)."""

    pool: str | None
    seq: int | None
    kind: str
    rep: str
    lead: int | None
    shares: Mapping[str, int] | None  # rep -> weight of those who shared the turn, in the pool's order
    eligible: tuple[str, ...] | None  # None = all who shared
    rule: str | None
    reason: str
    counts: bool
    actor: str
    config: int | None
    at: datetime


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """What a destination knows of a lead, and what it does not know yet."""

    destination: str
    state: str  # pending | in_flight | done | failed
    version: int
    confirmed: int
    record_id: str | None
    key: str
    since: datetime | None  # oldest event that is not in a request
    due_at: datetime | None  # not before
    attempts: int
    cause: str | None
    code: str | None
    message: str | None
    failed_at: datetime | None
    record: Mapping[str, object] | None = None  # as the destination last confirmed it
    without: Mapping[str, str] = field(default_factory=dict)  # fields of it that it did not take -> its words


@dataclass(frozen=True, slots=True)
class WriteLine:
    """One send of a lead."""

    destination: str
    version: int
    sent_at: datetime
    oldest_event_at: datetime
    answered_at: datetime | None
    outcome: str | None  # written | refused | later | unknown | shadow | same; None = no answer yet
    code: str | None
    message: str | None
    record_id: str | None
    created: bool | None
    owner: str | None
    records: int  # in the same request
    record: Mapping[str, object] | None = None  # as sent, or as it would have been sent
    without: Mapping[str, str] = field(default_factory=dict)  # fields that were not taken -> the CRM's words
    owner_stands: str | None = None  # the CRM's id of an owner set by somebody else, who was left


@dataclass(frozen=True, slots=True)
class ExistingLine:
    """Whether a destination knew the person before."""

    destination: str
    state: str  # due | answered | unknown
    email: str  # that was asked for
    since: datetime
    answered_at: datetime | None
    records: tuple[str, ...]  # all that it has of the person
    why: str | None  # what came of it


@dataclass(frozen=True, slots=True)
class Story:
    """All that is stored of one lead."""

    line: LeadLine
    merged: tuple[int, ...]  # younger leads that proved to be the same person
    keys: tuple[Key, ...]
    events: tuple[EventLine, ...]
    assignments: tuple[AssignmentLine, ...]
    changes: tuple[ChangeLine, ...]
    writes: tuple[WriteLine, ...]
    existing: tuple[ExistingLine, ...] = ()


@dataclass(frozen=True, slots=True)
class FailedWrite:
    lead: int
    destination: str
    code: str | None
    message: str | None
    failed_at: datetime
    attempts: int
    rep: str | None
    fields: Fields


@dataclass(frozen=True, slots=True)
class WrittenWithout:
    """A lead that a destination has, less some fields that it did not take."""

    lead: int
    destination: str
    without: Mapping[str, str]  # field -> the CRM's words
    written_at: datetime | None
    rep: str | None
    fields: Fields


@dataclass(frozen=True, slots=True)
class DestinationStanding:
    id: str
    org: str | None
    pause: Pause | None
    blocked_until: datetime | None
    blocked_cause: str | None
    served: bool  # a process holds its lease
    pending: int
    in_flight: int
    failed: int
    oldest_at: datetime | None  # oldest event that waits for a request
    answered_at: datetime | None  # the last answer, if within a day
    calls_day: int = 0  # requests of the last 24 hours, look-ups among them
    daily_calls: int | None = None  # a person's limit of them


@dataclass(frozen=True, slots=True)
class HistoryLine:
    id: int
    at: datetime
    actor: str
    verb: str
    subject: str  # rep ann, destination crm, lead 7
    reason: str | None
    detail: Mapping[str, object]
