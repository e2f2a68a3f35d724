"""`fairturn serve`: one OS process per role, watched by the one that started them."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import structlog
import uvloop

from fairturn.assemble import logs, places
from fairturn.assemble.children import Child
from fairturn.assemble.listening import free
from fairturn.assemble.plans import load_file, put_in_force
from fairturn.assemble.stopping import CHILD, TRY_AGAIN, UP, has_parent, report, stop_signal
from fairturn.errors import FairturnError, NotServing, StoreUnavailable
from fairturn.operate.loaded import Loaded
from fairturn.operate.secrets import beside
from fairturn.stores.postgres.database import Database

log = structlog.get_logger(__name__)
Role = Literal["intake", "worker"]
MOMENT = 3.0  # seconds that a port may take to become free
ROLES: Sequence[Role] = ("worker", "intake")
CANNOT = 3  # the exit code of a child that told its parent why it cannot start


def serve(config: Path, role: Role | None, host: str | None, port: int | None, actor: str) -> None:
    """Until SIGTERM or SIGINT. Raises FairturnError when it cannot start."""
    try:
        _serve(config, role, host, port, actor)
    except StoreUnavailable as error:
        if not has_parent():
            raise
        # PostgreSQL restarts just now: our parent, who reached it a moment ago, starts us again.
        log.warning("store_unavailable", error=str(error))
        raise SystemExit(TRY_AGAIN) from None
    except FairturnError as error:
        if not report(str(error)):  # nobody started us but a person
            raise
        raise SystemExit(CANNOT) from None


def _serve(config: Path, role: Role | None, host: str | None, port: int | None, actor: str) -> None:
    logs.configure(role or "serve")
    env = beside(config, os.environ)
    loaded = load_file(config, env)
    for fault in () if places.HANDED_DOWN in env else loaded.faults:  # our parent has told them
        log.warning("settings", finding=str(fault))
    where = (host or loaded.settings.server.host, loaded.settings.server.port if port is None else port)
    uvloop.run(_serve_role(loaded, env, role, *where, actor) if role else _serve_all(loaded, env, *where, actor))


async def _serve_role(loaded: Loaded, env: Mapping[str, str], role: Role, host: str, port: int, actor: str) -> None:
    from fairturn.assemble import roles  # noqa: PLC0415  their parent needs nothing of it: 0.1 s of its start

    stop = stop_signal()
    dsn = await places.running(loaded.settings, env)
    if places.HANDED_DOWN not in env:
        await _apply(dsn, loaded, actor)
    if role == "intake":
        await roles.intake(dsn, host, port, env, stop, up)
    else:
        await roles.worker(dsn, env, stop, up)


def up() -> None:
    report(UP)


async def _serve_all(loaded: Loaded, env: Mapping[str, str], host: str, port: int, actor: str) -> None:
    stop = stop_signal()
    await _until_free(host, port)
    async with places.owned(loaded.settings, env) as dsn:
        await _apply(dsn, loaded, actor)
        handed = {**os.environ, places.HANDED_DOWN: dsn, CHILD: "1"}
        children = [Child(role, _command(role, loaded.path, host, port), handed) for role in ROLES]
        log.info("serving", url=f"http://{host}:{port}", sources=[f"/in/{name}" for name in loaded.settings.sources])
        watching = [asyncio.create_task(child.keep(stop)) for child in children]
        # All stay until we stop; one that cannot start stops the others, and then us with its words.
        await asyncio.wait(watching, return_when=asyncio.FIRST_EXCEPTION)
        stop.set()
        await asyncio.gather(*watching)
    log.info("stopped")


async def _until_free(host: str, port: int) -> None:
    """An intake whose parent was killed -9 stops listening within a moment: the next start waits for that one."""
    loop = asyncio.get_running_loop()
    until = loop.time() + MOMENT
    while True:
        try:
            return free(host, port)
        except NotServing:
            if loop.time() > until:
                raise
            await asyncio.sleep(0.1)


async def _apply(dsn: str, loaded: Loaded, actor: str) -> None:
    async with Database(dsn, size=1) as database:
        await put_in_force(database, loaded, actor)


def _command(role: Role, config: Path, host: str, port: int) -> list[str]:
    there = str(config.expanduser().absolute())
    program = [sys.executable, "-m", "fairturn", "serve", "--config", there]
    return [*program, "--role", role, "--host", host, "--port", str(port)]
