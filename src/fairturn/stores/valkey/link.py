"""One connection: commands in one round trip, and the border where the client's errors become ours."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, Protocol

from redis.asyncio.connection import ConnectionPool
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    NoPermissionError,
    OutOfMemoryError,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as Lost
from redis.exceptions import TimeoutError as Late

from fairturn.errors import ConfigError, Fault, Overloaded, StoreError, StoreUnavailable
from fairturn.stores.valkey.promise import Promise, judge

Command = tuple[bytes | str | int, ...]

PATIENCE: Final = 8.0  # seconds for an answer: less than the door has for its callers
CONNECT: Final = 5.0  # seconds for the connection alone
SCHEMES: Final = {"valkey": "redis", "valkeys": "rediss"}  # the client knows the older names
# What a server says that starts, fails over or cannot write to its disk: it may say something else in a moment.
PASSING: Final = ("LOADING", "MASTERDOWN", "READONLY", "MISCONF", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "UNBLOCKED")
LAST: Final = (AuthenticationError, AuthorizationError, NoPermissionError)  # a person must act


class Wire(Protocol):
    """What we use of the client: its connection, which knows TLS, passwords and sockets, and its two parsers."""

    @property
    def is_connected(self) -> bool: ...

    async def connect(self) -> None: ...

    async def disconnect(self, *, nowait: bool = False) -> None: ...

    def pack_commands(self, commands: Iterable[Command]) -> Sequence[bytes]: ...

    async def send_packed_command(self, command: Sequence[bytes], *, check_health: bool = True) -> None: ...

    async def read_response(self) -> Any: ...


class Link:
    """`await link.call(("XLEN", "key"), ...)`: the replies. One call at a time; a lost connection is made anew.

    Before a durable write each new connection is judged, and any that is doubted: a server that came back with other
    settings is as dangerous as a new one. One that is unsafe is read and emptied all the same. `url` may hold a
    password: it is never printed. Raises ConfigError where it is none.
    """

    def __init__(self, url: str) -> None:
        self._connection = connection(url)
        self._turn = asyncio.Lock()
        self._promise: Promise | None = None  # None: it is to be judged

    def __repr__(self) -> str:
        return f"Link(promise={self._promise})"

    async def promise(self) -> Promise:
        """What the server promises of a write. Raises UnsafeStore, StoreError, StoreUnavailable."""
        await self.call(("PING",), durable=True)
        assert self._promise is not None  # noqa: S101  nothing durable is asked without
        return self._promise

    def doubt(self) -> None:
        """Its settings may have changed while we were connected: the next durable write looks."""
        self._promise = None

    async def call(self, *commands: Command, patience: float = PATIENCE, durable: bool = False) -> list[Any]:
        """Replies in the commands' order, bytes as they came. Raises StoreUnavailable, UnsafeStore, StoreError,
        Overloaded.

        durable: returns once what was written is on disk. A command may have been done although it raises, and is done
        twice where the connection was lost meanwhile.
        """
        async with self._turn:
            with mapped_errors():
                async with asyncio.timeout(patience):
                    if self._connection.is_connected:
                        with suppress(Lost, OSError):  # most likely since the last call: the server was restarted
                            return await self._judged(commands, durable=durable)
                    self._promise = None
                    await self._connection.connect()
                    return await self._judged(commands, durable=durable)

    async def _judged(self, commands: tuple[Command, ...], *, durable: bool) -> list[Any]:
        if durable and self._promise is None:
            self._promise = await judge(self._exchange)
        if not durable or (self._promise is not None and self._promise.on_reply):
            return await self._exchange(commands)
        *replies, (written, *_) = await self._exchange((*commands, ("WAITAOF", 1, 0, int(1000 * (PATIENCE - 1)))))
        if not written:
            raise StoreUnavailable("Valkey is not available: its file is not written")
        return replies

    async def _exchange(self, commands: tuple[Command, ...]) -> list[Any]:
        # Not the client's own pipeline: its bookkeeping is 5 us a command, and an append is few commands.
        connection = self._connection
        replies: list[Any] = []
        refused: ResponseError | None = None
        try:
            await connection.send_packed_command(connection.pack_commands(commands), check_health=False)
            for _ in commands:
                try:
                    replies.append(await connection.read_response())
                except ResponseError as error:
                    refused = refused or error
        except BaseException:
            await connection.disconnect(nowait=True)  # or the next call reads the answers of this one
            raise
        if refused is not None:
            raise refused
        return replies

    async def close(self) -> None:
        await self._connection.disconnect(nowait=True)


def connection(url: str) -> Wire:
    """Not connected yet. Raises ConfigError, which does not repeat the URL."""
    scheme, mark, rest = url.partition("://")
    try:
        pool: Any = ConnectionPool.from_url(
            f"{SCHEMES.get(scheme, scheme)}{mark}{rest}",
            protocol=2,
            client_name="fairturn",
            socket_timeout=None,
            socket_connect_timeout=CONNECT,
        )
        made: Wire = pool.make_connection()
        return made
    except (ValueError, TypeError, RedisError):
        fault = Fault(
            "this is no address of a Valkey or Redis",
            "Write redis://host:6379/0, rediss:// where it speaks TLS, or unix:///path",
            key="valkey_url",
        )
        raise ConfigError((fault,)) from None


@contextmanager
def mapped_errors() -> Iterator[None]:
    """The client's errors and the socket's, as StoreUnavailable, Overloaded or StoreError."""
    try:
        yield
    except LAST as error:
        raise StoreError(
            f"Valkey does not let us in: {words(error)} User and password stand in valkey_url "
            "(redis://user:password@host:6379/0); the page on Valkey says what the account needs."
        ) from error
    except OutOfMemoryError as error:
        raise Overloaded("Valkey's memory is full (maxmemory).", 30) from error
    except (Lost, Late, OSError, TimeoutError) as error:
        raise StoreUnavailable(f"Valkey is not available: {words(error)}") from error
    except ResponseError as error:
        if str(error).startswith(PASSING):
            raise StoreUnavailable(f"Valkey is not available: {words(error)}") from error
        if str(error).startswith("WRONGTYPE"):
            raise StoreError(
                "A key of the stream's name holds something else in this Valkey. Another program uses that name: write "
                "another one as valkey_stream, or another database number in valkey_url."
            ) from error
        raise StoreError(f"Valkey refused: {words(error)}") from error
    except RedisError as error:
        raise StoreError(f"this does not speak Valkey's protocol: {words(error)}") from error


def words(error: BaseException) -> str:
    """Without the arguments that an unknown command is quoted with: a lead's data belong in no log."""
    return str(error).partition(", with args")[0] or type(error).__name__
