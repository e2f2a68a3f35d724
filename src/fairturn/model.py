"""The words that two rooms share: frozen nouns.

Times are aware datetimes in UTC unless a name says `_us` (microseconds).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from fairturn.quick import quick

Lane = Literal["batch", "sync"]
FieldValue = str | int | float | bool | None


@quick(frozen=True, slots=True)
class Item:
    """One event of a request, before it is stored."""

    id: bytes  # 16 bytes: hash of (source, dedupe value or the item as JSON)
    index: int  # place in the request's array, 0 for a single event
    body: bytes | None  # the parsed copy as clean UTF-8 JSON; None = the delivery's bytes are that already
    marks: tuple[str, ...] = ()  # what was cleaned: "nul", "surrogate", "charset", "control", "big number"
    problem: str | None = None  # set = quarantined on arrival, with this sentence


@quick(frozen=True, slots=True)
class Arrival:
    """A request that has been verified and split: what `accept` makes durable."""

    delivery: bytes  # 16 bytes: hash of (source, body)
    source: str
    content_type: str
    body: bytes  # as it came
    items: tuple[Item, ...]
    lane: Lane = "batch"
    at: datetime | None = None  # when it became durable, where that was elsewhere; None = as it is stored


@quick(frozen=True, slots=True)
class Event:
    """One thing that arrived, as route takes it from the journal."""

    id: bytes
    serial: int  # order of the journal
    source: str
    lane: Lane
    received_at: datetime
    body: bytes  # clean JSON, or the delivery's bytes


@quick(frozen=True, slots=True)
class Key:
    """Something that identifies a lead: e-mail, a source's own id, a CRM id."""

    digest: bytes  # 16 bytes of (kind, value); what is indexed, so that length never matters
    kind: str  # email | <source>:<name> | crm:<destination>
    value: str  # normalised, cut to 500 characters for display


@quick(frozen=True, slots=True)
class FieldState:
    """A lead field's value and which event set it; the order of merging does not matter."""

    value: FieldValue
    at_us: int  # event time, microseconds since 1970
    rank: int  # the source's rank
    event: str  # event id, hex


Fields = Mapping[str, FieldState]
# owned: in the CRM already, under an active owner who is none of our reps and keeps it
LeadStatus = Literal["waiting", "held", "assigned", "parked", "ignored", "owned"]


@quick(frozen=True, slots=True)
class Lead:
    """One person, merged from events."""

    id: int
    created_at: datetime
    source: str  # that started it
    status: LeadStatus
    fields: Fields
    account: int | None  # the account's id, None = on its own
    rep: str | None
    pool: str | None
    rule: str | None
    reason: str | None  # why held, parked or ignored
    wait_until: datetime | None
    merged_into: int | None = None
    priority: str = "normal"
    mode: str = "live"


@quick(frozen=True, slots=True)
class Assigned:
    """What a caller who waits is told."""

    lead: int | None  # None: the event is quarantined
    status: LeadStatus | Literal["quarantined"]
    rep: str | None
    pool: str | None
    why: str  # of a quarantined event: its problem
    owner: Owner | None = None  # of a lead that is `owned`: who keeps it in the CRM


# ---- the ledger -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ripening:
    """A pending change, as the window policy sees it."""

    lead: int
    first_event_at: datetime  # oldest event not yet sent
    due_at: datetime  # not before: a retry's time
    account: int | None
    priority: Literal["high", "normal", "bulk"]
    object_type: str | None = None  # of its record; None = the destination's own


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One record of a request: everything an encoder needs."""

    lead: int
    version: int  # the version that this send covers
    attempt: int  # of this change, 1 = first
    key: str  # our external id, stable for the lead's life
    record_id: str | None  # the CRM's id, if known
    fields: Mapping[str, FieldValue]
    owner: str | None  # rep id, queue or user; set only when an assignment made it part of the change
    owner_kind: Literal["rep", "raw"]  # rep = a rep's id, to be looked up; raw = the CRM's own id (queue, hold owner)
    account: int | None
    account_key: str | None  # e.g. the registrable domain, the account's key in the CRM
    oldest_event_at: datetime
    # the record as the CRM last confirmed it; without a record id: as it was sent when nobody knew what came of it
    confirmed: Mapping[str, object] | None
    shadow: bool = False
    first_try_at: datetime | None = None  # of the attempts since the last success
    object_type: str | None = None  # of the record there, where it is not the destination's own ("Contact")
    assignment: Mapping[str, FieldValue] = field(default_factory=dict)  # id rule pool reason received_at assigned_at
    found: Mapping[str, object] | None = None  # the CRM's values, as last read or confirmed; None = never read
    owner_known: str | None = None  # the CRM's owner id, as last read or written
    refused: Mapping[str, object] = field(default_factory=dict)  # CRM field -> value that it did not take before
    reread: bool = False  # read it before the write: what we know is too old to build on, or it may be there by now


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes sent in one request."""

    id: int
    destination: str
    records: tuple[Outgoing, ...]
    deadline: datetime  # nobody takes these rows again before


@dataclass(frozen=True, slots=True)
class Written:
    key: str
    record_id: str
    created: bool | None = None
    object_type: str | None = None  # where it is not the destination's own
    without: Mapping[str, str] = field(default_factory=dict)  # CRM field that it would not take -> its words
    owner_stands: str | None = None  # the CRM's id of an owner set by somebody else, who was left


@dataclass(frozen=True, slots=True)
class Refused:
    key: str
    code: str
    message: str
    fields: tuple[str, ...] = ()
    owner_fault: bool = False  # the CRM does not take this owner; the rest of the record may be fine


@dataclass(frozen=True, slots=True)
class Later:
    """Try again after `after` seconds (None = our own backoff). scope: this record, or the whole destination."""

    key: str | None
    after: float | None
    scope: Literal["record", "destination"]
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """We cannot tell whether it was written. Never success."""

    key: str
    message: str


Outcome = Written | Refused | Later | Unknown


@dataclass(frozen=True, slots=True)
class Rate:
    """A limit of requests, as the CRM tells it: `most` in `seconds`, of which `left` are left now (None: not told)."""

    most: int
    seconds: float
    left: int | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """How one request of records of one object went; from it the size of the next is learnt."""

    object_type: str
    records: int
    seconds: float
    overloaded: bool  # the org's own automation could not swallow so many at once


@dataclass(frozen=True, slots=True)
class Answer:
    """What a destination says of one batch: an outcome per record, and what it told of its limits."""

    outcomes: tuple[Outcome, ...]
    records: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # key -> the fields as sent and taken
    found: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # key -> the CRM's own values, where read
    owners: Mapping[str, str] = field(default_factory=dict)  # key -> the CRM's owner id, as read or written now
    refused: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # key -> field -> value not taken
    loads: tuple[Load, ...] = ()
    rate: Rate | None = None
    calls: int = 1  # data requests used
    quota_used: int | None = None
    quota_max: int | None = None
    same: frozenset[str] = frozenset()  # keys not sent: the record equals the one last confirmed
    shadow: frozenset[str] = frozenset()  # keys not sent: shadow mode


@dataclass(frozen=True, slots=True)
class Done:
    lead: int
    record_id: str
    created: bool | None
    record: Mapping[str, object]
    anew: bool = False  # under another id than before: the record that we knew is gone
    object_type: str | None = None
    without: Mapping[str, str] = field(default_factory=dict)
    owner_stands: str | None = None


@dataclass(frozen=True, slots=True)
class RetryAt:
    lead: int
    after: float  # seconds from the settle
    code: str
    message: str
    counts: bool  # uses up an attempt; an outage does not


@dataclass(frozen=True, slots=True)
class Failed:
    lead: int
    code: str
    message: str
    owner_fault: bool = False  # the rep cannot own records there: pause, route once more


Verdict = Done | RetryAt | Failed


# ---- people who are in a CRM already ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Owner:
    """Who owns a record there."""

    id: str
    kind: Literal["user", "queue"]
    active: bool
    name: str | None = None
    email: str | None = None


@dataclass(frozen=True, slots=True)
class Person:
    """A record that a CRM has of somebody, as it answered."""

    record_id: str
    object_type: str  # Lead, Contact, contacts
    email: str  # casefolded, the address that was asked for
    owner: Owner | None
    created_at: datetime | None = None
    status: str | None = None
    converted_to: str | None = None  # a converted Lead's Contact; None = open
    converted: bool = False
    key: str | None = None  # our external id, where it bears one
    values: Mapping[str, object] = field(default_factory=dict)  # of the fields that the mapping writes


@dataclass(frozen=True, slots=True)
class Question:
    """A lead that waits to hear whether a destination knows its person."""

    lead: int
    email: str  # casefolded
    since: datetime


@dataclass(frozen=True, slots=True)
class LookUp:
    """What a CRM said of the addresses it was asked for. An address that is not among `people` is not there."""

    people: tuple[Person, ...]
    calls: int = 1
    quota_used: int | None = None
    quota_max: int | None = None
    rate: Rate | None = None


@dataclass(frozen=True, slots=True)
class Existing:
    """What is known of a lead's person in one destination."""

    state: Literal["due", "answered", "unknown"]  # to be asked; asked; not answered in time: `why`
    email: str  # casefolded, the address that is asked for
    since: datetime
    people: tuple[Person, ...] = ()
    why: str | None = None
    answered_at: datetime | None = None  # or given up
    ours: Mapping[str, int] = field(default_factory=dict)  # our external id on one of the records -> its lead
