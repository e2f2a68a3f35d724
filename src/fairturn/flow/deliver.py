"""The deliver station: one destination, one lease; batches are taken, sent, judged and settled.

Everything that must survive this process is in the ledger. What is kept here may be forgotten: a fresh process asks the
ledger, and rows whose answer nobody settled are pending again at their deadline.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from uuid import UUID, uuid4

import structlog

from fairturn.config import Destination as Settings
from fairturn.decide import breaker
from fairturn.decide.outgoing import completed, sort_out
from fairturn.decide.pacing import Bucket, ceiling, spend, wait_of
from fairturn.decide.verdicts import Retrying, aside, request_failed, verdicts
from fairturn.errors import DestinationError, LoginRefused, StoreError, Unstorable, WrongOrg
from fairturn.flow.gather import Usage, gather, window_of
from fairturn.flow.lease import Standing
from fairturn.model import Answer, Batch, Failed, Later, Outcome, Unknown, Verdict
from fairturn.ports import Destination, Ledger, Wake

log = structlog.get_logger(__name__)

LEASE = 10.0  # seconds
RENEW = 3.0
POLL = 5.0  # seconds without a wake-up; losing one costs no more than this
LOOK = 0.05  # seconds between two looks at the ledger: route notifies once per transaction, and there may be hundreds
GRACE = 2.0  # seconds beyond the request time-out in which the destination has to return
DEADLINE = 5.0  # seconds beyond the request time-out after which the rows may be taken again
PERSON = 300.0  # seconds between tries of what only a person can mend
OUTAGE = 0.5  # seconds before the next try when PostgreSQL is away
BURST, RATE = 50.0, 25.0  # calls at once, and calls a second: no vendor's limit, a bound on our own mistakes

UNSTORABLE = "PostgreSQL could not hold what the CRM said of this request"

OwnerFault = Callable[[str, int, str], Awaitable[None]]  # rep, lead, the CRM's words


class Deliver:
    """Delivers to one destination until stopped. Any number of processes may run one; the lease lets one work."""

    def __init__(
        self,
        ledger: Ledger,
        destination: Destination,
        *,
        name: str,
        settings: Settings,
        on_owner_fault: OwnerFault | None = None,
        holder: UUID | None = None,
        dice: Callable[[], float] = random.random,
        lease: float = LEASE,
    ) -> None:
        self._ledger = ledger
        self._destination = destination
        self._name = name
        self._settings = settings
        self._on_owner_fault = on_owner_fault
        self._holder = holder or uuid4()  # of this incarnation: a successor of the same name is somebody else
        self._dice = dice
        self._seconds = lease
        self._retrying = Retrying(settings.max_attempts, settings.retry_for)
        self._standing: Standing | None = None
        self._quota = Usage()  # as the CRM tells it
        self._bucket = Bucket.full(BURST, RATE, 0.0)
        self._flights: set[asyncio.Task[None]] = set()
        self._unsettled = 0
        self._org_known = settings.mode == "shadow"
        self._nudge = asyncio.Event()
        self._deaf = False
        self._stopping = asyncio.Event()
        self._log = log.bind(destination=name)

    def stop(self) -> None:
        """Take nothing more; `run` returns once the requests in flight are answered and settled."""
        self._stopping.set()
        self._nudge.set()

    async def run(self, wake: Wake) -> None:
        """Until `stop`. Never raises for what the store or the CRM do: both are waited out."""
        hearing = asyncio.create_task(self._hear(wake))
        keeping = asyncio.create_task(self._keep())
        try:
            while not self._stopping.is_set():
                await self._rest(await self._guarded_step())
                for task in (hearing, keeping):
                    if task.done():  # only a fault of our own ends them: let it be seen, and the station start anew
                        task.result()
        finally:
            await _ended(hearing)
            if self._flights:
                await asyncio.wait(self._flights)
            await _ended(keeping)
            with contextlib.suppress(StoreError):
                await self._ledger.release(self._name, self._holder)

    # ---- the loop ---------------------------------------------------------------------------------------------------

    async def _guarded_step(self) -> float:
        try:
            return await self._step()
        except StoreError as error:
            self._log.warning("deliver.store", error=str(error))
            return OUTAGE
        except DestinationError as error:
            self._log.warning("deliver.refused", error=str(error))
            with contextlib.suppress(StoreError):
                await self._block(PERSON if isinstance(error, LoginRefused | WrongOrg) else None, str(error))
            return OUTAGE

    async def _step(self) -> float:
        """Let one batch leave, if one may. Seconds until the next look."""
        now = asyncio.get_running_loop().time()
        standing = self._standing
        if standing is None or not standing.usable(now) or standing.lease.paused is not None:
            return POLL
        if (wait := max(standing.blocked(now), wait_of(self._bucket, now))) > 0:
            return wait
        if not self._org_known:
            await self._know_org()
        gathered = await gather(
            self._ledger,
            self._name,
            self._holder,
            window_of(self._settings, standing.lease.failures, (self._own_usage(standing), self._quota)),
            in_flight=len(self._flights),
            timeout=self._settings.request_timeout + DEADLINE,
        )
        if gathered.batch is None:
            return POLL if gathered.rest is None else gathered.rest
        self._bucket, _ = spend(self._bucket, now)
        flight = asyncio.create_task(self._fly(gathered.batch))
        self._flights.add(flight)
        flight.add_done_callback(self._landed)
        return 0.0

    async def _rest(self, seconds: float) -> None:
        """Until nudged, for `seconds` at most.

        News from route is not worth a look while a departure is due within a linger: whatever is new leaves with it.
        """
        if seconds <= 0:
            return
        self._deaf = self._settings.window != "none" and seconds <= self._settings.linger
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(seconds, POLL)):
                await self._nudge.wait()
                await asyncio.sleep(LOOK)
        self._nudge.clear()
        self._deaf = False

    async def _hear(self, wake: Wake) -> None:
        while True:
            if await wake.wait(POLL) and not self._deaf:
                self._nudge.set()

    async def _keep(self) -> None:
        """Holds the lease, or waits for it; frees what a dead process left behind."""
        while True:
            try:
                await self._renew()
            except StoreError as error:
                self._log.warning("deliver.lease", error=str(error))
            except Exception:  # noqa: BLE001  # a renewal that ended in silence would end the delivering with it
                self._log.exception("deliver.lease_failed")
            await asyncio.sleep(RENEW * min(1.0, self._seconds / LEASE))

    async def _renew(self) -> None:
        before = asyncio.get_running_loop().time()
        lease = await self._ledger.lease(self._name, self._holder, self._seconds)
        old, self._standing = self._standing, Standing(lease, before, self._seconds)
        if lease.held != (old is not None and old.lease.held):
            self._log.info("deliver.lease", held=lease.held)
        # An answer that waits for PostgreSQL must not lose its rows to our own recovery.
        if lease.held and not self._unsettled and (freed := await self._ledger.recover(self._name)):
            self._log.warning("deliver.recovered", rows=freed)
        self._nudge.set()

    async def _know_org(self) -> None:
        """Before the first write: the org that answers is the one this ledger was filled for."""
        org = await self._destination.org()
        pinned = org if org is None else await self._ledger.pin(self._name, org)
        if pinned != org:
            raise WrongOrg(
                f"Destination {self._name} has written to org {pinned}, and now org {org} answers. Nothing was sent. "
                "Correct its url and credentials, or give the other org a destination of its own"
            )
        self._org_known = True

    # ---- one request ------------------------------------------------------------------------------------------------

    async def _fly(self, batch: Batch) -> None:
        """Send, judge, settle."""
        try:
            answer = await self._answer(batch)
        except Exception as error:  # a fault of our own must not lose the rows' turn to be settled
            log.exception("deliver.failed", destination=self._name, batch=batch.id)
            answer = Answer(_all(batch, Unknown("", f"{type(error).__name__} while writing")))
        failures = 0 if self._standing is None else self._standing.lease.failures
        found = aside(verdicts(batch, answer, self._retrying, self._now(batch), self._throw(batch)), failures)
        if await self._settle(batch, answer, found):
            await self._learn(batch, answer, found)

    async def _answer(self, batch: Batch) -> Answer:
        drafts = self._destination.draft(batch.records)
        found = sort_out(batch.records, drafts, shadow=self._settings.mode == "shadow")
        sent = await self._write(replace(batch, records=found.send)) if found.send else Answer((), calls=0)
        return completed(sent, found, drafts)

    async def _write(self, batch: Batch) -> Answer:
        try:
            async with asyncio.timeout(self._settings.request_timeout + GRACE):
                return await self._destination.write(batch)
        except TimeoutError:
            return Answer(_all(batch, Unknown("", f"no answer within {self._settings.request_timeout:g} s")))
        except DestinationError as error:
            after = PERSON if isinstance(error, LoginRefused | WrongOrg) else None
            return Answer(_all(batch, Later("", after, "destination", type(error).__name__, str(error))), calls=0)

    def _throw(self, batch: Batch) -> dict[int | None, float]:
        """The jitter of this batch: records of one account get the same, so that they come back together."""
        return {record.account: self._dice() for record in batch.records} | {None: self._dice()}

    async def _settle(self, batch: Batch, answer: Answer, found: tuple[Verdict, ...]) -> bool:
        """Until PostgreSQL has it. Whether it has: an answer that was received must not be lost to a restart of it."""
        self._unsettled += 1
        try:
            for attempt in range(1, 10_000):
                try:
                    count = await self._ledger.settle(batch, answer, found, self._holder)
                except Unstorable as error:
                    if answer.outcomes == (lost := _all(batch, Unknown("", UNSTORABLE))):
                        return False
                    # Trying again does not help, and rows that nobody settles would hold up the recovery of all others.
                    self._log.error("deliver.unstorable", batch=batch.id, error=str(error))
                    answer = Answer(lost, calls=answer.calls)
                    found = tuple(Failed(record.lead, "UNSTORABLE", UNSTORABLE) for record in batch.records)
                    continue
                except StoreError as error:
                    self._log.warning("deliver.settle", batch=batch.id, attempt=attempt, error=str(error))
                    if self._stopping.is_set() and attempt > 10:
                        return False  # the rows come back at their deadline
                    await asyncio.sleep(min(2.0, 0.1 * 2.0 ** min(attempt, 5)))
                    continue
                if count < len(batch.records):
                    self._log.warning("deliver.late", batch=batch.id, rows=len(batch.records), settled=count)
                return True
        finally:
            self._unsettled -= 1
        return False

    async def _learn(self, batch: Batch, answer: Answer, found: tuple[Verdict, ...]) -> None:
        """What this answer means for the next request."""
        if answer.quota_max is not None:
            self._quota = Usage(answer.quota_used or 0, answer.quota_max)
        if self._standing is not None:
            self._standing = self._standing.after(answer, found)
        with contextlib.suppress(StoreError):  # the next answer, or the next lease, tells it again
            if (trouble := _trouble(answer)) is not None:
                await self._block(*trouble)
            failed = 0 if self._standing is None else self._standing.lease.failed_hour
            if any(isinstance(verdict, Failed) for verdict in found) and (
                reason := ceiling(failed, self._settings.max_failed)
            ):
                self._log.error("deliver.stopped", reason=reason)
                await self._ledger.block(self._name, None, reason)
                await self._renew()
        await self._tell_owner_faults(batch, found)

    async def _block(self, asked: float | None, cause: str) -> None:
        standing = self._standing
        failures = 1 if standing is None else standing.lease.failures + 1
        seconds = breaker.pause(failures, self._dice(), asked)
        self._log.warning("deliver.blocked", seconds=round(seconds, 1), failures=failures, cause=cause)
        if standing is not None:
            self._standing = standing.blocked_for(asyncio.get_running_loop().time(), seconds)
        await self._ledger.block(self._name, seconds, cause)

    async def _tell_owner_faults(self, batch: Batch, found: tuple[Verdict, ...]) -> None:
        if self._on_owner_fault is None:
            return
        for record, verdict in zip(batch.records, found, strict=True):
            if isinstance(verdict, Failed) and verdict.owner_fault and record.owner is not None:
                try:
                    await self._on_owner_fault(record.owner, record.lead, verdict.message)
                except Exception:  # the write is in the list of failed ones, where a person sees it
                    log.exception("deliver.owner_fault", lead=record.lead, rep=record.owner)

    def _now(self, batch: Batch) -> datetime:
        if self._standing is None:
            return batch.deadline
        return self._standing.time(asyncio.get_running_loop().time())

    def _own_usage(self, standing: Standing) -> Usage:
        return Usage(standing.lease.calls_day, self._settings.daily_calls)

    def _landed(self, flight: asyncio.Task[None]) -> None:
        self._flights.discard(flight)
        self._nudge.set()
        if not flight.cancelled() and (error := flight.exception()) is not None:
            self._log.error("deliver.broken", error=repr(error))


def _all(batch: Batch, outcome: Later | Unknown) -> tuple[Outcome, ...]:
    return tuple(replace(outcome, key=record.key) for record in batch.records)


def _trouble(answer: Answer) -> tuple[float | None, str] | None:
    """(seconds asked for, cause), if the destination itself is to be left alone."""
    stops = [one for one in answer.outcomes if isinstance(one, Later) and one.scope == "destination"]
    if stops:
        asked = [one.after for one in stops if one.after is not None]
        return (max(asked, default=None), f"{stops[0].code}: {stops[0].message}")
    if request_failed(answer):
        lost = next(one for one in answer.outcomes if isinstance(one, Unknown))
        return None, lost.message
    return None


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
