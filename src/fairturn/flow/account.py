"""What a process knows of one CRM account: whether it may be asked now, how fast, and how much at once.

The stations that speak to one destination share one account: one lease, one block, one bucket, one budget. What is kept
here may be forgotten; what must survive the process is in the ledger.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from uuid import UUID, uuid4

import structlog

from fairturn.config import Destination as Settings
from fairturn.decide import breaker
from fairturn.decide.batching import Window, company
from fairturn.decide.pacing import Bucket, ceiling, resized, spend, wait_of
from fairturn.decide.sizing import Size, learnt
from fairturn.errors import DestinationError, LoginRefused, StoreError, WrongOrg
from fairturn.flow.gather import Usage, window_of
from fairturn.flow.lease import Standing
from fairturn.model import Answer, Failed, LookUp, Verdict
from fairturn.ports import Destination, Ledger

log = structlog.get_logger(__name__)

LEASE = 10.0  # seconds
RENEW = 3.0
POLL = 5.0  # seconds between looks at what nobody told us of
PERSON = 300.0  # seconds between tries of what only a person can mend
SOON = 0.5  # seconds by which the look-up and the write of one tick may lie apart
BURST, RATE = 50.0, 25.0  # calls at once, and calls a second, until the CRM tells its own: a bound on our own mistakes


class Account:
    """Shared by Deliver and Ask of one destination. `holder`: of this incarnation, so that a successor of the same name
    is somebody else. dice: [0, 1).
    """

    def __init__(
        self,
        ledger: Ledger,
        destination: Destination,
        *,
        name: str,
        settings: Settings,
        holder: UUID | None = None,
        dice: Callable[[], float] = random.random,
        lease: float = LEASE,
    ) -> None:
        self.ledger = ledger
        self.destination = destination
        self.name = name
        self.settings = settings
        self.holder = holder or uuid4()
        self.dice = dice
        self.standing: Standing | None = None  # None until the lease was asked for the first time
        self.sizes: dict[str, Size] = {}
        self._seconds = lease
        self._quota = Usage()  # as the CRM tells it
        self._bucket = Bucket.full(BURST, RATE, 0.0)
        self._org_known = settings.mode == "shadow"
        self._org_lock = asyncio.Lock()
        self._asked: dict[int, float] = {}  # look-ups that are out -> when they left; monotonic
        self._look_ups = 0
        self._heard_at, self._heard = 0.0, 0  # of the last look-up's answer, and how many people it was about
        self._intended: float | None = None  # when a look-up leaves that a write of the same tick waits for
        self._writes: list[float] = []  # requests that are out: when they left, monotonic
        self._landed_at, self._write_took = -math.inf, 0.0  # of the last request
        self._unsettled = 0
        self._nudges: list[asyncio.Event] = []
        self._keeping: asyncio.Task[None] | None = None
        self._log = log.bind(destination=name)

    # ---- the lease --------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def kept(self, nudge: asyncio.Event) -> AsyncIterator[None]:
        """Holds the lease, or waits for it, while any station is inside; released by the last one to leave.

        nudge: set whenever what is known of the lease, a pause or a block was renewed.
        """
        self._nudges.append(nudge)
        if self._keeping is None:
            self._keeping = asyncio.create_task(self._keep())
        try:
            yield
        finally:
            self._nudges.remove(nudge)
            if not self._nudges and self._keeping is not None:
                keeping, self._keeping = self._keeping, None
                await ended(keeping)
                self.standing = None
                with contextlib.suppress(StoreError):
                    await self.ledger.release(self.name, self.holder)

    async def _keep(self) -> None:
        while True:
            try:
                await self.renew()
            except StoreError as error:
                self._log.warning("account.lease", error=str(error))
            except Exception:  # noqa: BLE001  # a renewal that ended in silence would end the delivering with it
                self._log.exception("account.lease_failed")
            await asyncio.sleep(RENEW * min(1.0, self._seconds / LEASE))

    async def renew(self) -> None:
        """Ask for the lease, and for what a person or another process has said meanwhile; free what a dead one left."""
        before = asyncio.get_running_loop().time()
        lease = await self.ledger.lease(self.name, self.holder, self._seconds)
        old, self.standing = self.standing, Standing(lease, before, self._seconds)
        gained = lease.held and not (old is not None and old.lease.held)
        if gained or not lease.held:
            self.sizes = dict(lease.sizes)  # another holder may have learnt since
        if lease.held != (old is not None and old.lease.held):
            self._log.info("account.lease", held=lease.held)
        # An answer that waits for PostgreSQL must not lose its rows to our own recovery.
        if lease.held and not self._unsettled and (freed := await self.ledger.recover(self.name)):
            self._log.warning("account.recovered", rows=freed)
        for nudge in self._nudges:
            nudge.set()

    @contextlib.contextmanager
    def settling(self) -> Iterator[None]:
        """While an answer is on its way into the ledger, this process frees no rows."""
        self._unsettled += 1
        try:
            yield
        finally:
            self._unsettled -= 1

    def time(self) -> datetime | None:
        """PostgreSQL's time; None before it was heard of."""
        return None if self.standing is None else self.standing.time(asyncio.get_running_loop().time())

    # ---- may we? ----------------------------------------------------------------------------------------------------

    def ready(self, now: float, *, paused_too: bool = False) -> float:
        """Seconds until a request may leave; 0 = now. POLL without the lease; a renewal nudges.

        paused_too: reading is no harm while a person has paused the writing.
        """
        standing = self.standing
        if standing is None or not standing.usable(now) or (standing.lease.paused is not None and not paused_too):
            return POLL
        return max(standing.blocked(now), wait_of(self._bucket, now))

    def spend(self, now: float, calls: int = 1) -> None:
        """Calls that leave now."""
        self._bucket, _ = spend(self._bucket, now, calls)

    # ---- look-ups, and the requests that follow them ----------------------------------------------------------------

    def intend(self, at: float | None) -> None:
        """A look-up will leave then. A write that may leave at the same moment must not leave before it."""
        self._intended = at

    @contextlib.contextmanager
    def asking(self, people: int) -> Iterator[None]:
        """While a look-up is out: those whom it is about will be written next."""
        clock = asyncio.get_running_loop().time
        self._look_ups += 1
        number = self._look_ups
        self._asked[number] = clock()
        try:
            yield
        finally:
            del self._asked[number]
            self._heard_at, self._heard = clock(), people
            for nudge in self._nudges:
                nudge.set()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """While a request is out, until its answer is settled."""
        clock = asyncio.get_running_loop().time
        began = clock()
        self._writes.append(began)
        try:
            yield
        finally:
            self._writes.remove(began)
            self._landed_at, self._write_took = clock(), clock() - began

    def lands(self) -> float | None:
        """When the requests that are out will, by what the last one took; None: none is out."""
        return self._writes[-1] + self._write_took if self._writes else None

    def idle(self, now: float) -> float:
        """Seconds since a request landed; infinite: none did."""
        return now - self._landed_at

    def company(self, left_at: float, now: float) -> float:
        """Seconds that a request waits for those who are asked about. left_at: when the last one left."""
        asked = min(self._asked.values(), default=None)
        if asked is None and self._intended is not None and self._intended <= now + SOON:
            asked = self._intended
        return company(asked, self._heard_at, left_at, self.settings.linger, now, self._heard)

    async def know_org(self) -> None:
        """Before the first request: the org that answers is the one this ledger was filled for. Raises WrongOrg."""
        async with self._org_lock:
            if self._org_known:
                return
            org = await self.destination.org()
            pinned = org if org is None else await self.ledger.pin(self.name, org)
            if pinned != org:
                raise WrongOrg(
                    f"Destination {self.name} has written to org {pinned}, and now org {org} answers. Nothing was "
                    "sent. Correct its url and credentials, or give the other org a destination of its own"
                )
            self._org_known = True

    @property
    def failures(self) -> int:
        """Requests failed in a row."""
        return 0 if self.standing is None else self.standing.lease.failures

    def window(self) -> Window:
        """The configured window, as outage, budgets and what was learnt of the org allow it now."""
        lease = None if self.standing is None else self.standing.lease
        daily = self.settings.daily_calls if lease is None or lease.daily_calls is None else lease.daily_calls
        own = Usage(0 if lease is None else lease.calls_day, daily)
        sizes = None if self.settings.type == "console" else self.sizes  # a console swallows everything
        return window_of(self.settings, self.failures, (own, self._quota), sizes)

    # ---- what an answer teaches -------------------------------------------------------------------------------------

    async def learn(self, answer: Answer | LookUp, found: tuple[Verdict, ...] = ()) -> None:
        """Limits, sizes and counts. The call that was spent when it left is not counted again. Raises StoreError."""
        now = asyncio.get_running_loop().time()
        if answer.quota_max is not None:
            self._quota = Usage(answer.quota_used or 0, answer.quota_max)
        if answer.calls > 1:
            self.spend(now, answer.calls - 1)
        if answer.rate is not None:
            self._bucket = resized(self._bucket, answer.rate, now)
        if self.standing is not None:
            self.standing = self.standing.after(answer, found)
        if isinstance(answer, Answer) and answer.loads:
            told = self.time()
            seconds = told.timestamp() if told is not None else 0.0
            sizes = learnt(self.sizes, answer.loads, self.settings.max_records, seconds)
            if sizes != self.sizes:
                self.sizes = sizes
                await self.ledger.learn(self.name, sizes)

    async def block(self, asked: float | None, cause: str, *, person: bool = False) -> None:
        """A request failed as a whole: nobody sends for `asked` seconds, or for our own pause. Raises StoreError.

        person: only somebody's correction can end it; who starts anew with it tries at once.
        """
        failures = self.failures + 1
        seconds = breaker.pause(failures, self.dice(), asked)
        self._log.warning("account.blocked", seconds=round(seconds, 1), failures=failures, cause=cause)
        if self.standing is not None:
            self.standing = self.standing.blocked_for(asyncio.get_running_loop().time(), seconds)
        await self.ledger.block(self.name, seconds, cause, person=person)

    async def refused(self, error: DestinationError) -> None:
        """The same for a request that was not even sent: the login, the org, the way there. Raises StoreError."""
        person = isinstance(error, LoginRefused | WrongOrg)
        await self.block(PERSON if person else error.after, str(error), person=person)

    async def stop_if_too_many(self, found: tuple[Verdict, ...]) -> None:
        """The ceiling of failed writes: a person has to look. Raises StoreError."""
        failed = 0 if self.standing is None else self.standing.lease.failed_hour
        if any(isinstance(verdict, Failed) for verdict in found) and (
            reason := ceiling(failed, self.settings.max_failed)
        ):
            self._log.error("account.stopped", reason=reason)
            await self.ledger.block(self.name, None, reason)
            await self.renew()


async def ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
