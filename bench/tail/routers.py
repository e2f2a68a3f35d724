"""The ways of writing that are compared, each as the processes that a user of it would run."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import httpx2

from bench.house import START, Failed
from bench.tail import settings
from bench.tail.simulated import Simulator
from bench.valkey import valkey
from fairturn.assemble.demo.processes import Process, fairturn, free_port, started
from fairturn.errors import StoreError
from fairturn.stores.postgres import embedded
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.progress import PostgresProgress

LOOK: Final = 0.1  # seconds

T = TypeVar("T")
Kind = Literal["sync", "redis_microbatch", "fairturn"]


@dataclass(frozen=True, slots=True)
class Model:
    """`name`: as the figures call it. `window`: the destination's settings."""

    name: str
    kind: Kind
    timer: float | None = None  # seconds between two departures, where a clock makes them
    linger: float | None = None
    window: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Router:
    url: str
    settled: Callable[[], Awaitable[bool]]  # whether nothing is left to be told to the CRM
    progress: Callable[[], Awaitable[object]]  # another value as long as something moves


def fixed(every: float) -> Model:
    return Model(f"fairturn fixed {every:g}", "fairturn", timer=every, window={"window": "fixed", "every": every})


def adaptive(linger: float, crm: str) -> Model:
    """With look-ups as often as writes; in HubSpot, where each counts more, a fourth less often, as in the demo."""
    apart = 1.25 * linger if crm == "hubspot" else linger
    window = {"window": "adaptive", "linger": linger, "lookup_linger": apart}
    return Model("fairturn adaptive", "fairturn", linger=linger, window=window)


@asynccontextmanager
async def router(model: Model, simulator: Simulator, place: Path) -> AsyncIterator[Router]:
    """Ready for the burst. Raises Failed."""
    if model.kind == "fairturn":
        async with _fairturn(model, simulator, place) as found:
            yield found
        return
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    module = {"sync": "sync", "redis_microbatch": "microbatch"}[model.kind]
    command = [sys.executable, "-m", f"bench.tail.{module}", "--port", str(port)]
    command += ["--crm", simulator.vendor.name, "--url", simulator.url]
    with ExitStack() as stack:
        if model.kind == "redis_microbatch":
            server = await asyncio.to_thread(stack.enter_context, valkey())
            command += ["--valkey", server.url, "--timer", str(model.timer)]
        async with started(model.kind, command, os.environ, place / "handler.log") as process:
            await _ready(process, url)
            yield Router(url, lambda: _handled(model, simulator, url), lambda: simulator.get("/summary"))


async def _ready(process: Process, url: str) -> None:
    until = time.monotonic() + START
    async with httpx2.AsyncClient(trust_env=False, timeout=5) as client:
        while time.monotonic() < until:
            process.check()
            with suppress(httpx2.HTTPError):
                if (await client.get(f"{url}/readyz")).status_code == 200:
                    return
            await asyncio.sleep(LOOK)
    raise Failed(f"{process.name} was not ready within {START:g} s.{process.last_words()}")


async def _handled(model: Model, simulator: Simulator, url: str) -> bool:
    if model.kind == "redis_microbatch":
        async with httpx2.AsyncClient(trust_env=False, timeout=30) as client:
            if (await client.get(f"{url}/waiting")).json()["waiting"]:
                return False
    return await simulator.quiet()


async def _asked(server: Process, question: Coroutine[Any, Any, T]) -> T:
    """Where PostgreSQL is gone, `serve` mostly ended before it, and knows why. Raises Failed."""
    try:
        return await question
    except StoreError as error:
        raise Failed(f"{error} {server.last_words()}") from error


@asynccontextmanager
async def _fairturn(model: Model, simulator: Simulator, place: Path) -> AsyncIterator[Router]:
    port, name = free_port(), settings.DESTINATION
    url, org = f"http://127.0.0.1:{port}", str((await simulator.get("/summary"))[simulator.vendor.org])
    vendor = simulator.vendor.name
    config = settings.write(place, vendor, url=simulator.url, org=org, port=port, window=model.window)
    try:
        async with fairturn(config, place, url) as server:
            dsn = (await embedded.attach(place / "data")).dsn
            async with Database(dsn, size=1) as database:
                progress = PostgresProgress(database)
                until = time.monotonic() + START
                while not await _asked(server, progress.served(name)):
                    if time.monotonic() > until:
                        raise Failed(f"no worker delivers.{server.last_words()}")
                    await asyncio.sleep(LOOK)

                async def settled() -> bool:
                    found = await _asked(server, progress.standing(name))
                    return not (found.unrouted or found.signals or found.open or found.leads.get("waiting"))

                yield Router(url, settled, lambda: _asked(server, progress.standing(name)))
    finally:
        with suppress(StoreError):
            await embedded.discard(place / "data")
