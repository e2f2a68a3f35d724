"""ASGI at its plainest: a body read within limits, an answer sent in two messages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

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


class Gone(Exception):
    """The client hung up before its request was complete: nobody to answer, nothing to keep."""


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes
    headers: tuple[Header, ...] = ()


def reply(status: int, content: object, *headers: Header) -> Reply:
    return Reply(status, orjson.dumps(content), headers)


def refusal(error: RefusedRequest) -> Reply:
    close = (CLOSE,) if error.status in {408, 413} else ()
    return Reply(error.status, orjson.dumps({"error": error.message}), close)


def overload(error: Overloaded) -> Reply:
    return reply(503, {"error": f"{error} Send it again."}, (b"retry-after", b"%d" % error.retry_after))


async def respond(send: Send, answer: Reply, *, head: bool = False) -> None:
    length = (b"content-length", b"%d" % len(answer.body))
    headers = [JSON, length, *answer.headers] if answer.headers else [JSON, length]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else answer.body})


async def read(receive: Receive, headers: Mapping[bytes, bytes], most: int, seconds: float) -> bytes:
    """The raw body. Raises RefusedRequest 413 beyond `most` bytes, 408 after `seconds`; Gone."""
    declared = headers.get(b"content-length", b"0")
    if len(declared) > 18 or (declared.isdigit() and int(declared) > most):
        raise _too_long(most)
    try:
        async with asyncio.timeout(seconds):
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body", False):
                body: bytes = message.get("body", b"")  # nearly always: the whole body came with the headers
                if len(body) > most:
                    raise _too_long(most)
                return body
            return await _rest(receive, message, most)
    except TimeoutError:
        raise RefusedRequest(408, f"The body did not arrive within {seconds:g} seconds.") from None


async def _rest(receive: Receive, message: Message, most: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while message["type"] == "http.request":
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > most:
            raise _too_long(most)
        if not message.get("more_body", False):
            return b"".join(chunks)
        message = await receive()
    raise Gone


def _too_long(most: int) -> RefusedRequest:
    return RefusedRequest(413, f"The body has more than {most} bytes. Send fewer events per request.")
