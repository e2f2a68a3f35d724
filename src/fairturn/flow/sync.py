"""The lane of callers who wait for an owner: routed together, one route transaction at a time for all who wait."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import structlog

from fairturn.errors import FairturnError
from fairturn.flow.station import POLL, RouteStation
from fairturn.model import Assigned
from fairturn.ports import Journal, Wake

log = structlog.get_logger(__name__)


def undecided(found: Assigned | None) -> bool:
    return found is None or found.status == "waiting"


class SyncLane:
    """While one transaction runs, the callers who come gather for the next. What it decided it tells them itself: a
    question to the store for each caller took more than all the routing.
    """

    def __init__(self, station: RouteStation, journal: Journal, wake: Wake) -> None:
        self._station = station
        self._journal = journal
        self._wake = wake
        self._waiting: dict[bytes, asyncio.Future[Assigned | None]] = {}
        self._task: asyncio.Task[None] | None = None

    async def owners(self, events: Sequence[bytes], deadline: float) -> Mapping[bytes, Assigned]:
        """What became of the events within `deadline` seconds; those not routed by then are left out."""
        loop = asyncio.get_running_loop()
        until = loop.time() + deadline
        futures = {event: self._waiting.setdefault(event, loop.create_future()) for event in events}
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._drain())
        if futures:
            await asyncio.wait(futures.values(), timeout=deadline)
        told = {event: future.result() for event, future in futures.items() if future.done()}
        found = {event: one for event, one in told.items() if one is not None}
        if len(told) < len(futures):  # the deadline: another may have routed them meanwhile
            return await self._journal.results(events)
        while any(undecided(found.get(event)) for event in events) and (left := until - loop.time()) > 0:
            # Another station took it, or it waits for a field: its commit wakes us.
            await self._wake.wait(min(left, POLL / 10))
            found = dict(await self._journal.results(events))
        return found

    async def _drain(self) -> None:
        while self._waiting:
            batch = list(self._waiting)
            found: dict[bytes, Assigned] = {}
            try:
                await self._station.route(batch, found)
                # Those that came before, or that another station took: one question for all of them.
                if unknown := [event for event in batch if event not in found]:
                    found |= await self._journal.results(unknown)
            except FairturnError as error:
                log.warning("sync.failed", error=str(error))
            for event in batch:
                if not (future := self._waiting.pop(event)).done():
                    future.set_result(found.get(event))
