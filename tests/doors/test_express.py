"""The short way and the ordinary one answer the same bytes, whatever is sent and however it is cut."""

import asyncio
import contextlib
import hashlib
import hmac
import itertools

import pytest
import uvicorn
from uvicorn.server import ServerState

from fairturn.config import Settings
from fairturn.flow.accept import Accept, Bounds
from fairturn.intake import express
from fairturn.intake.app import build
from fairturn.intake.express import Exchange, Express
from fairturn.intake.protocol import Protocol
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.journal import PostgresJournal

DATE = (b"date", b"Mon, 02 Mar 2026 10:00:00 GMT")
SOURCES = {
    "open": {"verify": {"type": "unsigned"}, "dedupe": "id"},
    "github": {
        "verify": {
            "type": "hmac", "header": "X-Signature", "secrets": ["env:S"], "format": "prefix", "prefix": "sha256=",
        }
    },
    "chat": {"verify": {"type": "unsigned"}, "lane": "sync", "deadline": "50ms"},
}  # fmt: skip


def request(
    body: bytes = b'{"id":1}', *more: bytes, source: bytes = b"open", kind: bytes = b"application/json",
    line: bytes | None = None, length: bytes | None = None,
) -> bytes:  # fmt: skip
    head = [line or b"POST /in/%b HTTP/1.1" % source, b"Host: x", b"Content-Type: " + kind, *more]
    head.append(b"Content-Length: " + (length or b"%d" % len(body)))
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def signed(body: bytes, key: bytes = b"key") -> bytes:
    return request(body, b"X-SIGNATURE: sha256=" + hmac.new(key, body, hashlib.sha256).hexdigest().encode(), source=b"github")  # fmt: skip  # noqa: E501


FORM = b"application/x-www-form-urlencoded"
CHUNKED = (
    b"POST /in/open HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'8\r\n{"id":1}\r\n0\r\n\r\n'
)
CASES = {
    "object": request(),
    "array": request(b'[{"id":1},{"id":},{"id":3}]'),
    "no event": request(b"[]"),
    "form": request(b"email=a%40x.test&n=1", kind=FORM),
    "odd bytes": request(b'{"n":"\xff\\u0000","m":1e400}'),
    "not json": request(b'{"id":'),
    "deep": request(b"[" * 200 + b"]" * 200),
    "media type": request(b"<a/>", kind=b"text/xml"),
    "coding": request(b"\x1f\x8b", b"Content-Encoding: gzip"),
    "items": request(b"[" + b"{}," * 30 + b"{}]"),
    "signed": signed(b'{"id":2}'),
    "forged": signed(b'{"id":2}', b"other"),
    "unsigned": request(source=b"github"),
    "nobody": request(source=b"nobody"),
    "sync": request(source=b"chat"),
    "query": request(line=b"POST /in/open?a=b HTTP/1.1"),
    "escapes": request(line=b"POST /in/%6Fpen HTTP/1.1"),
    "absolute": request(line=b"POST http://x/in/open HTTP/1.1"),
    "event": request(line=b"POST /in/open/" + b"0" * 32 + b" HTTP/1.1"),
    "get": b"GET /in/open HTTP/1.1\r\nHost: x\r\n\r\n",
    "get with a body": request(line=b"GET /in/open HTTP/1.1"),
    "head": b"HEAD /in/open HTTP/1.1\r\nHost: x\r\n\r\n",
    "put": request(line=b"PUT /in/open HTTP/1.1"),
    "elsewhere": request(line=b"POST / HTTP/1.1"),
    "old": request(line=b"POST /in/open HTTP/1.0"),
    "old, kept": request(b'{"id":1}', b"Connection: keep-alive", line=b"POST /in/open HTTP/1.0"),
    "kept": request(b'{"id":1}', b"Connection: keep-alive"),
    "closed": request(b'{"id":1}', b"Connection: close"),
    "expected": request(b'{"id":1}', b"Expect: 100-continue"),
    "upgraded": request(b'{"id":1}', b"Connection: upgrade", b"Upgrade: h2c"),
    "chunked": CHUNKED,
    "empty": request(b""),
    "without length": b"POST /in/open HTTP/1.1\r\nHost: x\r\n\r\n",
    "too long": request(b"x" * 3000),
    "far too long": request(b"", length=b"9" * 17),
    "two lengths": request(b'{"id":1}', b"Content-Length: 3"),
    "length and chunked": request(b'{"id":1}', b"Transfer-Encoding: chunked"),
    "no number": request(length=b"-8"),
    "two of a header": request(b'{"id":1}', b"Content-Type: text/xml"),
    "folded": request(b'{"id":1}', b"X-Long: a\r\n b"),
    "no name": request(b'{"id":1}', b": x"),
    "nul": request(b'{"id":1}', b"X: a\0b"),
    "no http": b"\x16\x03\x01\x02\x00 nothing of ours\r\n\r\n",
}
SHORT = {"object", "array", "no event", "form", "odd bytes", "not json", "deep", "media type", "coding", "items"}
SHORT |= {"signed", "forged", "unsigned", "kept", "two of a header"}


class Wire(asyncio.Transport):
    def __init__(self):
        super().__init__()
        self.sent, self.closed, self.changed = b"", False, asyncio.Event()

    def write(self, data):
        self.sent += data
        self.changed.set()

    def is_closing(self):
        return self.closed

    def close(self):
        self.closed = True
        self.changed.set()

    def pause_reading(self): ...

    def resume_reading(self): ...


class Ways:
    """One door, asked by either protocol."""

    def __init__(self, config: uvicorn.Config) -> None:
        self.config = config
        self.state = ServerState()
        self.state.default_headers = [DATE]

    def open(self, kind: type[Protocol]) -> tuple[Protocol, Wire]:
        protocol, wire = kind(config=self.config, server_state=self.state, app_state={}), Wire()
        protocol.connection_made(wire)
        return protocol, wire

    async def said(self, kind: type[Protocol], pieces: list[bytes]) -> tuple[bytes, bool]:
        """What was answered to these reads, and whether the connection is closed."""
        protocol, wire = self.open(kind)
        for piece in pieces:
            if not wire.closed:
                protocol.data_received(piece)
        async with asyncio.timeout(20):
            while not wire.closed and (protocol.pipeline or not getattr(protocol.cycle, "response_complete", True)):
                await wire.changed.wait()
                wire.changed.clear()
        await asyncio.sleep(0)  # the ordinary way's last write
        protocol.connection_lost(None)
        return wire.sent, wire.closed

    async def same(self, *pieces: bytes) -> bytes:
        ordinary, short = await asyncio.gather(*(self.said(kind, list(pieces)) for kind in (Protocol, Express)))
        assert short == ordinary
        return short[0]


@pytest.fixture
async def ways(database):
    async with ways_to(database) as found:
        yield found


@contextlib.asynccontextmanager
async def ways_to(dsn: str, bounds: Bounds | None = None):
    server = {"max_body": 2000, "max_items": 20, "body_timeout": "100ms"}
    settings = Settings.model_validate({"sources": SOURCES, "server": server})
    async with Database(dsn) as database, Accept(PostgresJournal(database), bounds) as accept:
        door = build(settings, {"github": (b"key",)}, accept)
        config = uvicorn.Config(door, access_log=False, log_level="critical", lifespan="off", proxy_headers=False)
        config.load()
        yield Ways(config)


async def test_every_request_gets_the_same_bytes(ways, monkeypatch):
    taken = set()
    short = Exchange.__init__

    def noted(self, protocol, way):
        taken.add(name)
        short(self, protocol, way)

    monkeypatch.setattr(Exchange, "__init__", noted)
    for name, sent in CASES.items():  # noqa: B007  `noted` reads it
        assert (await ways.same(sent)).startswith(b"HTTP/1.1 ")
    assert taken == SHORT


async def test_two_in_one_packet_are_answered_in_order(ways):
    names = ("object", "array", "not json", "items", "closed", "chunked", "get", "no http", "old", "expected", "signed")
    for one, two in itertools.product(names, names):
        if two != "no http":
            await ways.same(CASES[one] + CASES[two])
            continue
        # Rubbish ends the connection at once. What was refused before it is answered all the same on the short way.
        ordinary, short = [await ways.said(kind, [CASES[one] + CASES[two]]) for kind in (Protocol, Express)]
        first = await ways.said(Express, [CASES[one]])
        assert short in {ordinary, (first[0] + ordinary[0], True), first}
    await ways.same(CASES["object"] * 5 + CASES["get"] + CASES["object"])
    # The second comes while the first is being stored.
    await ways.same(CASES["object"], CASES["array"], CASES["object"] + CASES["not json"], CASES["closed"])


@pytest.mark.parametrize("name", ["signed", "not json", "closed", "chunked", "expected"])
async def test_a_request_cut_anywhere_is_the_same_request(ways, name):
    sent = CASES[name]
    await asyncio.gather(*(ways.same(sent[:at], sent[at:]) for at in range(1, len(sent))))
    await ways.same(*(sent[at : at + 1] for at in range(len(sent))))
    pair = sent + CASES["object"]
    await asyncio.gather(*(ways.same(pair[:at], pair[at:]) for at in range(1, len(pair), 7)))


async def test_what_cannot_be_stored_is_refused_alike(database):
    async with ways_to(database, Bounds(max_unrouted=0)) as ways:
        assert b" 503 " in await ways.same(CASES["object"])
        assert b"retry-after: 30\r\nconnection: close" in await ways.same(CASES["signed"])


async def test_a_body_that_takes_its_time_goes_the_ordinary_way(ways):
    sent = CASES["object"]
    assert b" 408 " in await ways.same(sent[:-8])
    assert b" 408 " in await ways.same(sent[:-1])
    protocol, wire = ways.open(Express)
    protocol.data_received(sent[:-3])
    held = protocol.cycle
    while protocol.cycle is held:  # HOLD has its own timer  # noqa: ASYNC110
        await asyncio.sleep(express.HOLD / 10)
    protocol.data_received(sent[-3:])
    await asyncio.wait_for(wire.changed.wait(), 10)
    assert wire.sent.startswith(b"HTTP/1.1 202")


async def test_a_stop_answers_what_is_in_flight_and_closes(ways):
    """Whole, half read, or behind another: as the ordinary way does."""
    for pieces in ([CASES["object"]], [CASES["object"][:-4]], [CASES["object"] + CASES["array"]]):
        seen = []
        for kind in (Protocol, Express):
            protocol, wire = ways.open(kind)
            protocol.data_received(pieces[0])
            protocol.shutdown()
            if pieces[0].endswith(b'{"id'):
                protocol.data_received(CASES["object"][-4:])
            while not wire.closed:
                await wire.changed.wait()
                wire.changed.clear()
            seen.append(wire.sent)
        assert seen[0] == seen[1]
        assert b"connection: close" in seen[0]


async def test_a_peer_that_hangs_up_is_not_written_to(ways):
    for sent in (CASES["object"], CASES["object"][:-4]):
        protocol, wire = ways.open(Express)
        protocol.data_received(sent)
        protocol.connection_lost(None)
        await ways.same(CASES["array"])  # a later commit is done: so is that one
        assert wire.sent == b""


async def test_a_peer_that_does_not_read_waits_on_the_ordinary_way(ways):
    protocol, wire = ways.open(Express)
    protocol.pause_writing()
    protocol.data_received(CASES["object"])
    assert not isinstance(protocol.cycle, Exchange)
    await asyncio.sleep(0)
    protocol.resume_writing()
    await asyncio.wait_for(wire.changed.wait(), 10)
    assert wire.sent.startswith(b"HTTP/1.1 202")


async def test_a_connection_that_rests_is_closed_and_one_that_works_is_not(ways):
    """One timer serves all waits: it closes nothing where a request came meanwhile."""

    async def until(done):
        while not done():
            await wire.changed.wait()
            wire.changed.clear()

    protocol, wire = ways.open(Express)
    protocol.data_received(CASES["object"])
    await until(lambda: protocol.cycle.response_complete)
    protocol.timeout_keep_alive = 0.05
    protocol.data_received(CASES["object"][:-4])
    protocol._look()
    assert not wire.closed
    protocol.data_received(CASES["object"][-4:])
    await until(lambda: protocol.cycle.response_complete)
    protocol._look()
    await asyncio.wait_for(until(lambda: wire.closed), 20)
    protocol.connection_lost(None)
