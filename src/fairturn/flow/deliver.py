"""The deliver station: one destination, one lease; batches are taken, sent, judged and settled.

Everything that must survive this process is in the ledger. What is kept here may be forgotten: a fresh process asks the
ledger, and rows whose answer nobody settled are pending again at their deadline.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace

import structlog

from fairturn.decide.outgoing import completed, sort_out
from fairturn.decide.verdicts import Retrying, aside, needs_a_person, request_failed, verdicts
from fairturn.errors import DestinationError, LoginRefused, StoreError, Unstorable, WrongOrg
from fairturn.flow.account import PERSON, POLL, Account
from fairturn.flow.gather import Before, gather
from fairturn.flow.pump import Pump
from fairturn.model import Answer, Batch, Failed, Later, Outcome, Unknown, Verdict
from fairturn.ports import Wake

log = structlog.get_logger(__name__)

GRACE = 2.0  # seconds beyond the request time-out in which the destination has to return
# Seconds beyond the request time-out after which the rows may be taken again: not earlier, even if the process that
# sent them is known to be dead. Its request goes on over there, and could commit after the newer one of a successor.
DEADLINE = 5.0
OUTAGE = 0.5  # seconds before the next try when PostgreSQL is away

UNSTORABLE = "PostgreSQL could not hold what the CRM said of this request"

OwnerFault = Callable[[str, int, str], Awaitable[None]]  # rep, lead, the CRM's words


class Deliver:
    """Delivers to one destination until stopped. Any number of processes may run one; the lease lets one work."""

    def __init__(
        self, account: Account, *, on_owner_fault: OwnerFault | None = None, before: Before | None = None
    ) -> None:
        """before: what is done about leads that are about to be taken."""
        self._account = account
        self._ledger = account.ledger
        self._destination = account.destination
        self._settings = account.settings
        self._name = account.name
        self._on_owner_fault = on_owner_fault
        self._before = before
        self._retrying = Retrying(account.settings.max_attempts, account.settings.retry_for)
        self._left = 0.0  # monotonic, when the last request did
        # While a departure is due within a linger, whatever is new leaves with it.
        deaf = account.settings.linger if account.settings.window != "none" else 0.0
        self._pump = Pump(account, self._guarded_step, deaf=deaf)
        self._log = log.bind(destination=account.name)

    def stop(self) -> None:
        """Take nothing more; `run` returns once the requests in flight are answered and settled."""
        self._pump.stop()

    async def run(self, wake: Wake) -> None:
        """Until `stop`. Never raises for what the store or the CRM do: both are waited out."""
        await self._pump.run(wake)

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
                await self._account.refused(error)
            return OUTAGE

    async def _step(self) -> float:
        """Let one batch leave, if one may. Seconds until the next look."""
        now = asyncio.get_running_loop().time()
        if (wait := self._account.ready(now)) > 0:
            return wait
        await self._account.know_org()
        gathered = await gather(
            self._ledger,
            self._name,
            self._account.holder,
            replace(
                self._account.window(),
                company=self._account.company(self._left, now),
                idle=self._account.idle(now),
            ),
            in_flight=self._pump.in_flight,
            timeout=self._settings.request_timeout + DEADLINE,
            before=self._before,
        )
        if gathered.batch is None:
            return POLL if gathered.rest is None else gathered.rest
        self._account.spend(now)
        self._left = now
        self._pump.leave(self._fly(gathered.batch))
        return 0.0

    # ---- one request ------------------------------------------------------------------------------------------------

    async def _fly(self, batch: Batch) -> None:
        """Send, judge, settle."""
        with self._account.writing():
            await self._judged(batch)

    async def _judged(self, batch: Batch) -> None:
        try:
            answer = await self._answer(batch)
        except Exception as error:  # a fault of our own must not lose the rows' turn to be settled
            log.exception("deliver.failed", destination=self._name, batch=batch.id)
            answer = Answer(_all(batch, Unknown("", f"{type(error).__name__} while writing")))
        now = self._account.time() or batch.deadline
        found = aside(verdicts(batch, answer, self._retrying, now, self._throw()), self._account.failures)
        if (trouble := _trouble(answer)) is not None:
            with contextlib.suppress(StoreError):  # first: the rows are free once they are settled
                await self._account.block(*trouble, person=needs_a_person(answer))
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
            after = PERSON if isinstance(error, LoginRefused | WrongOrg) else error.after
            return Answer(_all(batch, Later("", after, "destination", type(error).__name__, str(error))), calls=0)

    def _throw(self) -> dict[int | None, float]:
        """The jitter: one throw for all of a batch, so that what was locked comes back in one request and not in many.
        It keeps us off others who write there; of our own requests no two meet.
        """
        return {None: self._account.dice()}

    async def _settle(self, batch: Batch, answer: Answer, found: tuple[Verdict, ...]) -> bool:
        """Until PostgreSQL has it. Whether it has: an answer that was received must not be lost to a restart of it."""
        with self._account.settling():
            for attempt in range(1, 10_000):
                try:
                    count = await self._ledger.settle(batch, answer, found, self._account.holder)
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
                    if self._pump.stopping and attempt > 10:
                        return False  # the rows come back at their deadline
                    await asyncio.sleep(min(2.0, 0.1 * 2.0 ** min(attempt, 5)))
                    continue
                if count < len(batch.records):
                    self._log.warning("deliver.late", batch=batch.id, rows=len(batch.records), settled=count)
                return True
        return False

    async def _learn(self, batch: Batch, answer: Answer, found: tuple[Verdict, ...]) -> None:
        """What this answer means for the next request."""
        # What the ledger could not take of it now, the next answer or the next lease tells again.
        with contextlib.suppress(StoreError):
            await self._account.learn(answer, found)
        with contextlib.suppress(StoreError):
            await self._account.stop_if_too_many(found)
        await self._tell_owner_faults(batch, found)

    async def _tell_owner_faults(self, batch: Batch, found: tuple[Verdict, ...]) -> None:
        if self._on_owner_fault is None:
            return
        for record, verdict in zip(batch.records, found, strict=True):
            if isinstance(verdict, Failed) and verdict.owner_fault and record.owner is not None:
                try:
                    await self._on_owner_fault(record.owner, record.lead, verdict.message)
                except Exception:  # the write is in the list of failed ones, where a person sees it
                    log.exception("deliver.owner_fault", lead=record.lead, rep=record.owner)


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
