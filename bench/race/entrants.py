"""The routers on real servers, each raced the same way: warm up, undo that, send, and read from the database who got
what, in which order.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast
from urllib.request import Request

import asyncpg
import orjson

from bench.house import NO_PROXY, Failed, House, answers, process
from bench.machine import cpu_seconds
from bench.race.cells import Cell
from bench.race.oracle import Step
from bench.valkey import Valkey
from fairturn.assemble.demo.processes import free_port

PATIENCE = 300.0  # seconds for a queue to be worked off
POLL = 0.01
WARM = 400  # requests before the first race after a rest: statements prepared, code warm; later two a connection


@dataclass(frozen=True, slots=True)
class Run:
    """One burst. `history`: the leads that got a rep, in order."""

    cell: Cell
    history: list[Step]
    unassigned: int
    ms: list[float]  # of each request, until its rep was known: to the caller, or in the database
    answered_ms: list[float]  # until it was answered, whatever the answer said
    seconds: float  # from the first request to the last rep
    cpu: Mapping[str, float]  # seconds, per process
    more: Mapping[str, Any] = field(default_factory=dict)


class Entrant(Protocol):
    name: str

    async def race(self, cell: Cell, interval: float) -> Run:
        """`interval`: seconds between two waves. Raises Failed."""

    async def rest(self) -> None:
        """Hold nothing that others would pay for."""


class Load:
    """The process of bench/race/load.py."""

    def __init__(self, stack: ExitStack, log: Path) -> None:
        command = [sys.executable, "-m", "bench.race.load"]
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._running = stack.enter_context(process(command, log, **options))
        self._first = 0
        self._read()

    async def warm(self, port: int, path: str, cell: Cell, warm: int, interval: float) -> None:
        """Connected, and `warm` requests answered. No two requests of all runs have the same number."""
        command = {"port": port, "path": path, "clients": cell.concurrency, "warm": warm, "requests": cell.requests}
        command |= {"first": self._first, "wave": cell.wave}
        self._first += warm + cell.requests
        self._write(orjson.dumps(command | {"interval": interval}) + b"\n")
        await asyncio.to_thread(self._read)

    async def go(self) -> dict[str, Any]:
        self._write(b"\n")
        said = await asyncio.to_thread(self._read)
        if said["lost"] or set(said["statuses"]) - {"200", "202"}:
            raise Failed(f"answers: {said['statuses']}, connections lost: {said['lost']}")
        return said

    def _write(self, line: bytes) -> None:
        assert self._running.stdin is not None
        self._running.stdin.write(line)
        self._running.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._running.stdout is not None
        line = self._running.stdout.readline()
        if not line:
            raise Failed("the load ended; its last words are in the log")
        return cast("dict[str, Any]", orjson.loads(line))


async def changing(cell: Cell, interval: float, change: Callable[[str, str], Awaitable[None]]) -> None:
    """People come and go, evenly over the burst, as fast as it can be said to the router."""
    began = time.monotonic()
    length = cell.requests / cell.wave * interval if cell.wave else 0.0
    for number, (verb, rep) in enumerate(cell.changes, 1):
        await asyncio.sleep(began + length * number / (len(cell.changes) + 2) - time.monotonic())
        await change(verb, rep)


async def until(done: Callable[[], Awaitable[bool]]) -> float:
    """time.time() when it is, to POLL. Raises Failed."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if await done():
            return time.time()
        await asyncio.sleep(POLL)
    raise Failed("leads still wait for their rep")


class Baseline:
    """A design of designs.py behind server.py, in its own process; `redis_worker` has its worker too."""

    def __init__(self, name: str, home: House, load: Load, connection: asyncpg.Connection, dsn: str) -> None:
        self.name = name
        self._home = home
        self._load = load
        self._connection = connection
        self._dsn = dsn
        self._pids = {"postgresql": home.server.pid}
        self._port = free_port()
        self._opened = 0
        self._warm = self._queued = False

    async def start(self, queue: Valkey | None) -> None:
        """queue: of the design that has one."""
        stack, log = self._home.stack, self._home.log
        command = [sys.executable, "-m", "bench.race.server", "--router", self.name, "--dsn", self._dsn]
        command += ["--port", str(self._port)]
        if queue is not None:
            command += ["--valkey", queue.url]
            work = [sys.executable, "-m", "bench.race.worker", "--dsn", self._dsn, "--valkey", queue.url]
            self._pids |= {"valkey": queue.pid, "worker": stack.enter_context(process(work, log)).pid}
            self._queued = True
        server = stack.enter_context(process(command, log))
        await asyncio.to_thread(answers, self._port, "/", server, log)
        self._pids["server"] = server.pid

    async def race(self, cell: Cell, interval: float) -> Run:
        c = self._connection
        if self._opened != cell.pool:
            await self._tell(f"/open/{cell.pool}")
            self._opened = cell.pool
        await self._members(cell.weights)
        start = await self._last()
        warm = 2 * cell.concurrency if self._warm else WARM
        self._warm = True
        await self._load.warm(self._port, "/lead", cell, warm, interval)
        await self._assigned(start, warm)
        await self._members(cell.weights)  # undone
        base, changed = await self._last(), await c.fetchval("select coalesce(max(id), 0) from membership")
        before = self._cpu()
        coming = asyncio.create_task(changing(cell, interval, self._change))
        said = await self._load.go()
        ended = await self._assigned(base, cell.requests)
        after = self._cpu()
        await coming
        rows = await c.fetch(TAKEN, base)
        if len(rows) != cell.requests or len({row["request"] for row in rows}) != cell.requests:
            raise Failed(f"{self.name}: {cell.requests} requests were sent, {len(rows)} are stored")
        moves = await c.fetch("select at, rep, active from membership where id > $1 order by id", changed)
        return Run(
            cell=cell,
            history=history(rows, moves, cell.weights),
            unassigned=sum(row["rep"] is None for row in rows),
            ms=[row["ms"] for row in rows] if self._queued else said["ms"],
            answered_ms=said["ms"],
            seconds=ended - said["began"] if self._queued else said["seconds"],
            cpu={name: after[name] - was for name, was in before.items()},
            more={"tries": sum(row["tries"] for row in rows)} if self.name == "skip_locked_retry" else {},
        )

    async def rest(self) -> None:
        await self._tell("/close")
        self._opened, self._warm = 0, False

    async def _members(self, weights: Mapping[str, int]) -> None:
        """As nobody had ever got a lead: a row per unit of weight, each waiting longer than the next."""
        c = self._connection
        slots = [rep for rep, weight in weights.items() for _ in range(weight)]
        async with c.transaction():
            await c.execute("delete from reps")
            await c.execute(MEMBERS, slots)
            await c.execute("update counter set n = 0")
        await c.execute("vacuum reps, counter")

    async def _change(self, verb: str, rep: str) -> None:
        await self._connection.execute(CHANGE, rep, verb == "resume")

    async def _last(self) -> int:
        return int(await self._connection.fetchval("select coalesce(max(id), 0) from taken"))

    async def _assigned(self, base: int, count: int) -> float:
        if not self._queued:
            return time.time()

        async def all_there() -> bool:
            return bool(await self._connection.fetchval("select count(*) = $2 from taken where id > $1", base, count))

        async def nearly() -> bool:
            return await self._last() >= base + count

        await until(nearly)
        return await until(all_there)

    async def _tell(self, path: str) -> None:
        def post() -> None:
            with NO_PROXY.open(Request(f"http://127.0.0.1:{self._port}{path}", b""), timeout=60) as answer:
                answer.read()

        await asyncio.to_thread(post)

    def _cpu(self) -> dict[str, float]:
        return {name: cpu_seconds(pid) for name, pid in self._pids.items()}


MEMBERS = """
insert into reps (slot, rep, last_assigned_at)
select slot, rep, 'epoch'::timestamptz + slot * interval '1 second'
from unnest($1::text[]) with ordinality as s (rep, slot)
"""
CHANGE = (
    "with moved as (update reps set active = $2 where rep = $1) insert into membership (rep, active) values ($1, $2)"
)
TAKEN = """
select request, rep, tries, at, (extract(epoch from at - accepted_at) * 1000)::float8 as ms from taken
where id > $1 order by id
"""


def history(rows: Sequence[Any], moves: Sequence[Any], weights: Mapping[str, int]) -> list[Step]:
    """Each lead with those who took turns when it was stored."""
    shares, waiting, steps = dict(weights), list(moves), []
    for row in rows:
        while waiting and waiting[0]["at"] <= row["at"]:
            move = waiting.pop(0)
            shares = {
                rep: weights[rep]
                for rep in weights
                if (rep in shares and rep != move["rep"]) or (rep == move["rep"] and move["active"])
            }
        if row["rep"] is not None:
            steps.append(Step(row["rep"], shares))
    return steps
