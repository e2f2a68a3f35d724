"""The database itself: where it is, its tables, its process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from fairturn.assemble.database import Found, Place, find, reached
from fairturn.errors import FairturnError, NotAllowed, StoreUnavailable
from fairturn.operate.secrets import beside
from fairturn.stores.postgres import embedded
from fairturn.stores.postgres import migrate as migrations
from fairturn.stores.postgres.database import Database


@dataclass(frozen=True, slots=True)
class Before:
    """The Valkey before PostgreSQL."""

    events: int | None = None  # that PostgreSQL does not have yet; None: it does not say
    oldest_at: datetime | None = None
    aside: int = 0  # entries that PostgreSQL could not hold
    problem: str | None = None  # why it does not say

    def as_json(self) -> dict[str, object]:
        return {"waiting": self.events, "oldest_at": self.oldest_at, "aside": self.aside, "problem": self.problem}


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    place: str  # in words, without a secret
    embedded: bool
    state: str  # absent | stopped | running | busy
    pid: int | None = None  # of the embedded server
    holder: int | None = None  # of the Fairturn that keeps it
    applied: tuple[int, ...] = ()
    pending: tuple[int, ...] = ()
    refused: str | None = None
    size: int | None = None  # bytes
    before: Before | None = None  # what the Valkey before it holds, where there is one

    def as_json(self) -> dict[str, object]:
        return {
            "database": self.place,
            "embedded": self.embedded,
            "state": self.state,
            "pid": self.pid,
            "holder": self.holder,
            "applied": list(self.applied),
            "pending": list(self.pending),
            "refused": self.refused,
            "bytes": self.size,
            "valkey": self.before.as_json() if self.before else None,
        }


async def status(config: Path | None, env: Mapping[str, str]) -> DatabaseStatus:
    """Raises StoreUnavailable when a database that is not ours does not answer."""
    found = find(config, env)
    before = await _before(found, env)
    try:
        return replace(await _status(found.place), before=before)
    except StoreUnavailable as error:
        if before is None or before.events is None:
            raise
        raise StoreUnavailable(f"{error}. Meanwhile Valkey keeps what arrives: {before.events} events wait.") from error


async def _before(found: Found, env: Mapping[str, str]) -> Before | None:
    if found.loaded is None or found.loaded.settings.valkey_url is None:
        return None
    from fairturn.assemble import front  # noqa: PLC0415  its client takes 0.3 s to import: for those who use it

    try:
        env = env if found.path is None else beside(found.path, env)
        here, aside = await front.waiting(found.loaded.settings, env)
    except FairturnError as error:
        return Before(problem=str(error))
    return Before(here.unrouted, here.oldest_at, aside)


async def _status(place: Place) -> DatabaseStatus:
    dsn, state, pid, holder = place.url, "running", None, None
    if dsn is None:
        server = await embedded.status(place.data)
        dsn, state, pid, holder = server.dsn, server.state, server.pid, server.holder
    if dsn is None:
        return DatabaseStatus(place.shown, True, state, pid, holder)
    schema = await migrations.status(dsn)
    async with Database(dsn, size=1) as database, database.connection() as c:
        size = await c.fetchval("select pg_database_size(current_database())")
    return DatabaseStatus(
        place=place.shown,
        embedded=place.url is None,
        state=state,
        pid=pid,
        holder=holder,
        applied=schema.applied,
        pending=schema.pending,
        refused=schema.refused,
        size=size,
    )


async def migrate(config: Path | None, env: Mapping[str, str]) -> tuple[int, ...]:
    """The steps applied. Makes the embedded database where there is none yet."""
    async with reached(find(config, env).place, create=True) as dsn:
        return await migrations.migrate(dsn)


async def stop(config: Path | None, env: Mapping[str, str]) -> bool:
    """Whether there was one to stop. Raises DataInUse while a Fairturn keeps it."""
    place = find(config, env).place
    if place.url is not None:
        raise NotAllowed("This database is not run by Fairturn: stop it where it is run.")
    if not place.data.is_dir():
        raise StoreUnavailable(f"There is no database in {place.data}.")
    return await embedded.stop(place.data)
