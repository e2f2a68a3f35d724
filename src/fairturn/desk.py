"""What the operator's verbs and proofs need of the world: reads for lists and pages, acts, and the CRM's own word.

Every method that touches PostgreSQL raises StoreUnavailable, Contended or StoreError of fairturn.errors, nothing else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from fairturn.decide.pool import Entry, PoolFacts
from fairturn.ports import PoolShape, RouteStep
from fairturn.views import (
    AssignmentLine,
    By,
    DestinationStanding,
    FailedWrite,
    HistoryLine,
    LeadLine,
    Pause,
    RepStanding,
    Story,
    WrittenWithout,
)


@dataclass(frozen=True, slots=True)
class LeadFilter:
    status: str | None = None
    pool: str | None = None
    rep: str | None = None
    oldest_first: bool = False
    before: int | None = None  # lead id, for the next page
    limit: int = 50


@dataclass(frozen=True, slots=True)
class FailedFilter:
    """Which failed writes: of these leads (None = of all), with this code, in this destination."""

    leads: tuple[int, ...] | None = None
    code: str | None = None
    destination: str | None = None


class Refusals(Protocol):
    """What the CRMs refused."""

    async def failed(self, wanted: FailedFilter, limit: int) -> Sequence[FailedWrite]:
        """Newest first."""

    async def without(self, wanted: FailedFilter, limit: int) -> Sequence[WrittenWithout]:
        """What was written less some fields, latest first; `wanted.code` is of failed writes, and asks for nothing."""


class Reads(Refusals, Protocol):
    """What lists, pages and explanations are made of. Locks nothing."""

    async def reps(self) -> Sequence[RepStanding]: ...

    async def leads(self, wanted: LeadFilter) -> Sequence[LeadLine]: ...

    async def find(self, text: str, digests: Sequence[bytes], records: Sequence[str]) -> Sequence[int]:
        """Leads that have one of these keys, CRM records, or whose id of any source is `text`; merged ones resolved."""

    async def story(self, lead: int) -> Story | None: ...

    async def destinations(self) -> Sequence[DestinationStanding]: ...

    async def history(self, subject: str | None, limit: int) -> Sequence[HistoryLine]:
        """Newest first; of one thing (`rep ann`), or what several have in common (`rep`)."""

    async def pools(self, shapes: Mapping[str, PoolShape]) -> Mapping[str, PoolFacts]:
        """As they stand, without a lock: for reckoning what would happen."""


@dataclass(frozen=True, slots=True)
class Retried:
    writes: int  # pending again
    under_way: int  # of those named: pending or in flight already


@dataclass(frozen=True, slots=True)
class Dropped:
    """A failed write given up, and the turn that its lead had taken."""

    lead: int
    destination: str
    elsewhere: bool  # some destination has the lead, may have it, or will be tried for it: the turn stands
    turn: AssignmentLine | None  # the row that gave the lead to its rep, unless the lead was given back since


class ActStep(Protocol):
    """One transaction of a person's act: what route may do, and what only people do, with its row of history."""

    @property
    def route(self) -> RouteStep: ...

    async def drop(self, wanted: FailedFilter) -> Sequence[Dropped]:
        """Give up failed writes of these leads. `route.leads` has locked the leads before."""

    async def note(self, verb: str, subject: str, detail: Mapping[str, object]) -> None: ...


class Retries(Protocol):
    """Writes that people have sent again; as the acts below."""

    async def retry(self, wanted: FailedFilter, by: By) -> Retried:
        """Those of the moment of the call, in bounded transactions."""

    async def retry_without(self, wanted: FailedFilter, by: By) -> Retried:
        """The same for fields that a CRM did not take of records that it has: they are sent again."""


class Acts(Retries, Protocol):
    """What people do. Each act is one transaction, leaves a row of history, and wakes the stations it concerns."""

    async def pause_rep(self, rep: str, by: By) -> Pause | None:
        """The pause that stood already; None = paused now. NotFound for a rep who is not in force."""

    async def resume_reps(self, reps: Sequence[str], by: By) -> frozenset[str]:
        """Those who were paused. All at once: held leads that see one of five back would all go to that one."""

    async def pause_destination(self, destination: str, by: By) -> Pause | None: ...

    async def resume_destination(self, destination: str, by: By) -> bool: ...

    async def limit_destination(self, destination: str, daily: int | None, by: By) -> int | None:
        """Requests a day, before what the settings say; None = what they say. The limit that stood before."""

    async def backfill(self, destination: str, since: datetime | None, by: By) -> int:
        """Leads older than the destination become due there. How many; NotFound; NotAllowed for one that left."""

    def step(self, by: By) -> AbstractAsyncContextManager[ActStep]: ...


@dataclass(frozen=True, slots=True)
class Sent:
    """A lead that was answered 2xx, as the destination should have it."""

    lead: int
    key: str | None  # our external id; None = no change was ever made for this destination
    state: str  # of the change, or of the lead where there is none
    confirmed: bool
    record_id: str | None
    owner: str | None  # as last sent
    email: str | None
    rep: str | None = None  # whose the lead is
    due: bool = True  # False: nothing was heard of it since the destination joined the settings
    heard_at: datetime | None = None  # when the first event of the lead came
    there: frozenset[str] = frozenset()  # records of the person that the look-up found before the first turn
    unheard: bool = False  # nobody answered the look-up
    rule: str | None = None  # that decided


class Proofs(Protocol):
    """The rows that a proof is made of. Everything read within `snapshot` is of one moment."""

    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]: ...


class Snapshot(Protocol):
    async def pools(self) -> Mapping[str, PoolFacts]:
        """As stored: balances, total, seq, given, last and open credits."""

    def entries(self, pool: str, before: int | None = None) -> AsyncIterator[Sequence[Entry]]:
        """In order of sequence, by the thousand; up to but not including `before`."""

    def entries_back(self, pool: str, down_to: int) -> AsyncIterator[Sequence[Entry]]:
        """The newest first, by the thousand; down to and including `down_to`."""

    async def outside(self) -> int:
        """Leads whose owner a rule named, outside any pool."""

    def answered(self, destination: str, since: datetime) -> AsyncIterator[Sequence[Sent]]:
        """Leads with an event received since then, each once, in order of id; without those in shadow mode."""


@dataclass(frozen=True, slots=True)
class Found:
    record_id: str
    key: str | None
    owner: str | None
    email: str | None
    owner_name: str | None = None  # where the CRM tells them with the record
    owner_email: str | None = None
    created_at: datetime | None = None
    by_us: bool | None = None  # made by the user that the integration is; None: the CRM does not tell


class Inspect(Protocol):
    """A CRM that can be asked what it has."""

    async def find(self, keys: Sequence[str], emails: Sequence[str], records: Sequence[str] = ()) -> Sequence[Found]:
        """Every record that bears one of our external ids, one of these addresses or ids, deleted ones aside."""

    async def close(self) -> None: ...


Severity = Literal["error", "warning", "ok"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a CRM was asked about before it is relied on."""

    severity: Severity
    destination: str
    subject: str  # login, Lead.Rating, rep ann, queue Competitors ...
    sentence: str
    remedy: str = ""  # what to do, and where to click


class Survey(Protocol):
    """A CRM that can be asked, as the integration's user, whether the settings would work there."""

    async def survey(self, *, probe: bool) -> Sequence[Finding]:
        """Reads only. probe: makes one record of its own, gives it away, updates it, and deletes it.

        Never raises for what the CRM says or for one that does not answer: that is a finding.
        """

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that a CRM has to have before leads are written to it."""

    name: str
    what: str  # for people
    there: bool
    trouble: str = ""  # it is there, and will not do
    map_line: str = ""  # what the settings have to say for it to be used, where they do not


class Furnish(Protocol):
    """A CRM whose fields for our key and our assignments can be made from here."""

    @property
    def scopes(self) -> Mapping[str, str]:
        """What the app has to be allowed, and what for."""

    async def account(self) -> str:
        """Who answers. Raises DestinationError."""

    async def pieces(self) -> Sequence[Piece]:
        """Reads only. Raises DestinationError."""

    async def make(self, piece: Piece) -> None:
        """One that is there already is left as it is. Raises DestinationError."""

    async def close(self) -> None: ...
