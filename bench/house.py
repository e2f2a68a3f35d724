"""Fairturn as its users run it: its own PostgreSQL with the settings that it ships, one process per role."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

import asyncpg
import orjson

from bench import settings
from bench.leads import SOURCE
from bench.machine import cpu_seconds
from fairturn.assemble.demo.processes import free_port
from fairturn.stores.postgres import embedded, migrate

START = 60.0  # seconds
ROOT = Path(__file__).parents[1]
NO_PROXY = build_opener(ProxyHandler({}))


class Failed(Exception):
    """A part did not start, or a run went wrong: its figures would mean nothing."""


@dataclass(slots=True)
class House:
    place: Path
    config: Path
    server: embedded.Embedded
    stack: ExitStack
    log: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, role: str, *more: str) -> int:
        """`fairturn serve --role ROLE` on a port that is given back."""
        port = free_port()
        command = [sys.executable, "-m", "fairturn", "serve", "--config", str(self.config), "--role", role]
        self.processes[role] = self.stack.enter_context(process([*command, "--port", str(port), *more], self.log))
        if role == "intake":
            answers(port, "/readyz", self.processes[role], self.log)
        return port

    def cpu(self) -> dict[str, float]:
        used = {role: cpu_seconds(running.pid) for role, running in self.processes.items()}
        return used | {"postgresql": cpu_seconds(self.server.pid)}

    def ask(self, *arguments: str) -> Any:
        """What `fairturn ... --json` says."""
        command = [sys.executable, "-m", "fairturn", *arguments, "--json", "--config", str(self.config)]
        done = subprocess.run(command, capture_output=True, check=False, cwd=ROOT)
        if done.returncode:
            raise Failed(f"fairturn {' '.join(arguments)}: {done.stdout.decode()} {done.stderr.decode()}")
        return orjson.loads(done.stdout)


@asynccontextmanager
async def house() -> AsyncIterator[House]:
    """A migrated database, empty; roles are started by whoever needs them, and ended here."""
    place = Path(tempfile.mkdtemp(prefix="fairturn-bench-")).resolve()
    config = place / "fairturn.toml"
    try:
        settings.write(config, place / "data")
        server = await embedded.start(place / "data")
        try:
            await migrate.migrate(server.dsn)
            with ExitStack() as stack:
                yield House(place, config, server, stack, place / "log")
        finally:
            await server.stop("fast")
    finally:
        await embedded.discard(place / "data")  # of a start that was interrupted, too
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def process(command: Sequence[str], log: Path, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as output:
        running = subprocess.Popen(command, stderr=output, cwd=ROOT, env=dict(os.environ), **options)
    try:
        yield running
    finally:
        if running.poll() is None:
            running.terminate()
            try:
                running.wait(45)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()


def answers(port: int, path: str, running: subprocess.Popen[bytes], log: Path) -> None:
    """Returns once the server does. Raises Failed."""
    until = time.monotonic() + START
    while time.monotonic() < until and running.poll() is None:
        with suppress(URLError, OSError), NO_PROXY.open(f"http://127.0.0.1:{port}{path}", timeout=2):
            return
        time.sleep(0.05)
    raise Failed(f"no answer on port {port}:\n{log.read_text('utf-8', 'replace')[-2000:]}")


class Sender:
    """The process of bench/sender.py, its requests prepared."""

    def __init__(self, running: subprocess.Popen[bytes]) -> None:
        self._running = running
        self.said()

    def go(self) -> None:
        assert self._running.stdin is not None
        self._running.stdin.write(b"\n")
        self._running.stdin.flush()

    def said(self) -> dict[str, Any]:
        assert self._running.stdout is not None
        line = self._running.stdout.readline()
        if not line:
            raise Failed("the sender ended; its last words are in the log")
        found: dict[str, Any] = orjson.loads(line)
        return found


@contextmanager
def sender(
    port: int,
    log: Path,
    *,
    first: int,
    requests: int,
    clients: int,
    seconds: float | None = None,
    source: str = SOURCE,
) -> Iterator[Sender]:
    command = [sys.executable, "-m", "bench.sender", "--port", str(port), "--first", str(first)]
    command += ["--requests", str(requests), "--clients", str(clients), "--source", source]
    command += ["--seconds", str(seconds)] if seconds is not None else []
    with process(command, log, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        yield Sender(running)


async def until_routed(connection: asyncpg.Connection, seconds: float = 600) -> float:
    """time.time() when no event waits any more, to some 10 ms. Raises Failed."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not await connection.fetchval("select exists (select from event where state = 'pending')"):
            return time.time()
        await asyncio.sleep(0.02)
    raise Failed("events still wait to be routed")
