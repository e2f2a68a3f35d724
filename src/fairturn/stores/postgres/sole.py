"""What one process at a time may do: an advisory lock of a session that lives as long as the process.

A process that is killed frees it at once, with its socket. One that hangs is ended by PostgreSQL, since it does not
ask any more: the session may be idle for `seconds`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import asyncpg

from fairturn.stores.postgres.database import SESSION, mapped_errors, statements

SQL = statements("sole")
PATIENCE = 10.0  # seconds for the connection, and for each answer


class Sole:
    """Implements ports.Sole. `dsn` may hold a password: it is never printed."""

    def __init__(self, dsn: str, what: str, seconds: float) -> None:
        self._dsn = dsn
        self._what = what
        self._seconds = seconds
        self._connection: asyncpg.Connection | None = None
        self._held = False
        self._asked = 0.0

    async def held(self) -> bool:
        now = asyncio.get_running_loop().time()
        connection = self._connection
        if (
            self._held
            and connection is not None
            and not connection.is_closed()
            and now - self._asked < self._seconds / 4
        ):
            return True
        with mapped_errors():
            try:
                await self._ask()
            except BaseException:
                await self.close()
                raise
        self._asked = now
        return self._held

    async def _ask(self) -> None:
        if self._connection is None or self._connection.is_closed():
            self._held = False
            idle = {
                "idle_session_timeout": f"{int(1000 * self._seconds)}ms",
                "application_name": f"fairturn {self._what}",
            }
            self._connection = await asyncpg.connect(self._dsn, timeout=PATIENCE, server_settings=SESSION | idle)
        if self._held:
            await self._connection.execute(SQL.alive, timeout=PATIENCE)
        else:
            self._held = await self._connection.fetchval(SQL.claim, self._what, timeout=PATIENCE)

    async def close(self) -> None:
        """Another may have it."""
        connection, self._connection, self._held = self._connection, None, False
        if connection is not None:
            with suppress(OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
                await connection.close(timeout=1)
