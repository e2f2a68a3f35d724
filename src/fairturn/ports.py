"""What the flow needs of the world. Stores and destinations implement these; `assemble` picks them.

Every method that touches PostgreSQL raises StoreUnavailable, Contended or StoreError of fairturn.errors, nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from fairturn.decide.batching import Pending
from fairturn.decide.pool import Fold, PoolFacts
from fairturn.decide.sizing import Size
from fairturn.model import (
    Answer,
    Arrival,
    Assigned,
    Batch,
    Event,
    Existing,
    Key,
    Lead,
    LookUp,
    Outgoing,
    Person,
    Question,
    Refused,
    Verdict,
)
from fairturn.quick import quick

OWNER_REFUSED = "the CRM refused the owner"  # how the reason of a turn given back for that begins


@dataclass(frozen=True, slots=True)
class Backlog:
    unrouted: int  # events accepted and not routed yet (bounded count: stops at the limit asked for)
    oldest_at: datetime | None


class Journal(Protocol):
    """Where accepted events become durable."""

    async def append(self, arrivals: Sequence[Arrival]) -> None:
        """All of them in one commit; an event or delivery that is there already is left as it is."""

    async def backlog(self, limit: int) -> Backlog: ...

    async def results(self, events: Sequence[bytes], source: str | None = None) -> Mapping[bytes, Assigned]:
        """What became of events that are routed or set aside; of this source alone, where one is named."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Requests that became durable together, before the journal."""

    id: str
    arrivals: tuple[Arrival, ...] | None  # None: what is there is none of ours


class Inbox(Protocol):
    """Requests that were answered and are not in the journal yet."""

    async def take(self, wait: float) -> Sequence[Entry]:
        """The oldest, in order of arrival; none after `wait` seconds. They stay, and are taken again, until settled."""

    async def settle(self, entries: Sequence[Entry]) -> None:
        """They are in the journal, or set aside: they go."""

    async def set_aside(self, entry: Entry, arrival: Arrival | None, problem: str) -> None:
        """One that the journal cannot hold, kept for a person; None = the entry itself is no entry."""


class Sole(Protocol):
    """Of all processes that want it, one has it; another takes over when that one ends, or hangs."""

    async def held(self) -> bool:
        """Whether it is ours now; asked before each step."""


class Wake(Protocol):
    """A hint that there is work. Losing one costs a poll interval, never an event."""

    async def wait(self, timeout: float) -> bool:
        """True when woken, False after `timeout` seconds."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What one route transaction works on."""

    now: datetime  # PostgreSQL's
    events: tuple[Event, ...]
    due: tuple[int, ...]  # leads whose wait is over, locked
    paused: Mapping[str, str]  # rep -> why


@dataclass(frozen=True, slots=True)
class Bound:
    """What the batch's keys lead to, locked."""

    leads: Mapping[bytes, int]  # key digest -> lead id; absent: no lead yet
    fresh: Mapping[bytes, int] = field(default_factory=dict)  # keys seen for the first time -> a new lead's id, theirs
    orphans: frozenset[bytes] = frozenset()  # keys that signals have named, without a lead so far
    signals: tuple[Event, ...] = ()  # events that waited for one of these keys, locked; where they are asked for


@dataclass(frozen=True, slots=True)
class PoolShape:
    """What the settings say of a pool, for its turn."""

    weights: Mapping[str, int]
    filtered: Literal["whole", "separate"]
    sticky: float  # seconds; 0 = off
    counts: bool
    max_debt: int
    behind: int = 0  # of the pool's held leads the turn looks at those after this one


@dataclass(frozen=True, slots=True)
class Turn:
    """What is read inside the turn, after the pools are locked."""

    config: int  # the version in force
    pools: Mapping[str, PoolFacts]
    held: Mapping[str, tuple[Lead, ...]]  # pool -> held leads, oldest first, locked
    paused: Mapping[str, str]  # rep -> why
    free: frozenset[int] = frozenset()  # of the leads that go back: those that took no turn (kept and not counted)


@quick(frozen=True, slots=True)
class LeadWrite:
    """A lead as route leaves it."""

    lead: Lead
    new: bool
    changes: bool  # destinations must be told
    owned: bool = False  # ... of an owner too: assigned, parked or newly held
    owner_rule: bool = False  # assigned by an `owner` rule, outside any pool
    park: Mapping[str, str] | None = None  # destination -> queue
    kept: bool = False  # its owner in the CRM keeps it: no destination is told of one
    ask: tuple[str, ...] = ()  # destinations to be asked whether they know the person; the lead waits for them
    email: str | None = None  # that they are asked for, casefolded
    settled: Mapping[str, str] = field(default_factory=dict)  # destination asked -> what came of it, in words
    adopt: Mapping[str, Person] = field(default_factory=dict)  # destination -> the record there that is written
    oldest_event_at: datetime | None = None  # of the events merged now
    waited: bool = False  # until now, so that none of its events was written


@dataclass(frozen=True, slots=True)
class Routed:
    """Everything one route transaction writes."""

    leads: tuple[LeadWrite, ...]
    config: int
    destinations: tuple[str, ...]  # that get a change for each lead written
    keys: Mapping[bytes, int] = field(default_factory=dict)  # digest -> lead id, where that is new
    events: Mapping[bytes, int] = field(default_factory=dict)  # routed event -> lead
    marks: Mapping[bytes, Sequence[str]] = field(default_factory=dict)  # routed event -> what was odd in it, for people
    waiting: Mapping[bytes, tuple[Sequence[bytes], datetime]] = field(default_factory=dict)  # signal -> keys, expiry
    quarantined: Mapping[bytes, str] = field(default_factory=dict)  # event -> problem
    folds: Mapping[str, Fold] = field(default_factory=dict)  # pool -> what the turn did
    merges: Mapping[int, int] = field(default_factory=dict)  # younger lead -> older
    rules: Mapping[int, str] = field(default_factory=dict)  # lead -> rule, for the assignment's row
    notes: Sequence[tuple[str, str, str]] = ()  # verb, object, reason: what a person must know


class RouteStep(Protocol):
    """One route transaction; rolled back when the block raises. Locks in this order: keys, leads, pools, changes."""

    async def take(self, limit: int, *, only: Sequence[bytes] | None = None, due: bool = False) -> Taken:
        """Pending events, or just `only` of them; with `due` the leads whose wait is over instead."""

    async def admit(self, arrivals: Sequence[Arrival]) -> Taken:
        """In place of `take`: events that no journal has yet, one of each arrival; any that is there is left out."""

    async def store(self, leads: Mapping[bytes, int]) -> None:
        """Events that were admitted, with the leads of those that have one. Raises Contended where another stored one
        meanwhile.
        """

    async def bind(self, keys: Sequence[Key], *, newcomers: Mapping[bytes, int] = ..., signals: bool = False) -> Bound:
        """newcomers: key digest -> number of the person who starts a lead. One of whom no key was known has its lead's
        id from here on, in the order of the numbers; the caller makes the lead.
        """

    async def new_leads(self, count: int) -> Sequence[int]: ...

    async def leads(self, ids: Sequence[int]) -> Mapping[int, Lead]:
        """Locked, in order of id. Raises StaleLead when one was merged meanwhile."""

    async def accounts(self, groups: Sequence[Sequence[str]]) -> Sequence[int]:
        """One account id per group of keys that belong together; joins accounts that prove to be one."""

    async def existing(self, leads: Sequence[int]) -> Mapping[int, Mapping[str, Existing]]:
        """Lead -> destination -> what is known of the person there; leads that nobody was asked about are left out."""

    async def in_crm(self, leads: Sequence[int]) -> frozenset[int]:
        """Those that a destination has, or may have."""

    async def turn(
        self, pools: Mapping[str, PoolShape], accounts: Sequence[int], held: int, returns: Sequence[int] = ()
    ) -> Turn:
        """Locks the pools, then reads. returns: leads that their reps are about to give back."""

    async def write(self, routed: Routed) -> None: ...


class Router(Protocol):
    def step(self) -> AbstractAsyncContextManager[RouteStep]: ...

    async def quarantine(self, event: bytes, problem: str) -> None: ...

    async def set_aside(self, lead: int, problem: str) -> None:
        """A lead that a fault of ours keeps from going on, and the event that made it so: a person sees them."""

    async def pause(self, rep: str, reason: str) -> bool:
        """Take a rep out of every pool, with a row for a person. False when the rep was paused already."""

    async def keeps_owner(self, lead: int) -> bool:
        """Whether no destination may move the lead: one did before, or its owner was named to a caller who waited."""

    async def orphans(self, pools: Sequence[str], rules: Sequence[str], limit: int) -> Sequence[int]: ...

    async def pools_to_serve(self, chains: Mapping[str, Sequence[str]]) -> Sequence[str]:
        """Pools with held leads, and somebody not paused in the pool or one it falls back to (`chains`)."""


@dataclass(frozen=True, slots=True)
class Lease:
    held: bool
    now: datetime
    paused: str | None  # why a person stopped it
    blocked_until: datetime | None
    org: str | None  # pinned at the first answer
    failures: int = 0  # requests failed in a row
    failed_hour: int = 0  # writes failed in the last hour, since the ceiling last stopped the destination
    calls_day: int = 0  # data requests of the last 24 hours, look-ups among them
    sizes: Mapping[str, Size] = field(default_factory=dict)  # object -> records per request, as learnt
    daily_calls: int | None = None  # a person's limit of requests a day; None = that of the settings


class Ledger(Protocol):
    """The pending changes of one destination; only the holder of its lease takes and settles."""

    async def lease(self, destination: str, holder: UUID, seconds: float) -> Lease: ...

    async def release(self, destination: str, holder: UUID) -> None: ...

    async def pending(self, destination: str, limit: int) -> Pending: ...

    async def take(self, destination: str, holder: UUID, leads: Sequence[int], timeout: float) -> Batch | None: ...

    async def settle(self, batch: Batch, answer: Answer, verdicts: Sequence[Verdict], holder: UUID) -> int:
        """Number of rows that took their verdict; rows that were taken from us meanwhile are left alone."""

    async def block(self, destination: str, seconds: float | None, cause: str, *, person: bool = False) -> None:
        """A request failed: nobody sends for `seconds`. None: paused until a person resumes, with a row of history.

        person: only somebody's correction can end it, so that whoever gets the lease next tries at once.
        """

    async def learn(self, destination: str, sizes: Mapping[str, Size]) -> None:
        """Keep what was learnt of the org, for whoever holds the lease next."""

    async def recover(self, destination: str) -> int:
        """Rows of requests whose deadline has passed are pending again."""

    async def pin(self, destination: str, org: str) -> str:
        """The org that this destination is pinned to; the first answer pins it."""


class Questions(Protocol):
    """Leads that wait to hear whether their person is in a CRM already. Asked by the holder of the lease."""

    async def due(self, destination: str, limit: int) -> Sequence[Question]:
        """Oldest first."""

    async def answer(self, destination: str, asked: Sequence[Question], said: LookUp) -> None:
        """What the CRM has of them, and one request of the day used; leads that waited for nothing else go on."""

    async def give_up(self, destination: str, asked: Sequence[Question], why: str) -> None:
        """They go on without an answer, marked."""

    async def unanswered(self, destination: str, leads: Sequence[int]) -> Sequence[Question]:
        """Of these, the ones that went on without an answer and of whom the CRM has nothing of ours yet."""


class Destination(Protocol):
    """A CRM."""

    async def write(self, batch: Batch) -> Answer:
        """Never raises for what the CRM says of a record; DestinationError when no record can have been judged."""

    def draft(self, records: Sequence[Outgoing]) -> Mapping[str, Mapping[str, object] | Refused]:
        """Key -> the record as `write` would send it, or why it cannot be made. Sends nothing."""

    async def look_up(self, emails: Sequence[str], seconds: float) -> LookUp:
        """Whom it has with these addresses (casefolded, at most 100), within `seconds`. Raises DestinationError."""

    async def org(self) -> str | None:
        """Who answers; users, queues and record types that the settings name are found before the first write."""

    async def close(self) -> None: ...


class Broom(Protocol):
    """What time removes. Each call does a bounded piece and says how much it did."""

    async def expire_signals(self, limit: int) -> int:
        """Signals whose lead never came are marked, visibly."""

    async def purge_raw(self, older_than: float, limit: int) -> int:
        """Bodies of routed events older than this many seconds go; their rows stay, so that redeliveries are known."""

    async def purge_events(self, older_than: float, limit: int) -> int:
        """Rows of events older than this many seconds go."""
