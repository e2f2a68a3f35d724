"""What drives a station of one CRM account: step, rest until there is news, and finish what is in the air at last."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import structlog

from fairturn.flow.account import POLL, Account, ended
from fairturn.ports import Wake

log = structlog.get_logger(__name__)

LOOK = 0.05  # seconds between two looks at the store: route notifies once per transaction, and there may be hundreds

Step = Callable[[], Awaitable[float]]  # one thing leaves, if one may: seconds until the next look


class Pump:
    """`in_flight` counts what left and has not landed. deaf: news is not worth a look within so many seconds of one."""

    def __init__(self, account: Account, step: Step, *, deaf: float = 0.0) -> None:
        self._account = account
        self._step = step
        self._deaf = deaf
        self._hears = True
        self._flights: set[asyncio.Task[None]] = set()
        self._nudge = asyncio.Event()
        self._stopping = asyncio.Event()

    @property
    def in_flight(self) -> int:
        return len(self._flights)

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        """`run` takes no step more, and returns once all has landed."""
        self._stopping.set()
        self._nudge.set()

    async def run(self, wake: Wake) -> None:
        """Until `stop`, with the account's lease held or waited for."""
        async with self._account.kept(self._nudge):
            hearing = asyncio.create_task(self._hear(wake))
            try:
                while not self._stopping.is_set():
                    await self._rest(await self._step())
                    if hearing.done():  # only a fault of our own ends it: let it be seen, and the station start anew
                        hearing.result()
            finally:
                await ended(hearing)
                if self._flights:
                    await asyncio.wait(self._flights)

    def leave(self, flight: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(flight)
        self._flights.add(task)
        task.add_done_callback(self._landed)

    def _landed(self, flight: asyncio.Task[None]) -> None:
        self._flights.discard(flight)
        self._nudge.set()
        if not flight.cancelled() and (error := flight.exception()) is not None:
            log.error("flight.broken", destination=self._account.name, error=repr(error))

    async def _rest(self, seconds: float) -> None:
        """Until nudged, for `seconds` at most."""
        if seconds <= 0:
            return
        self._hears = seconds > self._deaf
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(seconds, POLL)):
                await self._nudge.wait()
                await asyncio.sleep(LOOK)
        self._nudge.clear()
        self._hears = True

    async def _hear(self, wake: Wake) -> None:
        while True:
            if await wake.wait(POLL) and self._hears:
                self._nudge.set()
