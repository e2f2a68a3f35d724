"""LISTEN on a session of its own.

A notification is a hint: whoever waits also looks once per poll interval, so a lost
session costs a delay and never an event.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Self

import asyncpg
import structlog

log = structlog.get_logger(__name__)
RECONNECT = 1.0  # seconds between attempts while PostgreSQL is away
PROBE = 5.0  # seconds between signs of life: a socket that was black-holed without a reset says nothing by itself


class Bell:
    """One listener of a channel."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self, timeout: float) -> bool:
        """True when rung since the last wait, False after `timeout` seconds."""
        try:
            # Not wait_for: before Python 3.12 it loses a cancellation that meets a ring, and a stop waits for ever.
            async with asyncio.timeout(timeout):
                await self._rung.wait()
        except TimeoutError:
            return False
        self._rung.clear()
        return True


class Listener:
    """Keeps one LISTEN session alive for any number of bells; rings all of them after a gap, for what was missed."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._bells: dict[str, list[Bell]] = {}
        self._task: asyncio.Task[None] | None = None

    def bell(self, *channels: str) -> Bell:
        bell = Bell()
        for channel in channels:
            self._bells.setdefault(channel, []).append(bell)
        return bell

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            try:
                await self._listen()
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
                log.warning("wake.lost", error=str(error) or type(error).__name__)
            await asyncio.sleep(RECONNECT)

    async def _listen(self) -> None:
        connection = await asyncpg.connect(self._dsn, timeout=10, server_settings={"application_name": "fairturn wake"})
        try:
            for channel in self._bells:
                await connection.add_listener(channel, self._hear(channel))
            self._ring_all()
            gone = asyncio.Event()  # a session that PostgreSQL ends says so; one that is black-holed shows in the probe
            connection.add_termination_listener(lambda *_: gone.set())
            while not gone.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(PROBE):
                        await gone.wait()
                await connection.execute("select 1", timeout=PROBE)
        finally:
            connection.terminate()

    def _hear(self, channel: str) -> Callable[..., None]:
        def hear(*_: object) -> None:
            for bell in self._bells[channel]:
                bell.ring()

        return hear

    def _ring_all(self) -> None:
        for bells in self._bells.values():
            for bell in bells:
                bell.ring()
