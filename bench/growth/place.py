"""One installation with a past: its own PostgreSQL, filled, an intake and a worker."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from bench.growth.fill import alike, fill
from bench.growth.load import CLIENTS, load, requests
from bench.house import Failed, House, house, process, until_routed
from bench.sender import run
from bench.settings import DESTINATION
from fairturn.assemble.demo.processes import free_port
from fairturn.assemble.operator import operator
from fairturn.operate import destinations
from fairturn.views import By

UPDATES = 0.2  # of the events of a round are about people of before
WARM = 200


@dataclass(slots=True)
class Place:
    """`next`: the first number of a lead that was not there yet."""

    home: House
    connection: asyncpg.Connection
    port: int
    base: int
    next: int
    fill_s: float

    def cpu(self) -> dict[str, float]:
        return self.home.cpu()

    async def send(self, events: int, updates: float = UPDATES, *, held: bool = False) -> dict[str, Any]:
        """So many events, until the last is routed: {"seconds", "cpu_s", "wal_bytes"}. Raises Failed.

        `held`: the worker stands still until all are answered; seconds and processor time count from then on.
        """
        with load(self.port, self.home.log, **self._numbers(events, updates)) as sender:
            return await self._sent(sender, events, held=held)

    async def few(self, events: int) -> None:
        """So many events, until the last is routed, without a process of its own and without a clock."""
        worker = self.home.processes["worker"]
        prepared = requests(**self._numbers(events, UPDATES))
        worker.send_signal(signal.SIGSTOP)
        said = await run(self.port, prepared, min(events, CLIENTS), None)
        worker.send_signal(signal.SIGCONT)
        await until_routed(self.connection)
        taken(said, events)

    def _numbers(self, events: int, updates: float) -> dict[str, int]:
        old, first = min(round(events * updates), self.base), self.next
        self.next += events - old
        return {"base": self.base, "first": first, "fresh": events - old, "updates": old}

    async def _sent(self, sender: Any, events: int, *, held: bool) -> dict[str, Any]:
        worker, c = self.home.processes["worker"], self.connection
        if held:
            worker.send_signal(signal.SIGSTOP)
        before, wal = self.cpu(), await c.fetchval("select pg_current_wal_insert_lsn()::text")
        sender.go()
        said = await asyncio.to_thread(sender.said)
        began, peak = said["began"], memory(self.home.processes["intake"].pid)
        if held:
            before, began = self.cpu(), time.time()
            worker.send_signal(signal.SIGCONT)
        ended = await until_routed(c)
        after = self.cpu()
        taken(said, events)
        return {
            "seconds": ended - began,
            "cpu_s": {name: after[name] - was for name, was in before.items()},
            "wal_bytes": int(await c.fetchval("select pg_current_wal_insert_lsn() - $1::text::pg_lsn", wal)),
            "intake_mb": peak,
        }


def taken(said: dict[str, Any], events: int) -> None:
    if said["bad"] or said["answered"] != events:
        raise Failed(f"{events} events were sent, {said['answered']} answered, {said['bad']} of them not 202")


@asynccontextmanager
async def place(base: int) -> AsyncIterator[Place]:
    """Filled with `base` leads, its destination paused, warm. Raises Failed."""
    async with house() as home:
        port = home.start("intake")  # which applies the settings
        async with operator(home.config) as op:
            # The ledger takes every change, and no CRM is asked: what a CRM takes is another measurement.
            await destinations.pause(op.acts, DESTINATION, By("bench", "measuring"))
        began = time.monotonic()
        await fill(home.server.dsn, base)
        took = time.monotonic() - began
        worker(home)
        connection = await asyncpg.connect(home.server.dsn)
        try:
            found = Place(home, connection, port, base, base, took)
            last = await connection.fetchval("select max(id) from lead")
            await found.few(WARM)
            await alike(connection, last)
            yield found
        finally:
            await connection.close()


def worker(home: House) -> None:
    """As House.start, but for its standard output: the console's lines are a destination here."""
    command = [sys.executable, "-m", "fairturn", "serve", "--config", str(home.config), "--role", "worker"]
    command += ["--port", str(free_port())]
    running = process(command, home.log, stdout=subprocess.DEVNULL)
    home.processes["worker"] = home.stack.enter_context(running)


def memory(pid: int) -> float | None:
    """Megabytes of RAM that the process has held at most; None where /proc does not tell."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return None
    line = next((line for line in status.read_text().splitlines() if line.startswith("VmHWM:")), None)
    return None if line is None else int(line.split()[1]) / 1024
