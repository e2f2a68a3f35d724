"""The pump of the route station: steps until there is nothing to do, then waits to be woken."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

import structlog

from fairturn.decide.drafts import SET_ASIDE
from fairturn.errors import (
    ConfigError,
    Contended,
    FairturnError,
    StaleConfig,
    StaleLead,
    StoreError,
    StoreUnavailable,
    Unstorable,
)
from fairturn.flow.plan import Plan, Plans
from fairturn.flow.route import Served, Sorted, route_again, route_due, route_events, route_held
from fairturn.model import Arrival, Assigned
from fairturn.ports import OWNER_REFUSED, Router, RouteStep, Taken, Wake

log = structlog.get_logger(__name__)
TRIES = 8  # of a transaction that met another station: deadlock, merged lead, new config
PAGES = 2  # of held leads behind the head of each pool's list, that one poll looks at
POLL = 1.0  # seconds without a wake-up; losing one costs no more than this
OUTAGE = 0.5  # seconds before the next try when PostgreSQL is away

Act = Callable[[RouteStep, Plan, Taken], Awaitable[int]]


class RouteStation:
    """Routes what the journal holds. Any number of them work on one database at once."""

    def __init__(self, router: Router, plans: Plans, *, batch: int = 500) -> None:
        self._router = router
        self._plans = plans
        self._batch = batch
        self._stopping = asyncio.Event()
        self._behind: Mapping[str, int] = {}  # pool -> the held lead that was looked at last
        self._settled = 0  # version of the settings whose orphans were looked for

    async def run(self, wake: Wake) -> None:
        """Until `stop`. Never raises for what the store does: an outage is waited out."""
        loop = asyncio.get_running_loop()
        look = loop.time()
        while not self._stopping.is_set():
            try:
                busy = await self.route() + await self.serve_due()
                if (now := loop.time()) >= look:
                    # A held lead that its filter keeps back is looked at once a poll, not once a batch.
                    busy += await self.serve_held() + await self._serve_new_settings()
                    look = now + POLL
            except StoreUnavailable as error:
                log.warning("route.store_unavailable", error=str(error))
                await self._pause(OUTAGE)
                continue
            except FairturnError as error:
                log.exception("route.failed", error=str(error))
                await self._pause(POLL)
                continue
            if not busy and await wake.wait(POLL):
                look = 0.0

    def stop(self) -> None:
        self._stopping.set()

    async def route(self, only: Sequence[bytes] | None = None, answers: dict[bytes, Assigned] | None = None) -> int:
        """One batch. Returns the number of events that it took; a batch that fails is redone event by event.

        answers: gets what became of them, once it is committed; those that only the store can tell are left out.
        """
        seen: list[bytes] = []
        sorted_: Sorted | None = None

        async def act(step: RouteStep, plan: Plan, taken: Taken) -> int:
            nonlocal sorted_
            seen[:] = [event.id for event in taken.events]
            sorted_ = await route_events(step, plan, taken) if seen else None
            return len(seen)

        try:
            await self._transact(act, only=only)
        except Unstorable as error:
            await self._one_by_one(seen, error, answers)
        except (StoreError, StaleLead, ConfigError):
            raise  # the store's trouble, or that of settings which we cannot read; not the events': they wait
        except Exception as error:  # noqa: BLE001  # whatever one event did to us, its neighbours must not pay
            await self._one_by_one(seen, error, answers)
        else:
            if answers is not None and sorted_ is not None:
                answers |= sorted_.answers()
        return len(seen)

    async def route_new(self, arrivals: Sequence[Arrival], answers: dict[bytes, Assigned]) -> None:
        """Stores and routes requests of one event each in one transaction: both, or neither where it raises.

        answers: gets what became of those that no journal had before, as in `route`.
        """
        sorted_: Sorted | None = None

        async def act(step: RouteStep, plan: Plan, taken: Taken) -> int:
            nonlocal sorted_
            sorted_ = await route_events(step, plan, taken) if taken.events else None
            return len(taken.events)

        await self._transact(act, new=arrivals)
        if sorted_ is not None:
            answers |= sorted_.answers()

    async def _one_by_one(
        self, events: Sequence[bytes], error: Exception, answers: dict[bytes, Assigned] | None
    ) -> None:
        """A batch that failed is redone event by event; one that fails alone is set aside, where a person sees it."""
        if not events:
            raise error
        if len(events) > 1:
            for event in events:
                await self.route([event], answers)
            return
        log.error("route.quarantined", which=events[0].hex(), error=str(error), kind=type(error).__name__)
        await self._router.quarantine(events[0], f"{SET_ASIDE}{error}"[:1000])

    async def serve_due(self) -> int:
        """Leads whose wait is over. As with events, a batch that fails is redone lead by lead."""
        seen: tuple[int, ...] = ()

        async def act(step: RouteStep, plan: Plan, taken: Taken) -> int:
            nonlocal seen
            seen = taken.due
            return await route_due(step, plan, taken) if taken.due else 0

        try:
            return await self._transact(act, due=True)
        except Unstorable as error:
            fault: Exception = error
        except (StoreError, StaleLead, ConfigError):
            raise
        except Exception as error:  # noqa: BLE001  # whatever one lead did to us, the others must not wait for it
            fault = error
        if not seen:
            raise fault
        for lead in seen:
            await self._alone(lead)
        return len(seen)

    async def _alone(self, lead: int) -> None:
        """One that fails alone is set aside, where a person sees it."""

        async def act(step: RouteStep, plan: Plan, taken: Taken) -> int:
            return await route_due(step, plan, replace(taken, due=(lead,)))

        try:
            await self._transact(act, take=False)
        except (StoreUnavailable, Contended, ConfigError):
            raise
        except StaleLead:
            return  # merged meanwhile: it is another's
        except Exception as error:
            log.exception("route.lead_set_aside", lead=lead, error=str(error))
            await self._router.set_aside(lead, f"{type(error).__name__}: {error}"[:900])

    async def serve_held(self, pools: Sequence[str] | None = None) -> int:
        """Held leads of pools in which somebody may take one now. Returns how many got an owner."""
        chains = self._plans.current.chains
        names = await self._router.pools_to_serve(chains) if pools is None else pools
        if not names:
            return 0
        head = await self._serve(names)
        given = head.given
        # Leads that wait for a rep who is away fill the head of the list: those behind it have to be reached all the
        # same. Where the head moved, order asks for what follows it; where it did not, we go on where we were.
        self._behind = {
            pool: last if pool in head.moved else max(last, self._behind.get(pool, 0))
            for pool, last in head.more.items()
        }
        for _ in range(PAGES):
            if not self._behind:
                break
            page = await self._serve(list(self._behind), self._behind)
            given += page.given
            self._behind = dict(page.more)
        return given

    async def _serve(self, names: Sequence[str], behind: Mapping[str, int] | None = None) -> Served:
        served = Served(0, {}, frozenset())

        async def act(step: RouteStep, plan: Plan, _: Taken) -> int:
            nonlocal served
            served = await route_held(step, plan, names, behind)
            return served.given

        await self._transact(act, take=False)
        return served

    async def serve_orphans(self) -> int:
        """Held leads whose pool or rule has left the settings: the rules decide anew. Returns how many there were."""
        plan = self._plans.current
        orphans = await self._router.orphans(tuple(plan.shapes), tuple(plan.by_id), self._batch)

        async def act(step: RouteStep, plan: Plan, taken: Taken) -> int:
            return await route_due(step, plan, replace(taken, due=tuple(orphans)))

        if orphans:
            await self._transact(act, take=False)
        return len(orphans)

    async def _serve_new_settings(self) -> int:
        """A walk over all that is held, so once per version of the settings, not once per poll."""
        version = self._plans.current.version
        if self._settled == version:
            return 0
        if seen := await self.serve_orphans():
            return seen
        self._settled = version
        return 0

    async def owner_refused(self, rep: str, lead: int, message: str) -> bool:
        """A destination says that this rep cannot own records: out of every pool, and the lead to the next, once.

        False when the lead stays with its rep: named by a rule or to a caller who waited, or routed again for this
        before. Its write is in the list of failed ones then.
        """
        known = (
            rep in self._plans.current.settings.reps
        )  # one who has left takes no turns: a pause would outlast a return
        if known and await self._router.pause(rep, f"the CRM refuses this owner: {message}"):
            log.error("rep.paused", rep=rep, lead=lead, crm=message)
        if await self._router.keeps_owner(lead):
            return False

        async def act(step: RouteStep, plan: Plan, _: Taken) -> int:
            return int(await route_again(step, plan, lead, rep, f"{OWNER_REFUSED}: {message}"[:500]))

        return bool(await self._transact(act, take=False))

    async def _transact(
        self,
        act: Act,
        *,
        only: Sequence[bytes] | None = None,
        new: Sequence[Arrival] = (),
        due: bool = False,
        take: bool = True,
    ) -> int:
        for left in reversed(range(TRIES)):
            try:
                async with self._router.step() as step:
                    limit = self._batch if take else 0
                    taken = await (step.admit(new) if new else step.take(limit, only=only, due=due))
                    return await act(step, self._plans.current, taken)
            except StaleConfig as error:
                if not left:  # nothing was done, and nobody may be told that it was
                    msg = "the settings changed again and again"
                    raise Contended(msg) from error
                await self._plans.refresh()
            except (Contended, StaleLead):
                if not left:
                    raise
        return 0

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return
