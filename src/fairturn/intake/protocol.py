"""uvicorn's protocol, with one system call for each answer instead of two.

uvicorn writes an answer's head and body one after the other, and uvloop 0.22 sends each write at once: two system calls
and two packets, a third of all that an answer costs. What is written within one turn of the loop leaves together here.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADERS = 20.0  # seconds from a connection's or a request's first byte to the end of its headers


class Joined:
    """A transport that gathers writes until the loop's next turn. All else is the transport's own."""

    __slots__ = ("_loop", "_parts", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(data)

    def flush(self) -> None:
        parts, self._parts = self._parts, []
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts))

    def send(self, data: bytes) -> None:
        """The whole of an answer, at once."""
        if self._parts:
            self.flush()
        if not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        self.flush()
        self._transport.close()


class Protocol(HttpToolsProtocol):
    """Closes a connection whose request does not get as far as its body: uvicorn would wait for ever, and as many of
    them as there are file handles would close the door. (The body has its own limit.)
    """

    _begun = False
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # so is theirs
        self._joined = Joined(transport, self.loop)
        super().connection_made(cast("asyncio.Transport", self._joined))
        self._late = self.loop.call_later(HEADERS, self._close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # Almost always the head comes in one piece, and no timer is needed.
        if self._begun and self._late is None:
            self._late = self.loop.call_later(HEADERS, self._close)

    def on_message_begin(self) -> None:
        self._begun = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._begun = False
        self._in_time()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._in_time()
        super().connection_lost(exc)

    def _in_time(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _close(self) -> None:
        self._late = None
        if not self.transport.is_closing():
            self.transport.close()
