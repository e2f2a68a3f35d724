"""The load: a process of its own, a fixed number of connections, each sending its next request when it is answered.

    python -m bench.sender --port 8080 --first 0 --requests 100000 --seconds 5 --clients 64

Every request is built and signed before the clock starts, and answers are hardly looked at: it shares the machine's
processors with what it measures. Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from typing import Any, Final, cast

import orjson
import uvloop

from bench.leads import SOURCE, requests

GOOD: Final = b"HTTP/1.1 20"  # 202, or 200 with the owner
PATIENCE: Final = 300.0  # seconds beyond the time asked for; then something is broken
WARM: Final = 0.3  # seconds that do not count: connections, caches, the first commit


class Load:
    def __init__(self, prepared: list[bytes], clients: int) -> None:
        self._prepared = iter(prepared)
        self._open = clients
        self.sent = self.bad = 0
        self.latencies: list[float] = []
        self.finished = asyncio.Event()
        self.stopping = False

    def next(self) -> bytes | None:
        found = None if self.stopping else next(self._prepared, None)
        if found is None:
            self.left()
        else:
            self.sent += 1
        return found

    def left(self) -> None:
        """One connection fewer."""
        self._open -= 1
        if self._open == 0:
            self.finished.set()


class Client(asyncio.Protocol):
    def __init__(self, load: Load) -> None:
        self._load = load
        self._at = 0.0
        self._done = False
        self._said = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own, of no class of asyncio's
        self._go(self._transport)

    def _go(self, transport: asyncio.Transport) -> None:
        prepared = self._load.next()
        if prepared is None:
            self._done = True
            transport.close()
        else:
            self._at = time.perf_counter()
            transport.write(prepared)

    def data_received(self, data: bytes) -> None:
        said = self._said + data if self._said else data
        if not whole(said):
            self._said = said
            return
        self._said = b""
        load = self._load
        load.latencies.append(time.perf_counter() - self._at)
        if not said.startswith(GOOD):
            load.bad += 1
        assert self._transport is not None
        self._go(self._transport)

    def connection_lost(self, _: Exception | None) -> None:
        if not self._done:  # the server hung up: this connection answers nothing more
            self._load.bad += 1
            self._load.left()


def whole(said: bytes) -> bool:
    """Whether an answer is there to its end. Both servers say its length in lower case, and close none."""
    head = said.find(b"\r\n\r\n")
    if head < 0:
        return False
    start = said.find(b"content-length: ") + 16
    return len(said) >= head + 4 + int(said[start : said.find(b"\r", start)])


async def run(port: int, prepared: list[bytes], clients: int, seconds: float | None) -> dict[str, Any]:
    """Until the time is over, or every request is answered."""
    loop = asyncio.get_running_loop()
    load = Load(prepared, clients)
    began_at, began = time.time(), time.perf_counter()
    for _ in range(clients):
        await loop.create_connection(lambda: Client(load), "127.0.0.1", port)
    if seconds is not None:
        await asyncio.sleep(WARM)
        load.latencies.clear()
        began_at, began = time.time(), time.perf_counter()
        print(orjson.dumps({"began": began_at}).decode(), flush=True)
        await asyncio.sleep(seconds)
    else:
        await load.finished.wait()
    took, latencies = time.perf_counter() - began, sorted(load.latencies)
    exhausted = load.finished.is_set()
    load.stopping = True
    await load.finished.wait()
    return {
        "answered": len(latencies),
        "bad": load.bad,
        "sent": load.sent,
        "exhausted": exhausted,
        "began": began_at,
        "seconds": took,
        **{f"p{q}_ms": 1000 * latencies[len(latencies) * q // 100] for q in (50, 95, 99) if latencies},
    }


def main() -> None:
    ask = argparse.ArgumentParser()
    for name in ("port", "first", "requests", "clients"):
        ask.add_argument(f"--{name}", type=int, required=True)
    ask.add_argument("--seconds", type=float)
    ask.add_argument("--source", default=SOURCE)
    args = ask.parse_args()
    prepared = requests(args.first, args.requests, args.source)
    print(orjson.dumps({"ready": len(prepared)}).decode(), flush=True)
    sys.stdin.readline()
    found = uvloop.run(
        asyncio.wait_for(run(args.port, prepared, args.clients, args.seconds), PATIENCE + (args.seconds or 0))
    )
    print(orjson.dumps(found).decode(), flush=True)


if __name__ == "__main__":
    main()
