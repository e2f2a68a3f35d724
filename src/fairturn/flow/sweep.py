"""What time removes: bodies past their retention, signals whose lead never came."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from fairturn.config import Retention
from fairturn.errors import StoreError
from fairturn.ports import Broom

log = structlog.get_logger(__name__)
EVERY = 30.0  # seconds between rounds
PIECE = 5_000  # rows in one statement: short locks, little to redo


class Sweep:
    """Any number of them may run; each statement skips rows that another holds."""

    def __init__(self, broom: Broom, retention: Retention) -> None:
        self._broom = broom
        self._retention = retention
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        while not self._stopping.is_set():
            try:
                await self.round()
            except StoreError as error:
                log.warning("sweep.failed", error=str(error))
            try:
                await asyncio.wait_for(self._stopping.wait(), EVERY)
            except TimeoutError:
                continue

    async def round(self) -> None:
        await self._until_done("signals", lambda: self._broom.expire_signals(PIECE))
        await self._until_done("raw", lambda: self._broom.purge_raw(self._retention.raw, PIECE))
        await self._until_done("events", lambda: self._broom.purge_events(self._retention.events, PIECE))

    def stop(self) -> None:
        self._stopping.set()

    async def _until_done(self, what: str, piece: Callable[[], Awaitable[int]]) -> None:
        total = 0
        while not self._stopping.is_set() and (done := await piece()):
            total += done
        if total:
            log.info("sweep.removed", what=what, rows=total)
