"""A worker's stations, started and stopped together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import structlog

log = structlog.get_logger(__name__)
RESTART = 1.0  # seconds before a station that broke is started again


class Station(Protocol):
    """Runs until `stop`; then finishes what it has in hand and returns."""

    def stop(self) -> None: ...


class Engine:
    """Holds the stations of one process. One that breaks is started again and says so; the others go on."""

    def __init__(self, stations: Sequence[tuple[str, Station, Callable[[], Awaitable[None]]]]) -> None:
        self._stations = tuple(stations)
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Until `stop`, and until every station has finished what it had in hand."""
        await asyncio.gather(*(self._keep(name, run) for name, _, run in self._stations))

    def stop(self) -> None:
        self._stopping.set()
        for _, station, _ in self._stations:
            station.stop()

    async def _keep(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        while not self._stopping.is_set():
            try:
                await run()
            except Exception as error:
                log.exception("station.broke", station=name, error=str(error))
                try:
                    await asyncio.wait_for(self._stopping.wait(), RESTART)
                except TimeoutError:
                    continue
