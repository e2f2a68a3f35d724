"""One process, one role. `intake` takes webhooks, `worker` routes and delivers."""

from __future__ import annotations

import asyncio
import gc
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path

import uvicorn

from fairturn.assemble import places
from fairturn.assemble.deliveries import deliveries
from fairturn.assemble.plans import in_force, plans
from fairturn.config import Hmac, Settings, SharedSecret
from fairturn.flow.accept import Accept, Bounds
from fairturn.flow.engine import Engine, Station
from fairturn.flow.station import RouteStation, SyncLane
from fairturn.flow.sweep import Sweep
from fairturn.intake.app import build
from fairturn.operate.secrets import secret
from fairturn.stores.postgres.broom import PostgresBroom
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.journal import PostgresJournal
from fairturn.stores.postgres.router import PostgresRouter
from fairturn.stores.postgres.wake import Listener

GRACE = 10  # seconds that open requests get when we stop


class Server(uvicorn.Server):
    """uvicorn without signal handlers: the process decides when it stops."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def source_secrets(settings: Settings, env: Mapping[str, str]) -> dict[str, tuple[bytes, ...]]:
    """Raises ConfigError for a secret that is missing or empty."""
    return {
        name: tuple(secret(ref, env).encode() for ref in source.verify.secrets)
        for name, source in settings.sources.items()
        if isinstance(source.verify, Hmac | SharedSecret)
    }


def bounds(settings: Settings) -> Bounds:
    return Bounds(max_unrouted=settings.server.max_unrouted, min_disk=settings.server.min_disk)


def free_disk(settings: Settings) -> Callable[[], int] | None:
    """MiB left where our own PostgreSQL writes; None where the database is somebody else's."""
    if settings.database_url is not None:
        return None
    folder = places.data_dir(settings)
    there = next((place for place in (folder, *folder.parents) if place.exists()), Path("/"))
    return lambda: shutil.disk_usage(there).free // 1_048_576


async def intake(dsn: str, host: str, port: int, env: Mapping[str, str], stop: asyncio.Event) -> None:
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(Database(dsn, size=4))
        _, loaded = await in_force(database, env)
        settings = loaded.settings
        journal = PostgresJournal(database)
        listener = Listener(dsn)
        station = RouteStation(PostgresRouter(database, actor="sync"), await plans(database, env))
        lane = SyncLane(station, journal, listener.bell("fairturn_change"))
        await stack.enter_async_context(listener)
        accept = await stack.enter_async_context(Accept(journal, bounds(settings), free_disk=free_disk(settings)))
        door = build(settings, source_secrets(settings, env), accept, lane.owners)
        server = Server(
            uvicorn.Config(
                door,
                host=host,
                port=port,
                access_log=False,
                log_level="warning",
                lifespan="off",
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=GRACE,
                backlog=4096,
            )
        )
        # Settings, codes and regular expressions stay for good: the collector need not walk them per 700 requests.
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
        await _until_stopped(server, stop)


async def _until_stopped(server: Server, stop: asyncio.Event) -> None:
    serving = asyncio.create_task(server.serve())
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    stopping.cancel()
    await serving


async def worker(dsn: str, env: Mapping[str, str], stop: asyncio.Event) -> None:
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(Database(dsn, size=4))
        _, loaded = await in_force(database, env)
        settings = loaded.settings
        listener = Listener(dsn)
        stations: list[tuple[str, Station, Callable[[], Awaitable[None]]]] = []
        for number in range(1, settings.routing.workers + 1):
            station = RouteStation(PostgresRouter(database, actor=f"route-{number}"), await plans(database, env))
            stations.append((f"route-{number}", station, partial(station.run, listener.bell("fairturn_event"))))
        again = RouteStation(PostgresRouter(database, actor="deliver"), await plans(database, env))
        stations += await deliveries(stack, database, settings, env, listener, again)
        sweep = Sweep(PostgresBroom(database), settings.retention)
        stations.append(("sweep", sweep, sweep.run))
        await stack.enter_async_context(listener)
        engine = Engine(stations)
        running = asyncio.create_task(engine.run())
        await stop.wait()
        engine.stop()
        await running
