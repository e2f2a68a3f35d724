"""What is written within one turn of the loop leaves in one piece, and nothing is lost when the connection ends."""

import asyncio

import pytest
import uvicorn

from fairturn.intake import protocol
from fairturn.intake.protocol import Joined, Protocol
from fairturn.intake.wire import reply, respond


class Wire(asyncio.Transport):
    """Every write as it came."""

    def __init__(self):
        super().__init__()
        self.writes = []
        self.closed = False

    def write(self, data):
        self.writes.append(data)

    def is_closing(self):
        return self.closed

    def close(self):
        self.closed = True

    def get_extra_info(self, name, default=None):
        return name


async def test_writes_of_one_turn_are_one():
    wire = Wire()
    joined = Joined(wire, asyncio.get_running_loop())
    joined.write(b"head")
    joined.write(b"body")
    assert wire.writes == []
    await asyncio.sleep(0)
    assert wire.writes == [b"headbody"]
    joined.write(b"next")
    await asyncio.sleep(0)
    assert wire.writes == [b"headbody", b"next"]
    assert joined.get_extra_info("peername") == "peername"


async def test_a_close_sends_what_waits_first():
    wire = Wire()
    joined = Joined(wire, asyncio.get_running_loop())
    joined.write(b"last words")
    joined.close()
    assert (wire.writes, wire.closed) == ([b"last words"], True)
    await asyncio.sleep(0)
    assert wire.writes == [b"last words"]


async def test_a_peer_that_is_gone_is_not_written_to():
    wire = Wire()
    joined = Joined(wire, asyncio.get_running_loop())
    joined.write(b"too late")
    wire.closed = True
    await asyncio.sleep(0)
    assert wire.writes == []


@pytest.mark.parametrize("end", [b"", b"connection: close\r\n"])
async def test_two_requests_in_one_packet_get_two_answers(end):
    async def app(scope, receive, send):
        await receive()
        await respond(send, reply(202, {"path": scope["path"]}))

    config = uvicorn.Config(app, port=0, lifespan="off", log_level="warning", http=Protocol)
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /a HTTP/1.1\r\nhost: x\r\n\r\nGET /b HTTP/1.1\r\nhost: x\r\n%b\r\n" % end)
        for path in (b"/a", b"/b"):
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 202")
            assert await reader.readexactly(13) == b'{"path":"%b"}' % path
        writer.close()
    finally:
        await server.shutdown()


@pytest.mark.parametrize("sent", [b"", b"POST /in/web HTTP/1.1\r\nHost: x\r\n"])
@pytest.mark.parametrize("after", [0, 1])
async def test_a_request_that_never_gets_to_its_body_is_closed(monkeypatch, sent, after):
    """Also the second of a connection. One that has come whole is answered, however long its answer takes."""
    monkeypatch.setattr(protocol, "HEADERS", 0.3)

    async def app(scope, receive, send):
        await asyncio.sleep(0.6)
        await respond(send, reply(200, {}))

    config = uvicorn.Config(app, http=Protocol, lifespan="off", log_level="critical", timeout_keep_alive=1)
    server = uvicorn.Server(config)
    config.load()
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(
        lambda: Protocol(config=config, server_state=server.server_state, app_state={}), "127.0.0.1", 0
    )
    async with listening:
        reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname()[:2])
        for _ in range(after):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"200 OK" in await reader.readuntil(b"{}")
        writer.write(sent)
        async with asyncio.timeout(10):
            assert await reader.read() == b""
        writer.close()
