"""The lane of callers who wait for an owner: routed together, one route transaction at a time for all who wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice

import structlog

from fairturn.errors import FairturnError
from fairturn.flow.station import POLL, RouteStation
from fairturn.model import Assigned
from fairturn.ports import Journal, Wake

log = structlog.get_logger(__name__)
STEPS = 2  # at once; more would only wait for each other's pools
FEW = 16  # callers who are not worth a step beside another
Tell = Callable[[Assigned | None], None]


def undecided(found: Assigned | None) -> bool:
    return found is None or found.status == "waiting"


class SyncLane:
    """While steps run, the callers who come gather for the next one. What a step decided it tells its callers itself: a
    question to the store for each took more than all the routing.

    Many callers make two groups: while one waits for PostgreSQL, we work for the other. One group of all would have
    everybody wait for both in turn. Few callers stay together: a step costs as much as routing some ten of them.
    """

    def __init__(self, station: RouteStation, journal: Journal, wake: Wake) -> None:
        self._station = station
        self._journal = journal
        self._wake = wake
        self._waiting: dict[bytes, list[Tell]] = {}
        self._routing: dict[bytes, list[Tell]] = {}
        self._steps: set[asyncio.Task[None]] = set()

    def enter(self, event: bytes, tell: Tell) -> None:
        """`tell` is called once the step that takes the event is over: with what became of it, or None where it is not
        routed then. No task and no future for a caller. It must not raise.
        """
        if (same := self._routing.get(event)) is not None:
            same.append(tell)
            return
        if not self._waiting:
            # Not at once: a commit lets many in within one turn of the loop.
            asyncio.get_running_loop().call_soon(self._begin)
        self._waiting.setdefault(event, []).append(tell)

    async def owners(self, events: Sequence[bytes], deadline: float) -> Mapping[bytes, Assigned]:
        """What became of the events within `deadline` seconds; those not routed by then are left out."""
        loop = asyncio.get_running_loop()
        until = loop.time() + deadline
        wanted, told = set(events), dict[bytes, Assigned | None]()
        over = loop.create_future()

        def tell(event: bytes, became: Assigned | None) -> None:
            told[event] = became
            if len(told) == len(wanted) and not over.done():
                over.set_result(None)

        for event in wanted:
            self.enter(event, partial(tell, event))
        if wanted:
            await asyncio.wait((over,), timeout=deadline)
        found: Mapping[bytes, Assigned] = {event: one for event, one in told.items() if one is not None}
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
            batch = [*islice(self._waiting, count)]
            self._routing |= {event: self._waiting.pop(event) for event in batch}
            step = asyncio.get_running_loop().create_task(self._step(batch), name="sync: route")
            self._steps.add(step)
            step.add_done_callback(self._over)

    def _over(self, step: asyncio.Task[None]) -> None:
        self._steps.discard(step)
        self._begin()

    async def _step(self, batch: Sequence[bytes]) -> None:
        found: dict[bytes, Assigned] = {}
        try:
            await self._station.route(batch, found)
            # Those that came before, or that another station took: one question for all of them.
            if unknown := [event for event in batch if event not in found]:
                found |= await self._journal.results(unknown)
        except FairturnError as error:
            log.warning("sync.failed", error=str(error))
        except Exception as error:
            log.exception("sync.broke", error=str(error))
        finally:
            for event in batch:
                for tell in self._routing.pop(event):
                    _told(tell, found.get(event))


def _told(tell: Tell, became: Assigned | None) -> None:
    try:
        tell(became)
    except Exception:  # one who cannot be told keeps it from nobody else
        log.exception("sync.told")
