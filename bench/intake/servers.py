"""Who is measured: each a process of its own, all on the same machine at once, only one of them busy."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass

import asyncpg

from bench import valkey
from bench.bare import PREPARE
from bench.house import NO_PROXY, House, answers, house, process
from bench.leads import SOURCE
from bench.machine import cpu_seconds
from fairturn.assemble.demo.processes import free_port

CHAT = "chat"  # the sync lane's source, else as the other
NAMES = (
    "echo", "echo_fast", "echo_starlette", "insert", "skip_locked", "skip_locked_kept", "fairturn", "fairturn_sync",
    "fairturn_valkey",
)  # fmt: skip
SESSIONS = 150  # at most of a pool, of PostgreSQL's 200
DATABASE = "bare"  # of those who are none of ours


@dataclass(frozen=True, slots=True)
class Server:
    name: str
    port: int
    processes: Mapping[str, int]  # what its work costs -> pid, with its children
    source: str = SOURCE
    durable: bool = False  # a request sent again would be one that is there
    pooled: bool = False

    def cpu(self) -> dict[str, float]:
        return {what: cpu_seconds(pid) for what, pid in self.processes.items()}

    @contextmanager
    def open(self, connections: int) -> Iterator[None]:
        """Its connections to PostgreSQL, as many as it has clients, are there."""
        if not self.pooled:
            yield
            return
        self._ask(f"/open/{min(connections, SESSIONS)}")
        try:
            yield
        finally:
            self._ask("/close")

    def _ask(self, path: str) -> None:
        with NO_PROXY.open(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
            answer.read()


@asynccontextmanager
async def field_of(names: Sequence[str]) -> AsyncIterator[tuple[House, list[Server]]]:
    """Those named, in the order of NAMES."""
    async with AsyncExitStack() as stack:
        home = await stack.enter_async_context(house())
        found: dict[str, Server] = {}
        for name in names:
            if name.startswith("echo"):
                found[name] = echo(home, name)
            elif name in {"insert", "skip_locked", "skip_locked_kept"}:
                found[name] = await bare(home, name, await database(home))
        if {"fairturn", "fairturn_sync"} & set(names):
            found |= ours(home)
        if "fairturn_valkey" in names:
            found["fairturn_valkey"] = await fronted(stack)
        yield home, [found[name] for name in NAMES if name in names]


def echo(home: House, name: str) -> Server:
    more = ["-m", "bench.bare", name] if name == "echo_starlette" else ["-m", "bench.echo"]
    port = free_port()
    fast = ["--fast"] if name == "echo_fast" else []
    running = home.stack.enter_context(process([sys.executable, *more, str(port), *fast], home.log))
    answers(port, "/", running, home.log)
    return Server(name, port, {"server": running.pid})


async def database(home: House) -> str:
    """A database of their own in our PostgreSQL: the same settings, fsync on."""
    admin = await asyncpg.connect(home.server.dsn_of("postgres"))
    try:
        if not await admin.fetchval("select exists (select from pg_database where datname = $1)", DATABASE):
            await admin.execute(f'create database "{DATABASE}" template template1')
            connection = await asyncpg.connect(home.server.dsn_of(DATABASE))
            await connection.execute(PREPARE)
            await connection.close()
    finally:
        await admin.close()
    return home.server.dsn_of(DATABASE)


async def bare(home: House, name: str, dsn: str) -> Server:
    port = free_port()
    command = [sys.executable, "-m", "bench.bare", name, str(port), dsn]
    running = home.stack.enter_context(process(command, home.log))
    answers(port, "/close", running, home.log)
    return Server(name, port, {"server": running.pid, "postgresql": home.server.pid}, pooled=True)


def ours(home: House) -> dict[str, Server]:
    """One process for both lanes."""
    text = home.config.read_text()
    _, rest = text.split(f"[sources.{SOURCE}]\n", 1)
    source = rest.split("\n[", 1)[0]
    home.config.write_text(f'{text}\n[sources.{CHAT}]\nlane = "sync"\n{source}\n')
    port = home.start("intake")
    used = {"server": home.processes["intake"].pid, "postgresql": home.server.pid}
    return {
        "fairturn": Server("fairturn", port, used, durable=True),
        "fairturn_sync": Server("fairturn_sync", port, used, source=CHAT, durable=True),
    }


async def fronted(stack: AsyncExitStack) -> Server:
    """Another house, whose intake has a Valkey before its PostgreSQL."""
    running = stack.enter_context(valkey.valkey())
    home = await stack.enter_async_context(house())
    text = home.config.read_text()
    home.config.write_text(f'journal = "valkey"\nvalkey_url = "{running.url}"\n{text}')
    port = home.start("intake")
    pids = {"server": home.processes["intake"].pid, "postgresql": home.server.pid, "valkey": running.pid}
    return Server("fairturn_valkey", port, pids, durable=True)
