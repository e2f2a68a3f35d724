"""What the demo starts: processes of its own session, so that Ctrl-C reaches us alone and we end them in order.

Each holds its end of a pipe from us: when we are killed without a word, it closes, and they end by themselves.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import orjson

from fairturn.assemble.demo.crm import Crm
from fairturn.assemble.places import HANDED_DOWN
from fairturn.assemble.stopping import CHILD
from fairturn.errors import FairturnError, StoreError
from fairturn.stores.postgres import embedded

START: Final = 120.0  # seconds; initdb on a slow disk
STOP: Final = 45.0  # `serve` gives its own children 40


class DemoFailed(FairturnError):
    """A part of the demo did not start, or ended; with the last words of its log."""


@dataclass(frozen=True, slots=True)
class Process:
    name: str
    running: asyncio.subprocess.Process
    log: Path

    def check(self) -> None:
        """Raises DemoFailed when it has ended."""
        if self.running.returncode is not None:
            raise DemoFailed(f"{self.name} ended (exit code {self.running.returncode}).{self.last_words()}")

    def last_words(self, lines: int = 12) -> str:
        with suppress(OSError):
            said = self.log.read_text("utf-8", "replace").strip().splitlines()[-lines:]
            return "\n" + "\n".join(said) if said else " It said nothing."
        return ""

    async def end(self) -> None:
        if self.running.returncode is not None:
            return
        self.running.terminate()
        try:
            await asyncio.wait_for(self.running.wait(), STOP)
        except TimeoutError:
            self.running.kill()
            await self.running.wait()


@asynccontextmanager
async def folder() -> AsyncIterator[Path]:
    """A temporary folder that only we may enter. PostgreSQL, if it was left running in it, is stopped first."""
    place = Path(tempfile.mkdtemp(prefix="fairturn-demo-")).resolve()
    try:
        yield place
    finally:
        with suppress(StoreError):
            await embedded.discard(place / "data")
        shutil.rmtree(place, ignore_errors=True)


@asynccontextmanager
async def started(
    name: str, command: Sequence[str], env: Mapping[str, str], log: Path, *, ready_line: bool = False
) -> AsyncIterator[Process]:
    with log.open("ab") as output:
        running = await asyncio.create_subprocess_exec(
            *command,
            env=dict(env),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE if ready_line else output,
            stderr=output,
            start_new_session=True,
        )
    process = Process(name, running, log)
    try:
        yield process
    finally:
        await process.end()


@dataclass(frozen=True, slots=True)
class Simulator:
    process: Process
    url: str
    control: str


def require_simulator() -> None:
    """Raises DemoFailed where crmsim is not installed: it is a distribution of its own."""
    if importlib.util.find_spec("crmsim") is None:
        raise DemoFailed(
            "The demo writes into a simulated CRM, and crmsim is not installed. In a checkout: make demo, or "
            "pip install ./sims"
        )


@asynccontextmanager
async def simulator(
    place: Path, crm: Crm, seed: Mapping[str, object], *, seconds: float, per_record: float, rng: int, keep: int
) -> AsyncIterator[Simulator]:
    """crmsim on a free port. `keep`: requests of which it keeps the evidence."""
    org = place / "org.json"
    org.write_bytes(orjson.dumps(seed))
    own = {"port": 0, "seed-file": org, "latency": seconds, "latency-per-record": per_record}
    about = [f"{crm.option}{name}={value}" for name, value in own.items()]
    command = [sys.executable, "-m", "crmsim", "serve", "--exit-with-parent", "--rng-seed", str(rng),
               "--evidence-requests", str(keep), *about]  # fmt: skip
    env = {**os.environ, **{variable: (place / name).read_text() for name, variable in crm.secrets.items()}}
    async with started("crmsim", command, env, place / "crmsim.log", ready_line=True) as process:
        assert process.running.stdout is not None  # noqa: S101 - asked for with ready_line
        try:
            line = await asyncio.wait_for(process.running.stdout.readline(), START)
            ready: dict[str, Any] = orjson.loads(line)
        except (TimeoutError, orjson.JSONDecodeError):
            raise DemoFailed(f"crmsim did not start.{process.last_words()}") from None
        yield Simulator(process, ready[crm.name], ready[crm.controls])


@asynccontextmanager
async def fairturn(config: Path, place: Path, url: str) -> AsyncIterator[Process]:
    """`fairturn serve`, once its door says that an event can be stored."""
    env = {name: value for name, value in os.environ.items() if name != HANDED_DOWN} | {CHILD: "1"}
    command = [sys.executable, "-m", "fairturn", "serve", "--config", str(config)]
    async with started("fairturn serve", command, env, place / "serve.log") as process:
        await _ready(process, url)
        yield process


async def _ready(process: Process, url: str) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + START
    async with httpx2.AsyncClient(trust_env=False, timeout=5) as client:
        while loop.time() < deadline:
            process.check()
            with suppress(httpx2.HTTPError):
                if (await client.get(f"{url}/readyz")).status_code == 200:
                    return
            await asyncio.sleep(0.1)
    raise DemoFailed(f"Fairturn was not ready within {START:g} s.{process.last_words()}")


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def ask(command: str, config: Path) -> dict[str, Any]:
    """What `fairturn COMMAND --json` says of this demo, as anybody could ask it. Raises DemoFailed."""
    env = {name: value for name, value in os.environ.items() if name not in {HANDED_DOWN, CHILD}}
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "fairturn", command, "--json", "--config", str(config)),
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        said, complaint = await running.communicate()
    except asyncio.CancelledError:
        running.kill()
        await running.wait()
        raise
    try:
        found: dict[str, Any] = orjson.loads(said)
    except orjson.JSONDecodeError:
        words = complaint.decode("utf-8", "replace").strip()
        raise DemoFailed(f"fairturn {command} did not answer (exit code {running.returncode}). {words}") from None
    return found
