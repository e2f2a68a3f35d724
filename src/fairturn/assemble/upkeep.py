"""The database itself: where it is, its tables, its process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fairturn.assemble.database import find, reached
from fairturn.errors import NotAllowed, StoreUnavailable
from fairturn.stores.postgres import embedded
from fairturn.stores.postgres import migrate as migrations
from fairturn.stores.postgres.database import Database


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
        }


async def status(config: Path | None, env: Mapping[str, str]) -> DatabaseStatus:
    """Raises StoreUnavailable when a database that is not ours does not answer."""
    place = find(config, env).place
    dsn, state, pid, holder = place.url, "running", None, None
    if dsn is None:
        found = await embedded.status(place.data)
        dsn, state, pid, holder = found.dsn, found.state, found.pid, found.holder
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
