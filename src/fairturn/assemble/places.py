"""Which PostgreSQL: the one that the settings name, or one of our own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import structlog

from fairturn.config import Settings
from fairturn.errors import StoreError
from fairturn.operate.secrets import located, secret
from fairturn.stores.postgres import embedded, migrate

log = structlog.get_logger(__name__)
LOOK = 1.0  # seconds between looks at whether our PostgreSQL still runs
PAUSE = 3.0  # before the next try, where it does not start
HANDED_DOWN = "FAIRTURN_DSN"  # how a parent process tells its children where the database is


def named(settings: Settings, env: Mapping[str, str]) -> str | None:
    """The database that we do not run ourselves: handed down by our parent, or `database_url`."""
    if handed := env.get(HANDED_DOWN):
        return handed
    url = settings.database_url
    if url is None:
        return None
    return secret(url, env) if url.startswith(("env:", "file:")) else url


def data_dir(settings: Settings, env: Mapping[str, str]) -> Path:
    return located(settings.data, env) if settings.data else embedded.default_data_dir()


@asynccontextmanager
async def owned(settings: Settings, env: Mapping[str, str]) -> AsyncIterator[str]:
    """The DSN of a migrated database. Our own is started, or found running, and stopped at the end."""
    dsn = named(settings, env)
    if dsn is not None:
        await migrate.migrate(dsn)
        yield dsn
        return
    server = await embedded.start(data_dir(settings, env))
    keeping = asyncio.create_task(_keep(server))
    try:
        await migrate.migrate(server.dsn)
        yield server.dsn
    finally:
        keeping.cancel()
        await asyncio.wait({keeping})
        await server.stop()


async def _keep(server: embedded.Embedded) -> None:
    """It outlives us, but something may end it before: PostgreSQL's first process killed for want of memory."""
    while True:
        await asyncio.sleep(LOOK)
        try:
            if await server.revive():
                log.error("database.revived", data=str(server.data), pid=server.pid)
        except StoreError as error:
            log.warning("database.down", data=str(server.data), error=str(error))
            await asyncio.sleep(PAUSE)
        except Exception:  # whatever it was: without this look nobody starts it again
            log.exception("database.down", data=str(server.data))
            await asyncio.sleep(PAUSE)


async def running(settings: Settings, env: Mapping[str, str]) -> str:
    """The DSN of a database that somebody else keeps running. Raises StoreError with a remedy when none does."""
    dsn = named(settings, env) or (await embedded.attach(data_dir(settings, env))).dsn
    await migrate.require(dsn)
    return dsn
