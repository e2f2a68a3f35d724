"""What crosses the socket: calls in, answers out, and connections that break on purpose."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qsl, unquote

import orjson
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

TRANSPORT = "crmsim.transport"


class SimProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which also hands the connection to the application: some faults are the connection's."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        cast("dict[str, Any]", self.scope)[TRANSPORT] = self.transport


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request, read to its end. `segments` is the path cut at its slashes and then decoded.

    `query` has the last value of each name; `pairs` has them all, in order.
    """

    method: str
    path: str
    segments: tuple[str, ...]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    base_url: str
    uri_bytes: int
    pairs: tuple[tuple[str, str], ...] = ()

    def header(self, name: str) -> str | None:
        return self.headers.get(name.lower())


@dataclass(frozen=True, slots=True)
class Answer:
    """`body` is bytes as they are, or what JSON can say."""

    status: int
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    media: str = "application/json;charset=UTF-8"

    def payload(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else orjson.dumps(self.body)


async def read_call(scope: Scope, receive: Receive) -> Call | None:
    """The whole request; None if the client hung up while sending it."""
    chunks = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunks.append(message.get("body", b""))
        if not message.get("more_body"):
            break
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    raw = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
    server = scope.get("server") or ("127.0.0.1", 0)
    pairs = tuple(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    host = headers.get("host") or f"{server[0]}:{server[1]}"
    return Call(
        method=scope["method"],
        path=raw,
        segments=tuple(unquote(part) for part in raw.strip("/").split("/")),
        query=dict(pairs),
        headers=headers,
        body=b"".join(chunks),
        base_url=f"{scope['scheme']}://{host}",
        uri_bytes=len(raw) + len(scope["query_string"]) + 1,
        pairs=pairs,
    )


def is_open(scope: Scope) -> bool:
    transport = scope.get(TRANSPORT)
    return transport is None or not transport.is_closing()


async def deliver(scope: Scope, send: Send, answer: Answer) -> bool:
    """Send the answer; True if it was handed whole to a connection that was still open."""
    payload = answer.payload()
    headers = [(b"content-type", answer.media.encode()), (b"content-length", str(len(payload)).encode())]
    headers += [(name.lower().encode(), value.encode()) for name, value in answer.headers.items()]
    if not is_open(scope):
        return False
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": payload})
    return is_open(scope)


def reset(scope: Scope) -> None:
    """Cut the connection with a TCP reset: the client reads an error, not an end."""
    transport: asyncio.Transport | None = scope.get(TRANSPORT)
    if transport is None:
        return
    peer = transport.get_extra_info("socket")
    with contextlib.suppress(OSError, AttributeError):
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
