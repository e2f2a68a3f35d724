"""The load at a fixed rate, whether the server keeps up or not: a process of its own.

    python -m bench.open_loop --port 8080 --first 0 --rates 500,1000 --seconds 2 --clients 64

A request's time counts from when it was to be sent: one that waits for a free connection, behind a server that stands
still, pays for it (no coordinated omission). Clocks tick in milliseconds here: what was due within one leaves together.
Waits for a line before each rate and prints one line of JSON after it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, cast

import orjson
import uvloop

from bench.leads import SOURCE, requests
from bench.sender import GOOD, whole

WARM: Final = 0.2  # seconds of each rate that do not count
GRACE: Final = 2.0  # seconds for what is not answered when the last one has been sent


class Load:
    """Requests that are due, and connections that are free."""

    def __init__(self) -> None:
        self.all: list[Client] = []
        self.free: list[Client] = []
        self.due: deque[tuple[float, bytes]] = deque()
        self.latencies: list[float] = []
        self.open = self.bad = 0
        self.counts_from = 0.0
        self.done = asyncio.Event()

    def send(self) -> None:
        while self.due and self.free:
            self.free.pop().go(*self.due.popleft())

    def unanswered(self) -> list[float]:
        """When those that are due, and those on their way, were to be sent."""
        return [intended for intended, _ in self.due] + [one.intended for one in self.all if one.busy]

    def answered(self, intended: float, *, good: bool) -> None:
        self.open -= 1
        if self.open == 0:
            self.done.set()
        self.bad += not good
        if intended >= self.counts_from:
            self.latencies.append(time.perf_counter() - intended)


class Client(asyncio.Protocol):
    def __init__(self, load: Load) -> None:
        self._load = load
        self.intended = 0.0
        self.busy = False
        self._said = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own, of no class of asyncio's
        self._load.all.append(self)
        self._load.free.append(self)

    def go(self, intended: float, prepared: bytes) -> None:
        assert self._transport is not None
        self.intended, self.busy = intended, True
        self._transport.write(prepared)

    def close(self) -> None:
        assert self._transport is not None
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._said += data
        if whole(self._said):
            good, self._said, self.busy = self._said.startswith(GOOD), b"", False
            self._load.answered(self.intended, good=good)
            self._load.free.append(self)
            self._load.send()

    def connection_lost(self, _: Exception | None) -> None:
        if self.busy:
            self._load.answered(self.intended, good=False)
        elif self in self._load.free:
            self._load.free.remove(self)


async def one_rate(load: Load, prepared: Sequence[bytes], rate: float) -> dict[str, Any]:
    load.latencies, load.bad, load.open = [], 0, len(prepared)
    began = time.perf_counter()
    load.counts_from = began + WARM
    sent = 0
    while sent < len(prepared):
        now = time.perf_counter()
        until = min(len(prepared), int((now - began) * rate) + 1)
        load.due.extend((began + place / rate, prepared[place]) for place in range(sent, until))
        sent = until
        load.send()
        await asyncio.sleep(max(0.001, began + sent / rate - time.perf_counter()))
    ended = time.perf_counter()
    answered = len(load.latencies)
    with suppress(TimeoutError):
        await asyncio.wait_for(load.done.wait(), GRACE)
    now = time.perf_counter()
    # Those that nobody answered have waited until now at least.
    late = [now - intended for intended in load.unanswered() if intended >= load.counts_from]
    unanswered, bad = load.open, load.bad
    waited = sorted([*load.latencies, *late])
    load.due.clear()
    return {
        "rate": rate,
        "answered": len(load.latencies),
        "answered_per_second": answered / (ended - load.counts_from),
        "unanswered": unanswered,
        "bad": bad,
        **{f"p{q}_ms": 1000 * waited[len(waited) * q // 100] for q in (50, 95, 99) if waited},
    }


async def run(args: argparse.Namespace, prepared: Sequence[Sequence[bytes]]) -> None:
    loop = asyncio.get_running_loop()
    for rate, those in zip(args.rates, prepared, strict=True):
        if not await asyncio.to_thread(sys.stdin.readline):
            return
        load = Load()
        for _ in range(args.clients):
            await loop.create_connection(partial(Client, load), "127.0.0.1", args.port)
        print(orjson.dumps(await one_rate(load, those, rate)).decode(), flush=True)
        for client in load.all:
            client.close()


def main() -> None:
    ask = argparse.ArgumentParser()
    for name in ("port", "first", "clients"):
        ask.add_argument(f"--{name}", type=int, required=True)
    ask.add_argument("--rates", type=lambda text: [int(part) for part in text.split(",")], required=True)
    ask.add_argument("--seconds", type=float, required=True)
    ask.add_argument("--source", default=SOURCE)
    args = ask.parse_args()
    first, prepared = args.first, []
    for rate in args.rates:
        prepared.append(requests(first, int(rate * (args.seconds + WARM)), args.source))
        first += len(prepared[-1])
    print(orjson.dumps({"ready": first - args.first}).decode(), flush=True)
    uvloop.run(run(args, prepared))


if __name__ == "__main__":
    main()
