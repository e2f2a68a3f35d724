"""Numbered SQL files, applied in order under an advisory lock.

A file's first line may be `-- breaking`: programs that do not know it refuse to start on that schema. Any number of
processes may call `migrate` at once on an empty database: one works, the others wait for the lock and find it done.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files

import asyncpg

from fairturn.errors import SchemaMissing, SchemaTooNew, ServerTooOld
from fairturn.stores.postgres.database import mapped_errors

LOCK = 7_246_115_020_917  # any constant of our own; advisory locks are per database
OLDEST = 17  # transaction_timeout, without which a session that hangs holds its rows
FILE = re.compile(r"(\d{4})_(\w+)\.sql")

TABLE = """
create table if not exists schema_migration (
    id         integer primary key,
    name       text not null,
    breaking   boolean not null,
    applied_at timestamptz not null default clock_timestamp()
)"""


@dataclass(frozen=True, slots=True)
class Migration:
    id: int
    name: str
    sql: str

    @property
    def breaking(self) -> bool:
        return self.sql.startswith("-- breaking")


@dataclass(frozen=True, slots=True)
class SchemaStatus:
    applied: tuple[int, ...]
    pending: tuple[int, ...]
    unknown: tuple[int, ...]  # applied by a newer release
    refused: str | None  # why this program must not run on it


def known() -> tuple[Migration, ...]:
    """The migrations that this release brings, in order."""
    found = [
        Migration(int(match[1]), match[2], entry.read_text(encoding="utf-8"))
        for entry in files(__package__).joinpath("migrations").iterdir()
        if (match := FILE.fullmatch(entry.name))
    ]
    return tuple(sorted(found, key=lambda migration: migration.id))


def judge(known_ids: tuple[int, ...], applied: dict[int, bool]) -> SchemaStatus:
    """`applied`: migration id -> whether it is marked breaking."""
    unknown = tuple(sorted(set(applied) - set(known_ids)))
    breaking = [number for number in unknown if applied[number]]
    refused = None
    if breaking:
        refused = (
            f"The database was migrated to step {breaking[-1]} by a newer Fairturn, and that step breaks this one "
            f"(it knows steps up to {max(known_ids)}). Install the newer release, or restore a backup from before it."
        )
    pending = tuple(number for number in known_ids if number not in applied)
    return SchemaStatus(tuple(sorted(applied)), pending, unknown, refused)


async def _applied(connection: asyncpg.Connection) -> dict[int, bool]:
    if not await connection.fetchval("select to_regclass('schema_migration') is not null"):
        return {}
    rows = await connection.fetch("select id, breaking from schema_migration")
    return {row["id"]: row["breaking"] for row in rows}


async def _connect(dsn: str) -> asyncpg.Connection:
    """Raises ServerTooOld, before a session asks for what such a server does not know."""
    connection = await asyncpg.connect(dsn, timeout=15, server_settings={"application_name": "fairturn migrate"})
    version = connection.get_server_version()
    if refused := too_old(version.major, version.minor):
        await connection.close()
        raise ServerTooOld(refused)
    return connection


def too_old(major: int, minor: int) -> str | None:
    """Why Fairturn cannot work with such a PostgreSQL."""
    if major >= OLDEST:
        return None
    return (
        f"database_url names a PostgreSQL {major}.{minor}, and Fairturn needs {OLDEST} or newer (it is tested with "
        "18). Upgrade that server, name another one, or take database_url out: Fairturn then runs its own."
    )


async def status(dsn: str) -> SchemaStatus:
    with mapped_errors():
        connection = await _connect(dsn)
        try:
            return judge(tuple(migration.id for migration in known()), await _applied(connection))
        finally:
            await connection.close()


async def require(dsn: str) -> None:
    """Raises SchemaMissing or SchemaTooNew, each with a sentence, unless this program may run on that schema."""
    found = await status(dsn)
    if found.refused:
        raise SchemaTooNew(found.refused)
    if found.pending:
        msg = f"The database lacks {len(found.pending)} migration(s). Run `fairturn db migrate`."
        raise SchemaMissing(msg)


async def migrate(dsn: str) -> tuple[int, ...]:
    """Applies what is missing, each file in a transaction of its own with its row. Returns the ids applied."""
    done: list[int] = []
    with mapped_errors():
        # No lock_timeout here: a starter waits for the one that works, however long an index takes to build.
        connection = await _connect(dsn)
        try:
            await connection.execute("select pg_advisory_lock($1)", LOCK)
            await connection.execute(TABLE)
            applied = await _applied(connection)
            found = judge(tuple(migration.id for migration in known()), applied)
            if found.refused:
                raise SchemaTooNew(found.refused)
            for migration in known():
                if migration.id in applied:
                    continue
                async with connection.transaction():
                    await connection.execute(
                        "insert into schema_migration (id, name, breaking) values ($1, $2, $3)",
                        migration.id,
                        migration.name,
                        migration.breaking,
                    )
                    await connection.execute("set local lock_timeout = '10s'")
                    await connection.execute(migration.sql)
                done.append(migration.id)
        finally:
            await connection.close()
    return tuple(done)
