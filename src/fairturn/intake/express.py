"""The short way for what nearly every webhook is: one POST to a source, its body in the read of its head or the next.

uvicorn makes a task, a scope, an event and two messages per request: 13 us of the 24 that an echo costs. Here the door
is called as soon as the parser has the whole request, and the answer is written when its commit settles. The parser is
the same one, and it alone decides what a request is. Whatever is not plain goes the ordinary way, through ASGI, and
both ways give the same bytes: another method or address, a body in pieces, chunked or declared too long, `Expect`,
`Connection: close`, HTTP/1.0, an upgrade, a request behind one that is not answered yet, a peer that does not read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from fairturn.intake import protocol
from fairturn.intake.wire import CLOSE, JSON, Header, Reply

# Seconds for the rest of a body whose head came alone, as many clients send it. Then it goes the ordinary way, which
# has the limits of size and time.
HOLD: Final = 0.05
MOST_HELD: Final = 65_536  # bytes of one body in that time


class Door(Protocol):
    """An application that takes plain requests without ASGI."""

    def way(self, target: bytes) -> Way | None:
        """Of POST requests to this very target; None where they need the ordinary way."""


class Way(Protocol):
    most: int  # bytes of a body

    def take(self, headers: Sequence[Header], body: bytes, tell: Callable[[Reply], None], /) -> None:
        """`tell` is called once, at once or later, with the answer; never raises."""


class Exchange:
    """A request on the short way. What uvicorn asks of a cycle, it answers."""

    __slots__ = ("body", "disconnected", "keep_alive", "protocol", "response_complete", "way", "whole")

    def __init__(self, protocol: Express, way: Way) -> None:
        self.protocol = protocol
        self.way = way
        self.body = b""
        self.whole = False
        self.keep_alive = True
        self.disconnected = False
        self.response_complete = False

    @property
    def message_event(self) -> Exchange:
        return self

    def set(self) -> None:
        """Nobody waits for a message."""

    def tell(self, reply: Reply) -> None:
        if not self.disconnected:
            self.response_complete = True
            self.protocol.answer(self, reply)


class Heads:
    """Heads of answers that have no header of their own, made once for each second's date."""

    def __init__(self) -> None:
        self._defaults: Sequence[Header] = ()
        self._made: dict[tuple[int, int], bytes] = {}

    def of(self, reply: Reply, defaults: Sequence[Header], *, close: bool) -> bytes:
        """In the bytes that uvicorn makes of the same reply."""
        if close or reply.headers:
            more = (CLOSE,) if close and CLOSE not in reply.headers else ()
            return self._head(reply, defaults, more)
        if defaults is not self._defaults:  # uvicorn makes a new list each second
            self._defaults, self._made = defaults, {}
        key = (reply.status, len(reply.body))
        head = self._made.get(key)
        if head is None:
            head = self._made[key] = self._head(reply, defaults, ())
        return head

    @staticmethod
    def _head(reply: Reply, defaults: Sequence[Header], more: Sequence[Header]) -> bytes:
        length = (b"content-length", b"%d" % len(reply.body))
        lines = [b"%b: %b\r\n" % header for header in (*defaults, JSON, length, *reply.headers, *more)]
        return b"".join((STATUS_LINE[reply.status], *lines, b"\r\n"))


HEADS: Final = Heads()


class Express(protocol.Protocol):
    """Asks the application for a way; one that has none is served as ever."""

    _exchange: Exchange | None = None  # whose request is coming in
    _held: asyncio.TimerHandle | None = None
    _idle_since: float | None = None  # on the short way
    _idle: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._way: Callable[[bytes], Way | None] = getattr(self.app, "way", nowhere)
        if self.config.access_log or self.limit_concurrency is not None:
            self._way = nowhere

    def data_received(self, data: bytes) -> None:
        self._idle_since = None
        super().data_received(data)
        exchange = self._exchange
        if exchange is not None:
            if len(exchange.body) > MOST_HELD:
                self._ordinary(exchange)
            elif self._held is None:
                self._held = self.loop.call_later(HOLD, self._ordinary, exchange)

    def on_message_begin(self) -> None:
        # The scope is made when it turns out that it is needed.
        self._begun = True
        self.url = b""
        self.headers = []
        self.expect_100_continue = False

    def on_headers_complete(self) -> None:
        way = self._way(self.url)
        if way is not None and self._plain(way):
            self._begun = False
            if self._late is not None:
                self._in_time()
            self.cycle = self._exchange = Exchange(self, way)  # type: ignore[assignment]  # what is asked of one, it has
        else:
            self._scoped()

    def _plain(self, way: Way) -> bool:
        parser = self.parser
        before: RequestResponseCycle | Exchange | None = self.cycle
        if (
            parser.get_method() != b"POST"
            or self.expect_100_continue
            or not parser.should_keep_alive()
            or parser.should_upgrade()
            or self.flow.write_paused
            or not (before is None or before.response_complete)
            or self.pipeline
        ):
            return False
        declared = b""
        for name, value in self.headers:
            if name == b"content-length":
                declared = value
            elif name == b"transfer-encoding":
                return False
            elif name == b"connection" and parser.get_http_version() != "1.1":
                return False  # HTTP/1.0, which is not kept alive without the header
        return declared.isdigit() and len(declared) < 10 and 0 < int(declared) <= way.most

    def _scoped(self) -> None:
        """The ordinary way, from the end of the headers on."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers.extend(headers)
        super().on_headers_complete()

    def _ordinary(self, exchange: Exchange) -> None:
        """A body that takes its time is read as any other."""
        self._let_go()
        self.cycle = None  # type: ignore[assignment]  # as before the first request
        self._scoped()
        if exchange.body:
            super().on_body(exchange.body)

    def on_body(self, body: bytes) -> None:
        exchange = self._exchange
        if exchange is None:
            super().on_body(body)
        else:
            exchange.body = exchange.body + body if exchange.body else body

    def on_message_complete(self) -> None:
        exchange = self._exchange
        if exchange is None:
            super().on_message_complete()
            return
        self._exchange = None
        if self._held is not None:
            self._let_go()
        exchange.way.take(self.headers, exchange.body, exchange.tell)

    def answer(self, exchange: Exchange, reply: Reply) -> None:
        close = not exchange.keep_alive or CLOSE in reply.headers
        self._joined.send(HEADS.of(reply, self.server_state.default_headers, close=close) + reply.body)
        if close:
            self.transport.close()
        if close or self.pipeline or self.flow.read_paused:
            self.on_response_complete()
            return
        self.server_state.total_requests += 1
        self._idle_since = self.loop.time()
        if self._idle is None:
            self._idle = self.loop.call_later(self.timeout_keep_alive, self._look)

    def _look(self) -> None:
        """One timer for all the waits of a connection: to make one for each answer and cancel it costs 2 us."""
        self._idle = None
        if self._idle_since is not None:
            left = self._idle_since + self.timeout_keep_alive - self.loop.time()
            if left <= 0:
                self.timeout_keep_alive_handler()
            else:
                self._idle = self.loop.call_later(left, self._look)

    def shutdown(self) -> None:
        if self._exchange is not None:
            self._ordinary(self._exchange)
        super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        self._let_go()
        if self._idle is not None:
            self._idle.cancel()
        super().connection_lost(exc)

    def _let_go(self) -> None:
        self._exchange = None
        if self._held is not None:
            self._held.cancel()
            self._held = None


def nowhere(_: bytes) -> None:
    """The way of an application that knows ASGI alone."""
