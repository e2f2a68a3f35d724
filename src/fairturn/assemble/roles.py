"""One process, one role. `intake` takes webhooks, `worker` routes and delivers."""

from __future__ import annotations

import asyncio
import gc
import shutil
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path

import structlog
import uvicorn

from fairturn.assemble import places
from fairturn.assemble.listening import BACKLOG, listen
from fairturn.assemble.plans import in_force, plans, until_newer
from fairturn.config import Hmac, Settings, SharedSecret
from fairturn.errors import FairturnError
from fairturn.flow.accept import Accept, Bounds
from fairturn.flow.engine import Engine, Station
from fairturn.flow.station import RouteStation
from fairturn.flow.sweep import Sweep
from fairturn.flow.sync import SyncLane
from fairturn.intake.app import Door, build
from fairturn.intake.express import Express
from fairturn.intake.wire import ASGIApp
from fairturn.operate.secrets import secret
from fairturn.ports import Wake
from fairturn.stores.postgres.broom import PostgresBroom
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.journal import PostgresJournal
from fairturn.stores.postgres.router import PostgresRouter
from fairturn.stores.postgres.wake import Listener

log = structlog.get_logger(__name__)
GRACE = 10  # seconds that open requests get when we stop


class Server(uvicorn.Server):
    """uvicorn without signal handlers: the process decides when it stops. `up` is called when it has started."""

    up: Callable[[], None] = staticmethod(lambda: None)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up()

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


def free_disk(settings: Settings, env: Mapping[str, str]) -> Callable[[], int] | None:
    """MiB left where our own PostgreSQL writes; None where the database is somebody else's."""
    if settings.database_url is not None:
        return None
    folder = places.data_dir(settings, env)
    there = next((place for place in (folder, *folder.parents) if place.exists()), Path("/"))
    return lambda: shutil.disk_usage(there).free // 1_048_576


async def intake(
    dsn: str, host: str, port: int, env: Mapping[str, str], stop: asyncio.Event, up: Callable[[], None]
) -> None:
    """Until `stop`; `up` is called once requests are taken. Raises NotServing when the port is taken."""
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(Database(dsn, size=4))
        version, loaded = await in_force(database, env)
        settings = loaded.settings
        journal = PostgresJournal(database)
        listener = Listener(dsn)
        station = RouteStation(PostgresRouter(database, actor="sync"), await plans(database, env))
        woken = listener.bell("fairturn_change")
        news = listener.bell("fairturn_config")
        await stack.enter_async_context(listener)
        accept = await _accept(stack, journal, settings, env)
        lane = await stack.enter_async_context(SyncLane(station, journal, woken, accept.enter, bounds(settings)))
        door = build(settings, source_secrets(settings, env), accept, lane.owners, lane=lane)
        watching = asyncio.create_task(_keep_up(door, database, version.id, news, env))
        stack.callback(watching.cancel)
        await _until_stopped(http_server(door), listen(host, port), stop, up)


async def _accept(
    stack: AsyncExitStack, journal: PostgresJournal, settings: Settings, env: Mapping[str, str]
) -> Accept:
    """Callers who wait for an owner need PostgreSQL; the others may have Valkey before it."""
    limits, disk = bounds(settings), free_disk(settings, env)
    accept = await stack.enter_async_context(Accept(journal, limits, free_disk=disk))
    if settings.journal == "postgresql":
        return accept
    from fairturn.assemble import front  # noqa: PLC0415  its client takes 0.3 s to import: for those who use it

    first = await front.journal(stack, settings, env, journal)
    return await stack.enter_async_context(Accept(first, limits, free_disk=disk, apart={"sync": accept}))


def http_server(app: ASGIApp) -> Server:
    """Made last, when all that stays for good is there."""
    leave_what_stays()
    return Server(
        uvicorn.Config(
            app,
            access_log=False,
            log_level="warning",
            lifespan="off",
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=GRACE,
            backlog=BACKLOG,
            http=Express,
        )
    )


def leave_what_stays() -> None:
    """Settings, codes and regular expressions: the collector need not walk them per 700 objects, as it does by itself.

    Merging an event into its lead took 22 us with its walks and takes 11 without.
    """
    gc.unfreeze()  # what settings before these left behind goes
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


async def _until_stopped(
    server: Server, sockets: list[socket.socket], stop: asyncio.Event, up: Callable[[], None]
) -> None:
    server.up = up
    serving = asyncio.create_task(server.serve(sockets))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    stopping.cancel()
    await serving


async def _keep_up(door: Door, database: Database, version: int, news: Wake, env: Mapping[str, str]) -> None:
    """Sources as the settings in force have them. Settings whose secrets this process lacks leave the door as it is."""
    while True:
        version = await until_newer(database, version, news)
        try:
            _, loaded = await in_force(database, env)
            door.load(loaded.settings, source_secrets(loaded.settings, env))
            log.info("settings.taken", version=version)
        except FairturnError as error:
            log.warning("settings.not_taken", error=str(error))


async def worker(dsn: str, env: Mapping[str, str], stop: asyncio.Event, up: Callable[[], None]) -> None:
    """Stations until `stop`; other settings in force end them, and begin them anew. `up`: called when they run."""
    while not stop.is_set():
        async with AsyncExitStack() as stack:
            database = await stack.enter_async_context(Database(dsn, size=4))
            version, loaded = await in_force(database, env)
            listener = Listener(dsn)
            engine = Engine(await _stations(stack, dsn, database, loaded.settings, env, listener))
            news = listener.bell("fairturn_config")
            await stack.enter_async_context(listener)
            leave_what_stays()
            running = asyncio.create_task(engine.run())
            up()
            ends = (asyncio.create_task(stop.wait()), asyncio.create_task(until_newer(database, version.id, news)))
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for end in ends:
                end.cancel()
            engine.stop()
            await running


async def _stations(
    stack: AsyncExitStack,
    dsn: str,
    database: Database,
    settings: Settings,
    env: Mapping[str, str],
    listener: Listener,
) -> list[tuple[str, Station, Callable[[], Awaitable[None]]]]:
    from fairturn.assemble.deliveries import deliveries  # noqa: PLC0415  the intake speaks to no CRM: 0.06 s, 6 MB

    stations: list[tuple[str, Station, Callable[[], Awaitable[None]]]] = []
    for number in range(1, settings.routing.workers + 1):
        station = RouteStation(PostgresRouter(database, actor=f"route-{number}"), await plans(database, env))
        stations.append((f"route-{number}", station, partial(station.run, listener.bell("fairturn_event"))))
    # Sessions of its own: a lease that is renewed behind a long route transaction is a lease lost.
    apart = await stack.enter_async_context(Database(dsn, size=4))
    again = RouteStation(PostgresRouter(apart, actor="fairturn"), await plans(apart, env))
    stations += await deliveries(stack, apart, settings, env, listener, again)
    if settings.valkey_url is not None:  # whatever the journal is now: what came before must not be left there
        from fairturn.assemble import front  # noqa: PLC0415  as above

        drain = front.drain(stack, settings, env, dsn, PostgresJournal(database))
        stations.append(("drain", drain, drain.run))
    sweep = Sweep(PostgresBroom(database), settings.retention)
    return [*stations, ("sweep", sweep, sweep.run)]
