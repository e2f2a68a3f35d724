"""`fairturn serve`: one OS process per role, watched by the one that started them."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import structlog
import uvloop

from fairturn.assemble import logs, places, roles
from fairturn.assemble.plans import load_file, put_in_force
from fairturn.assemble.stopping import CHILD, stop_signal
from fairturn.operate.loaded import Loaded
from fairturn.stores.postgres.database import Database

log = structlog.get_logger(__name__)
Role = Literal["intake", "worker"]
ROLES: Sequence[Role] = ("worker", "intake")
SOON = 5.0  # seconds: a child that ends sooner than this after its start waits before the next one
PATIENCE = 40.0  # seconds that a child gets to finish its request in flight


def serve(config: Path, role: Role | None, host: str | None, port: int | None, actor: str) -> None:
    """Until SIGTERM or SIGINT. Raises FairturnError when it cannot start."""
    logs.configure(role or "serve")
    loaded = load_file(config, os.environ)
    for fault in loaded.faults:
        log.warning("settings", finding=str(fault))
    where = (host or loaded.settings.server.host, loaded.settings.server.port if port is None else port)
    uvloop.run(_serve_role(loaded, role, *where, actor) if role else _serve_all(loaded, *where, actor))


async def _serve_role(loaded: Loaded, role: Role, host: str, port: int, actor: str) -> None:
    stop = stop_signal()
    dsn = await places.running(loaded.settings, os.environ)
    if places.HANDED_DOWN not in os.environ:
        await _apply(dsn, loaded, actor)
    if role == "intake":
        await roles.intake(dsn, host, port, os.environ, stop)
    else:
        await roles.worker(dsn, os.environ, stop)


async def _serve_all(loaded: Loaded, host: str, port: int, actor: str) -> None:
    stop = stop_signal()
    async with places.owned(loaded.settings, os.environ) as dsn:
        await _apply(dsn, loaded, actor)
        env = {**os.environ, places.HANDED_DOWN: dsn, CHILD: "1"}
        children = [Child(role, _command(role, loaded.path, host, port), env) for role in ROLES]
        log.info("serving", url=f"http://{host}:{port}", sources=[f"/in/{name}" for name in loaded.settings.sources])
        watching = [asyncio.create_task(child.keep(stop)) for child in children]
        await stop.wait()
        await asyncio.gather(*watching)


async def _apply(dsn: str, loaded: Loaded, actor: str) -> None:
    async with Database(dsn, size=1) as database:
        await put_in_force(database, loaded, actor)


def _command(role: Role, config: Path, host: str, port: int) -> list[str]:
    program = [sys.executable, "-m", "fairturn", "serve", "--config", str(config.resolve()), "--role", role]
    return [*program, "--host", host, "--port", str(port)]


@dataclass
class Child:
    """A process of one role, started again when it ends before we do."""

    role: Role
    command: Sequence[str]
    env: Mapping[str, str]
    process: asyncio.subprocess.Process | None = field(default=None, init=False)

    async def keep(self, stop: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        stopping = asyncio.create_task(stop.wait())
        while not stop.is_set():
            began = loop.time()
            # The pipe is its lifeline: when we die without a word, its end closes and the child stops by itself.
            self.process = await asyncio.create_subprocess_exec(
                *self.command, env=dict(self.env), stdin=asyncio.subprocess.PIPE
            )
            ended = asyncio.create_task(self.process.wait())
            await asyncio.wait({ended, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if stop.is_set():
                break
            log.warning("child.ended", role=self.role, code=ended.result())
            if loop.time() - began < SOON:
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), SOON)
        stopping.cancel()
        await self.end()

    async def end(self) -> None:
        process = self.process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), PATIENCE)
        except TimeoutError:
            log.warning("child.killed", role=self.role)
            process.kill()
            await process.wait()
