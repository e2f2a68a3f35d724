"""Fairturn as its users run it: processes of the operating system, started, killed, stopped and left behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import httpx2

from fairturn.stores.postgres import embedded

PATIENCE = 45.0  # seconds until a condition that never comes is a failure
LOOK = 0.05  # seconds between two looks at it


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def until(what: str, holds: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """What `holds` gives, once it is true."""
    last: Any = None
    try:
        async with asyncio.timeout(seconds):
            while True:
                last = holds()
                if asyncio.iscoroutine(last):
                    last = await last
                if last:
                    return last
                await asyncio.sleep(LOOK)
    except TimeoutError:
        raise AssertionError(f"{what}: not within {seconds:g} s") from None


@dataclass(slots=True)
class House:
    """One configuration and the processes on it. `data`: its embedded PostgreSQL; else `database` is a DSN."""

    place: Path
    config: Path
    port: int
    data: Path | None
    database: str | None
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _kept: asyncpg.Connection | None = None
    _asked: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def env(self) -> dict[str, str]:
        ours = {"JOURNEY_CRM_ID": "crmsim-client", "JOURNEY_CRM_SECRET": "crmsim-secret"}
        if self.database:
            ours["JOURNEY_DATABASE"] = self.database
        return os.environ | ours

    @property
    def log(self) -> str:
        """What the processes said so far."""
        return (self.place / "log").read_text("utf-8", "replace")

    def spawn(self, *more: str, port: int | None = None) -> subprocess.Popen[bytes]:
        """`fairturn serve`, with these arguments; its children write to the same log."""
        command = [sys.executable, "-m", "fairturn", "serve", "--config", str(self.config)]
        command += [*more, "--port", str(port or self.port)]
        with (self.place / "log").open("ab") as log:
            process = subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    async def serve(self, *more: str) -> subprocess.Popen[bytes]:
        """Up, and the door says that it could store an event now."""
        process = self.spawn(*more)
        await self.ready(process)
        return process

    async def again(self, process: subprocess.Popen[bytes], number: int, *more: str) -> subprocess.Popen[bytes]:
        """Ended by this signal, and started at once."""
        await self.stop(process, number)
        return self.spawn(*more)

    async def ready(self, process: subprocess.Popen[bytes] | None = None, port: int | None = None) -> None:
        async with httpx2.AsyncClient(timeout=5, trust_env=False, verify=False) as http:

            async def looks_ready() -> bool:
                assert process is None or process.poll() is None, self.log[-3000:]
                with contextlib.suppress(httpx2.TransportError):
                    return (await http.get(f"http://127.0.0.1:{port or self.port}/readyz")).status_code == 200
                return False

            await until("the door is ready", looks_ready)

    async def stop(self, process: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> int:
        """Signal it, and wait for its end. The exit code."""
        process.send_signal(number)
        return int(await asyncio.to_thread(process.wait, PATIENCE))

    async def cli(self, *arguments: str) -> Any:
        """What a command says with --json. It must succeed."""
        code, said, complaint = await self.command(*arguments, "--json")
        assert code == 0, f"{arguments}: {code}\n{said}\n{complaint}"
        return json.loads(said)

    async def command(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "fairturn", *arguments, "--config", str(self.config)),
            env=self.env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        said, complaint = await process.communicate()
        return process.returncode or 0, said.decode(), complaint.decode()

    async def dsn(self) -> str:
        if self.database:
            return self.database
        assert self.data is not None
        found = (await embedded.status(self.data)).dsn
        assert found, "no PostgreSQL answers"
        return found

    @contextlib.asynccontextmanager
    async def ledger(self) -> AsyncIterator[asyncpg.Connection]:
        """Our own session, one after the other. It is kept: one for each look would cost more than what it looks at."""
        async with self._asked:
            if self._kept is None or self._kept.is_closed():
                self._kept = await asyncpg.connect(await self.dsn())
            yield self._kept

    async def ask(self, sql: str, *given: Any) -> Any:
        async with self.ledger() as connection:
            return await connection.fetchval(sql, *given)

    def left(self) -> dict[int, str]:
        """Our processes that still run, and their children: pid -> command."""
        return {pid: command for pid, _, command in processes() if str(self.config) in command}

    async def close(self) -> None:
        """Stop everything; nothing may be left but what was killed."""
        if self._kept is not None:
            self._kept.terminate()
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in self.processes:
            await asyncio.to_thread(process.wait, PATIENCE)
        await until("children end with their parent", lambda: not self.left())


def processes(of: int | None = None) -> list[tuple[int, int, str]]:
    """(pid, parent, command) of every process that is no zombie; `of`: where Linux tells, of this one's children."""
    found = []
    told = Path(f"/proc/{of}/task/{of}/children")
    if told.exists():
        there = [Path(f"/proc/{pid}") for pid in told.read_text().split()]
    else:
        there = list(Path("/proc").glob("[0-9]*"))
    for place in there:
        with contextlib.suppress(OSError):
            state, parent = (place / "stat").read_text().rpartition(")")[2].split()[:2]
            command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            if state != "Z":
                found.append((int(place.name), int(parent), command))
    if found or Path("/proc/self").exists():
        return found
    listed = subprocess.run(["ps", "-axo", "pid=,ppid=,command="], capture_output=True, text=True, check=True)
    rows = (line.split(None, 2) for line in listed.stdout.splitlines())
    return [(int(row[0]), int(row[1]), row[2] if len(row) > 2 else "") for row in rows]


def child(process: subprocess.Popen[bytes], role: str) -> int | None:
    """The pid of the supervisor's child of this role."""
    for pid, parent, command in processes(process.pid):
        if parent == process.pid and f"--role {role}" in command:
            return pid
    return None
