"""ASGI at its plainest: a body read within limits, an answer sent in two messages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final, NamedTuple

import orjson

from fairturn.errors import Overloaded, RefusedRequest

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]

JSON: Header = (b"content-type", b"application/json")
CLOSE: Header = (b"connection", b"close")  # the rest of a body that we did not read would be taken for a request

# Bytes of bodies that are still coming in, of all connections: many slow senders must not fill the memory before
# anything of theirs can be verified.
MOST_HELD: Final = 256 * 1_048_576


class Gone(Exception):
    """The client hung up before its request was complete: nobody to answer, nothing to keep."""


class Reply(NamedTuple):
    status: int
    body: bytes
    headers: tuple[Header, ...] = ()


def reply(status: int, content: object, *headers: Header) -> Reply:
    return Reply(status, orjson.dumps(content), headers)


def refusal(error: RefusedRequest) -> Reply:
    close = (CLOSE,) if error.status in {408, 413} else ()
    return Reply(error.status, orjson.dumps({"error": error.message}), close)


def overload(error: Overloaded) -> Reply:
    return reply(503, {"error": f"{error} Send it again."}, (b"retry-after", b"%d" % error.retry_after), CLOSE)


async def respond(send: Send, answer: Reply, *, head: bool = False) -> None:
    length = (b"content-length", b"%d" % len(answer.body))
    headers = [JSON, length, *answer.headers] if answer.headers else [JSON, length]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else answer.body})


class Bodies:
    """Reads raw bodies within limits of size and time.

    One timer looks after every open read, once a second: asyncio.timeout costs 8 µs a request, a tenth of all that the
    door does for it.
    """

    def __init__(self, most_held: int = MOST_HELD) -> None:
        self._most_held = most_held
        self._held = 0
        self._until: dict[asyncio.Task[object], float] = {}
        self._late: set[asyncio.Task[object]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def read(self, receive: Receive, headers: Mapping[bytes, bytes], most: int, seconds: float) -> bytes:
        """Raises RefusedRequest 413 beyond `most` bytes, 408 after `seconds` (to the next second); Overloaded; Gone."""
        declared = headers.get(b"content-length", b"0")
        if len(declared) > 18 or (declared.isdigit() and int(declared) > most):
            raise _too_long(most)
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  an ASGI server runs us in one
        self._watch(task, seconds)
        try:
            message = await receive()
            if message["type"] != "http.request" or message.get("more_body", False):
                return await self._in_pieces(receive, message, most)
            body: bytes = message.get("body", b"")  # nearly always: the whole body came with the headers
            if len(body) > most:
                raise _too_long(most)
            return body
        except asyncio.CancelledError:
            if task not in self._late:
                raise
            task.uncancel()
            raise RefusedRequest(408, f"The body did not arrive within {seconds:g} seconds.") from None
        finally:
            self._until.pop(task, None)
            self._late.discard(task)

    def _watch(self, task: asyncio.Task[object], seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._until[task] = loop.time() + seconds
        if self._timer is None:
            self._timer = loop.call_later(1.0, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        late = [task for task, until in self._until.items() if now >= until]
        for task in late:
            del self._until[task]
            self._late.add(task)
            task.cancel()
        self._timer = loop.call_later(1.0, self._look, loop) if self._until else None

    async def _in_pieces(self, receive: Receive, message: Message, most: int) -> bytes:
        chunks: list[bytes] = []
        size = 0
        try:
            while message["type"] == "http.request":
                chunk = message.get("body", b"")
                chunks.append(chunk)
                size += len(chunk)
                self._held += len(chunk)
                if size > most:
                    raise _too_long(most)
                if self._held > self._most_held:
                    raise Overloaded("More bodies arrive at once than this process can hold.", 2)
                if not message.get("more_body", False):
                    return b"".join(chunks)
                message = await receive()
            raise Gone
        finally:
            self._held -= size


def _too_long(most: int) -> RefusedRequest:
    return RefusedRequest(413, f"The body has more than {most} bytes. Send fewer events per request.")
