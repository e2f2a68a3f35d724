"""The lane of callers who wait for an owner: stored and routed together, many in one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Self, TypeVar

import structlog

from fairturn.errors import FairturnError, Overloaded
from fairturn.flow.accept import TOO_MUCH, Bounds, Told, weight
from fairturn.flow.station import POLL, RouteStation
from fairturn.model import Arrival, Assigned
from fairturn.ports import Journal, Wake

log = structlog.get_logger(__name__)
STEPS = 2  # at once; more would only wait for each other's pools
FEW = 16  # callers who are not worth a step beside another
LONG = 0.1  # seconds after which few get a step all the same: the one that runs may wait for another's pool
MOST = 500  # callers in one step: what holds a pool for a tenth of a second
GRACE = 0.1  # seconds beyond a caller's deadline for a step that has begun: nearly all are over by then
LEAVING = 5.0  # seconds for steps that are given up when we stop
Became = Assigned | Overloaded | None
T = TypeVar("T")
Tell = Callable[[Became], None]
Store = Callable[[Arrival, Told], None]  # Accept.enter


def undecided(found: Assigned | None) -> bool:
    return found is None or found.status == "waiting"


@dataclass(slots=True)
class Waiting:
    """Those who wait for one event. arrival: while it is in no journal."""

    arrival: Arrival | None
    tells: list[Tell] = field(default_factory=list)
    secured: list[Told] = field(default_factory=list)  # who wait for no more than that it is stored
    step: asyncio.Task[None] | None = None
    size: int = 0  # bytes that its callers hold in memory, roughly


class SyncLane:
    """While steps run, the callers who come gather for the next one. A step stores the events and routes them in one
    transaction; where that fails, or takes longer than one of them can wait, each event is stored by itself and routed
    as any other. What a step decided it tells its callers itself: a question to the store for each took more than all
    the routing.

    Many callers make two groups: while one waits for PostgreSQL, we work for the other. One group of all would have
    everybody wait for both in turn. Few callers stay together: a step costs as much as routing some ten of them.

    Leaving it, `async with SyncLane(...) as lane`, gives up what hangs and stores what is in no journal: before that
    Accept is left.
    """

    def __init__(
        self, station: RouteStation, journal: Journal, wake: Wake, store: Store, bounds: Bounds | None = None
    ) -> None:
        self._station = station
        self._journal = journal
        self._wake = wake
        self._store = store
        self._bounds = bounds or Bounds()
        self._waiting: dict[bytes, Waiting] = {}
        self._routing: dict[bytes, Waiting] = {}
        self._storing: dict[bytes, Waiting] = {}  # by themselves
        self._steps: set[asyncio.Task[None]] = set()
        self._given_up: set[asyncio.Task[None]] = set()
        self._callers = self._bytes = 0
        self._late: asyncio.TimerHandle | None = None
        self._closing = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing = True
        if self._late is not None:
            self._late.cancel()
        for event, one in [*self._waiting.items()]:
            del self._waiting[event]
            self._release(event, one, {})
        await asyncio.sleep(0)  # see `secure`
        for step in self._steps - self._given_up:
            step.cancel()
        if self._steps:
            await asyncio.wait(self._steps, timeout=LEAVING)

    def enter(self, arrival: Arrival, tell: Tell) -> None:
        """`tell` is called once the arrival, which holds one event, is durable and the step that took it is over: with
        what became of it, None where it is not routed then, or why it could not be stored. No task and no future for a
        caller. It must not raise. Raises Overloaded where too many wait already.
        """
        bounds, size = self._bounds, weight(arrival)
        if self._callers and (self._bytes + size > bounds.queue_bytes or self._callers >= bounds.queue_requests):
            raise Overloaded(TOO_MUCH, 2)
        self._enter(arrival.items[0].id, arrival, tell, size)

    def secure(self, arrival: Arrival, told: Told) -> None:
        """Stores it now. A step that has it, and waits for another's locks, is given up: whoever stores one of its
        events would wait for it. `told` is called once it is durable, or with the reason why it is not. Raises
        Overloaded.
        """
        event = arrival.items[0].id
        one = self._find(event)
        if one is None:
            self._store(arrival, told)
        elif one.arrival is None:
            told(None)
        else:
            one.secured.append(told)
            if one.step is not None:
                # Not at once: callers who came long ago would each end the step that has them at last. (And a task that
                # is cancelled before it began runs nothing, and would tell nobody.)
                asyncio.get_running_loop().call_later(GRACE, self._give_up, one)
            elif self._waiting.pop(event, None) is not None:
                self._store_alone(event, one)

    def _give_up(self, one: Waiting) -> None:
        """Once: a second cancellation would tear its rollback, and leave a session that nobody can use. Not after its
        commit: what it has to do then keeps nobody waiting.
        """
        if one.step is not None and one.arrival is not None and one.step not in self._given_up:
            self._given_up.add(one.step)
            one.step.cancel()

    def _find(self, event: bytes) -> Waiting | None:
        return self._routing.get(event) or self._storing.get(event) or self._waiting.get(event)

    def _enter(self, event: bytes, arrival: Arrival | None, tell: Tell, size: int = 0) -> None:
        one = self._find(event)
        if one is None:
            if not self._waiting:
                # Not at once: many come in within one turn of the loop.
                asyncio.get_running_loop().call_soon(self._begin)
            one = self._waiting[event] = Waiting(arrival)
        one.tells.append(tell)
        one.size += size
        self._callers += 1
        self._bytes += size

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

    def _begin(self, few: int = FEW) -> None:
        """Steps for those who wait, as many as may run."""
        if self._closing:
            return
        while (count := len(self._waiting)) and len(self._steps) < STEPS and (not self._steps or count >= few):
            if not self._steps and count >= 2 * FEW:
                count = (count + 1) // 2
            batch = self._take(min(count, MOST))
            self._routing |= batch
            step = asyncio.get_running_loop().create_task(self._step(batch), name="sync: route")
            for one in batch.values():
                one.step = step
            self._steps.add(step)
            step.add_done_callback(self._over)
        if self._waiting and self._late is None and len(self._steps) < STEPS:
            self._late = asyncio.get_running_loop().call_later(LONG, self._begin_late)

    def _begin_late(self) -> None:
        self._late = None
        self._begin(few=1)

    def _take(self, count: int) -> dict[bytes, Waiting]:
        size, batch = 0, dict[bytes, Waiting]()
        for event, one in islice(self._waiting.items(), count):
            size += one.size
            if batch and size > self._bounds.group_bytes:
                break
            batch[event] = one
        for event in batch:
            del self._waiting[event]
        return batch

    def _over(self, step: asyncio.Task[None]) -> None:
        self._steps.discard(step)
        self._given_up.discard(step)
        self._begin()

    async def _step(self, batch: Mapping[bytes, Waiting]) -> None:
        found: dict[bytes, Assigned] = {}
        try:
            await self._route_new(batch, found)
            await self._route_known([event for event in batch if event not in found], found)
        except asyncio.CancelledError:
            log.warning("sync.given_up", callers=len(batch))
        except FairturnError as error:
            log.warning("sync.failed", error=str(error))
        except Exception as error:
            log.exception("sync.broke", error=str(error))
        finally:
            for event, one in batch.items():
                del self._routing[event]
                one.step = None
            for event, one in batch.items():
                self._release(event, one, found)

    async def _route_new(self, batch: Mapping[bytes, Waiting], found: dict[bytes, Assigned]) -> None:
        if arrivals := [one.arrival for one in batch.values() if one.arrival is not None]:
            await self._station.route_new(arrivals, found)
        for one in batch.values():
            one.arrival = None

    async def _route_known(self, events: Sequence[bytes], found: dict[bytes, Assigned]) -> None:
        """Those that are stored: before, by themselves, or by another way while the step ran."""
        if events:
            await self._station.route(events, found)
        # Those that came before, or that another station took: one question for all of them.
        if unknown := [event for event in events if event not in found]:
            found |= await self._journal.results(unknown)

    def _release(self, event: bytes, one: Waiting, found: Mapping[bytes, Assigned]) -> None:
        """Tells its callers, or stores it by itself where it is in no journal yet."""
        if one.arrival is not None:
            self._store_alone(event, one)
            return
        self._part(one)
        _tell_all(one.secured, None)
        _tell_all(one.tells, found.get(event))

    def _part(self, one: Waiting) -> None:
        self._callers -= len(one.tells)
        self._bytes -= one.size

    def _store_alone(self, event: bytes, one: Waiting) -> None:
        def stored(error: Overloaded | None) -> None:
            del self._storing[event]
            self._part(one)
            _tell_all(one.secured, error)
            if error is not None or self._closing:
                _tell_all(one.tells, error)
                return
            for tell in one.tells:
                self._enter(event, None, tell)

        assert one.arrival is not None  # noqa: S101  else it is stored
        self._storing[event] = one
        try:
            self._store(one.arrival, stored)
        except Overloaded as error:
            stored(error)


def _tell_all(tells: Iterable[Callable[[T], None]], became: T) -> None:
    for tell in tells:
        try:
            tell(became)
        except Exception:  # one who cannot be told keeps it from nobody else
            log.exception("sync.told")
