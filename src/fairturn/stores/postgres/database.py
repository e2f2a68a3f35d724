"""Connections, named queries and the border where asyncpg's errors become ours."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from importlib.resources import files
from types import SimpleNamespace
from typing import Self

import asyncpg
import orjson

from fairturn.errors import Contended, StoreError, StoreUnavailable, Unstorable

Connection = asyncpg.pool.PoolConnectionProxy | asyncpg.Connection
NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)

# A session that hangs must not hold rows: the server ends it. Keepalives find a peer that vanished without a reset.
SESSION = {
    "application_name": "fairturn",
    "idle_in_transaction_session_timeout": "30s",
    "transaction_timeout": "120s",
    "lock_timeout": "10s",
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
    "timezone": "UTC",
    # Plans for the array parameters of our set-based statements do not get better with their values.
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
}


def queries(noun: str) -> Mapping[str, str]:
    """Statements of `<noun>.sql` beside this file, each headed by `-- name: word`."""
    text = files(__package__).joinpath(f"{noun}.sql").read_text(encoding="utf-8")
    parts = NAME.split(text)
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def statements(noun: str) -> SimpleNamespace:
    return SimpleNamespace(**queries(noun))


@contextmanager
def mapped_errors() -> Iterator[None]:
    """asyncpg's errors and the socket's, as StoreUnavailable, Contended or StoreError."""
    try:
        yield
    except (
        asyncpg.DeadlockDetectedError,
        asyncpg.LockNotAvailableError,
        asyncpg.SerializationError,
        asyncpg.QueryCanceledError,
    ) as error:
        raise Contended(words(error)) from error
    except (
        asyncpg.PostgresConnectionError,
        asyncpg.CannotConnectNowError,
        asyncpg.AdminShutdownError,
        asyncpg.CrashShutdownError,
        asyncpg.TooManyConnectionsError,
        asyncpg.DiskFullError,
        asyncpg.IdleInTransactionSessionTimeoutError,
        asyncpg.InterfaceError,
        asyncpg.InternalClientError,
        OSError,
        TimeoutError,
    ) as error:
        if isinstance(error, asyncpg.InterfaceError) and isinstance(error, ValueError):
            # asyncpg's own DataError: the value is at fault, not the connection. Its words hold the value: a payload.
            raise Unstorable("PostgreSQL cannot hold a value that it was given") from None
        raise StoreUnavailable(f"PostgreSQL is not available: {words(error)}") from error
    except (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError, asyncpg.ProgramLimitExceededError) as error:
        raise Unstorable(f"PostgreSQL refused: {words(error)} ({error.sqlstate})") from error
    except asyncpg.PostgresError as error:
        raise StoreError(f"PostgreSQL refused: {words(error)} ({error.sqlstate})") from error


def words(error: BaseException) -> str:
    """The message without PostgreSQL's detail, which quotes the row: a lead's data belong in no log."""
    return str(error).partition("\nDETAIL:")[0] or type(error).__name__


def _encode(value: object) -> str:
    return orjson.dumps(value).decode()


async def prepare(connection: asyncpg.Connection) -> None:
    """jsonb in and out as Python values."""
    await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=_encode, decoder=orjson.loads)


async def _as_it_is(_: asyncpg.Connection) -> None:
    """Between two uses of a session: nothing. asyncpg's own RESET ALL, UNLISTEN * ... is a round trip per use, for
    settings and locks that none of our statements leaves behind; it still rolls back what is open.
    """


class Database:
    """A small pool of sessions on one database. `dsn` may hold a password: it is never printed."""

    def __init__(self, dsn: str, *, size: int = 4) -> None:
        self._dsn = dsn
        self._size = size
        self._pool: asyncpg.Pool | None = None

    def __repr__(self) -> str:
        return f"Database(size={self._size})"

    async def open(self) -> Self:
        with mapped_errors():
            self._pool = await asyncpg.create_pool(
                self._dsn,
                min_size=1,
                max_size=self._size,
                init=prepare,
                reset=_as_it_is,
                server_settings=SESSION,
                command_timeout=60,
                timeout=15,
                max_inactive_connection_lifetime=300,
            )
        return self

    async def close(self) -> None:
        if self._pool is not None:
            pool, self._pool = self._pool, None
            try:
                await pool.close()
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                pool.terminate()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A session outside a transaction: each statement commits by itself."""
        if self._pool is None:
            msg = "the database is not open"
            raise StoreUnavailable(msg)
        with mapped_errors():
            async with self._pool.acquire(timeout=30) as connection:
                yield connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """READ COMMITTED; rolled back when the block raises."""
        async with self.connection() as connection, connection.transaction():
            yield connection
