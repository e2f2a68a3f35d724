"""The load of the race: one process for all routers, warm connections, each sending its next request when answered.

Commands come as lines of JSON: {"port", "path", "clients", "warm", "requests", "first", "wave", "interval"}. It opens
the connections, sends `warm` requests that do not count, says {"ready"}, waits for a line, sends `requests` numbered
from `first` + `warm` on, and says what came of it. `wave` and `interval`: not more than `wave` requests per `interval`
seconds, all of a wave at once; 0 = no limit. Answers are read once the clock has stopped.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from typing import Any, cast

import orjson
import uvloop

from bench.sender import PATIENCE, whole

FREE = ("gmail.com", "outlook.com", "yahoo.com", "web.de")


def request(path: str, number: int) -> bytes:
    domain = FREE[number % 4] if number % 10 < 3 else f"company-{number % 300}.com"
    body = b'{"request":%d,"email":"lead.%d@%b"}' % (number, number, domain.encode())
    head = b"POST %b HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
    return head % (path.encode(), len(body), body)


class Load:
    """Some requests, shared out among the connections as each becomes free."""

    def __init__(self, prepared: list[bytes], wave: int, interval: float) -> None:
        self.prepared = prepared
        self.next = 0
        self.open = 0  # requests that are not answered
        self.latencies: list[float] = []
        self.answers: list[bytes] = []
        self.done = asyncio.Event()
        self.lost = 0
        self._wave = wave
        self._interval = interval
        self._began = time.perf_counter()

    def take(self) -> bytes | None:
        if self.next == len(self.prepared):
            if self.open == 0:
                self.done.set()
            return None
        self.next += 1
        self.open += 1
        return self.prepared[self.next - 1]

    def wait(self) -> float:
        """Seconds until the next request may go."""
        if not self._wave or self.next == len(self.prepared):
            return 0.0
        return self._began + self.next // self._wave * self._interval - time.perf_counter()


class Client(asyncio.Protocol):
    def __init__(self) -> None:
        self.load: Load | None = None
        self._at = 0.0
        self._said = b""
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def go(self, load: Load) -> None:
        self.load = load
        if (seconds := load.wait()) > 0:
            asyncio.get_running_loop().call_later(seconds, self.go, load)
            return
        prepared = load.take()
        if prepared is not None:
            assert self.transport is not None
            self._at = time.perf_counter()
            self.transport.write(prepared)

    def data_received(self, data: bytes) -> None:
        said = self._said + data if self._said else data
        if not whole(said):
            self._said = said
            return
        self._said = b""
        load = self.load
        assert load is not None
        load.open -= 1
        load.latencies.append(time.perf_counter() - self._at)
        load.answers.append(said)
        self.go(load)

    def connection_lost(self, _: Exception | None) -> None:
        load = self.load
        if load is not None and not load.done.is_set():
            load.lost += 1
            load.done.set()


async def send(clients: list[Client], load: Load) -> None:
    for client in clients:
        client.go(load)
    async with asyncio.timeout(PATIENCE):
        await load.done.wait()


async def serve(command: dict[str, Any]) -> None:
    loop = asyncio.get_running_loop()
    first, warm, path = command["first"], command["warm"], command["path"]
    clients = []
    for _ in range(command["clients"]):
        _, client = await loop.create_connection(Client, "127.0.0.1", command["port"])
        clients.append(client)
    if warm:
        await send(clients, Load([request(path, first + n) for n in range(warm)], 0, 0))
    prepared = [request(path, first + warm + n) for n in range(command["requests"])]
    say({"ready": warm})
    sys.stdin.readline()
    began_at, began = time.time(), time.perf_counter()
    load = Load(prepared, command["wave"], command["interval"])
    await send(clients, load)
    seconds = time.perf_counter() - began
    for client in clients:
        assert client.transport is not None
        client.transport.close()
    say(summary(load) | {"began": began_at, "seconds": seconds})


def summary(load: Load) -> dict[str, Any]:
    statuses = Counter(answer[9:12].decode() for answer in load.answers)
    named: Counter[str] = Counter()
    for answer in load.answers:
        if answer[9:12] != b"200":
            continue
        rep = orjson.loads(answer[answer.index(b"\r\n\r\n") + 4 :]).get("rep")
        if rep is not None:
            named[rep["id"]] += 1
    return {
        "statuses": statuses,
        "named": named,
        "lost": load.lost,
        "ms": [1000 * latency for latency in load.latencies],
    }


def say(what: dict[str, Any]) -> None:
    print(orjson.dumps(what).decode(), flush=True)


if __name__ == "__main__":
    say({"ready": 0})
    for line in sys.stdin:
        uvloop.run(serve(orjson.loads(line)))
