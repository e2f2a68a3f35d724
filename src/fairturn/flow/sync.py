"""The lane of callers who wait for an owner: stored and routed together, one transaction at a time for all who wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

import structlog

from fairturn.errors import FairturnError, Overloaded
from fairturn.flow.station import POLL, RouteStation
from fairturn.model import Arrival, Assigned
from fairturn.ports import Journal, Wake

log = structlog.get_logger(__name__)
STEPS = 2  # at once; more would only wait for each other's pools
FEW = 16  # callers who are not worth a step beside another
Became = Assigned | Overloaded | None
Tell = Callable[[Became], None]
Store = Callable[[Arrival, Callable[[Overloaded | None], None]], None]  # Accept.enter


def undecided(found: Assigned | None) -> bool:
    return found is None or found.status == "waiting"


@dataclass(slots=True)
class Waiting:
    """Those who wait for one event. arrival: where it is in no journal yet."""

    arrival: Arrival | None
    tells: list[Tell] = field(default_factory=list)
    step: asyncio.Task[None] | None = None  # that stores and routes it


class SyncLane:
    """While steps run, the callers who come gather for the next one. A step stores the events and routes them in one
    transaction; where that fails, or takes longer than one of them can wait, each event is stored by itself and routed
    as any other. What a step decided it tells its callers itself: a question to the store for each took more than all
    the routing.

    Many callers make two groups: while one waits for PostgreSQL, we work for the other. One group of all would have
    everybody wait for both in turn. Few callers stay together: a step costs as much as routing some ten of them.
    """

    def __init__(self, station: RouteStation, journal: Journal, wake: Wake, store: Store) -> None:
        self._station = station
        self._journal = journal
        self._wake = wake
        self._store = store
        self._waiting: dict[bytes, Waiting] = {}
        self._routing: dict[bytes, Waiting] = {}
        self._steps: set[asyncio.Task[None]] = set()

    def enter(self, arrival: Arrival, tell: Tell) -> None:
        """`tell` is called once the arrival, which holds one event, is durable and the step that took it is over: with
        what became of it, None where it is not routed then, or why it could not be stored. No task and no future for a
        caller. It must not raise.
        """
        self._enter(arrival.items[0].id, arrival, tell)

    def secure(self, arrival: Arrival, told: Callable[[Overloaded | None], None]) -> None:
        """Stores it now. A step that has it, and waits for another's locks, is given up: whoever stores one of its
        events would wait for it. Raises Overloaded.
        """
        event = arrival.items[0].id
        if (waiting := self._routing.get(event)) is not None and waiting.step is not None:
            waiting.step.cancel()
        self._store(arrival, told)

    def _enter(self, event: bytes, arrival: Arrival | None, tell: Tell) -> None:
        if (same := self._routing.get(event)) is not None:
            same.tells.append(tell)
            return
        if not self._waiting:
            # Not at once: many come in within one turn of the loop.
            asyncio.get_running_loop().call_soon(self._begin)
        waiting = self._waiting.get(event)
        if waiting is None:
            waiting = self._waiting[event] = Waiting(arrival)
        waiting.tells.append(tell)

    async def owners(self, events: Sequence[bytes], deadline: float) -> Mapping[bytes, Assigned]:
        """What became of these events, which are durable, within `deadline` seconds; those not routed by then are left
        out.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + deadline
        wanted, told = set(events), dict[bytes, Became]()
        over = loop.create_future()

        def tell(event: bytes, became: Became) -> None:
            told[event] = became
            if len(told) == len(wanted) and not over.done():
                over.set_result(None)

        for event in wanted:
            self._enter(event, None, partial(tell, event))
        if wanted:
            await asyncio.wait((over,), timeout=deadline)
        found: Mapping[bytes, Assigned] = {event: one for event, one in told.items() if isinstance(one, Assigned)}
        if len(told) < len(wanted):  # the deadline: another may have routed them meanwhile
            found = await self._journal.results(events)
        while any(undecided(found.get(event)) for event in events) and (left := until - loop.time()) > 0:
            # Another station took it, or it waits for a field: its commit wakes us.
            await self._wake.wait(min(left, POLL / 10))
            found = await self._journal.results(events)
        return found

    def _begin(self) -> None:
        """Steps for those who wait, as many as may run."""
        while (count := len(self._waiting)) and len(self._steps) < STEPS and (not self._steps or count >= FEW):
            if not self._steps and count >= 2 * FEW:
                count = (count + 1) // 2
            batch = {event: self._waiting.pop(event) for event in [*islice(self._waiting, count)]}
            self._routing |= batch
            step = asyncio.get_running_loop().create_task(self._step(batch), name="sync: route")
            for one in batch.values():
                one.step = step
            self._steps.add(step)
            step.add_done_callback(self._over)

    def _over(self, step: asyncio.Task[None]) -> None:
        self._steps.discard(step)
        self._begin()

    async def _step(self, batch: Mapping[bytes, Waiting]) -> None:
        found: dict[bytes, Assigned] = {}
        unsure: Mapping[bytes, Waiting] = batch
        try:
            await self._route_new([one.arrival for one in batch.values() if one.arrival is not None], found)
            unsure = {}
            for one in batch.values():
                one.step = None
            await self._route_known([event for event in batch if event not in found], found)
        except asyncio.CancelledError:
            log.warning("sync.given_up", callers=len(batch))
        except FairturnError as error:
            log.warning("sync.failed", error=str(error))
        except Exception as error:
            log.exception("sync.broke", error=str(error))
        finally:
            for event in batch:
                del self._routing[event]
            for event, one in batch.items():
                if event in unsure and one.arrival is not None:
                    self._store_alone(event, one.arrival, one.tells)
                else:
                    _tell_all(one.tells, found.get(event))

    async def _route_new(self, arrivals: Sequence[Arrival], found: dict[bytes, Assigned]) -> None:
        if arrivals:
            await self._station.route_new(arrivals, found)

    async def _route_known(self, events: Sequence[bytes], found: dict[bytes, Assigned]) -> None:
        """Those that are stored: before, by themselves, or by another way while the step ran."""
        if events:
            await self._station.route(events, found)
        # Those that came before, or that another station took: one question for all of them.
        if unknown := [event for event in events if event not in found]:
            found |= await self._journal.results(unknown)

    def _store_alone(self, event: bytes, arrival: Arrival, tells: list[Tell]) -> None:
        def stored(error: Overloaded | None) -> None:
            if error is not None:
                _tell_all(tells, error)
                return
            for tell in tells:
                self._enter(event, None, tell)

        try:
            self._store(arrival, stored)
        except Overloaded as error:
            _tell_all(tells, error)


def _tell_all(tells: Iterable[Tell], became: Became) -> None:
    for tell in tells:
        try:
            tell(became)
        except Exception:  # one who cannot be told keeps it from nobody else
            log.exception("sync.told")
