"""Migrations: many starters at once, a release that is too old, a database that was never migrated."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from uuid import uuid4

import asyncpg
import pytest

from fairturn.errors import SchemaMissing, SchemaTooNew
from fairturn.stores.postgres import migrate
from fairturn.stores.postgres.embedded import Embedded


@pytest.fixture
async def empty(postgres_cluster: Embedded) -> AsyncIterator[str]:
    """A database without a table."""
    name = f"empty_{uuid4().hex[:12]}"
    admin = await asyncpg.connect(postgres_cluster.dsn)
    await admin.execute(f"create database {name}")
    yield postgres_cluster.dsn_of(name)
    await admin.execute(f"drop database {name} with (force)")
    await admin.close()


def test_numbers_have_no_gap_and_files_no_stranger() -> None:
    known = migrate.known()
    assert [one.id for one in known] == list(range(1, len(known) + 1))
    assert all(re.fullmatch(r"[a-z_]+", one.name) for one in known)


@pytest.mark.parametrize(("version", "refused"), [((9, 6), True), ((15, 9), True), ((16, 4), True), ((17, 0), False)])
def test_an_old_server_is_refused_with_what_to_do(version: tuple[int, int], refused: bool) -> None:
    said = migrate.too_old(*version)
    assert (said is not None) == refused
    assert said is None or all(word in said for word in (f"PostgreSQL {version[0]}.{version[1]}", "17 or newer"))


async def test_twenty_processes_start_at_once_on_an_empty_database(empty: str) -> None:
    program = (
        "import asyncio, sys\nfrom fairturn.stores.postgres import migrate\nasyncio.run(migrate.migrate(sys.argv[1]))"
    )
    started = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, empty, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        for _ in range(6)
    ]
    applied = await asyncio.gather(*(migrate.migrate(empty) for _ in range(14)))
    outputs = await asyncio.gather(*(process.communicate() for process in started))
    assert [process.returncode for process in started] == [0] * 6, [error for _, error in outputs]
    assert sum(bool(done) for done in applied) <= 1
    await migrate.require(empty)


async def test_a_second_run_changes_nothing(database: str) -> None:
    assert await migrate.migrate(database) == ()


async def test_a_database_that_was_never_migrated_says_what_to_do(empty: str) -> None:
    with pytest.raises(SchemaMissing, match="fairturn db migrate"):
        await migrate.require(empty)


async def mark(dsn: str, *, breaking: bool) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute("insert into schema_migration (id, name, breaking) values (9999, 'future', $1)", breaking)
    await connection.close()


async def test_a_newer_breaking_schema_is_refused_with_a_sentence(database: str) -> None:
    await mark(database, breaking=True)
    for call in (migrate.require, migrate.migrate):
        with pytest.raises(SchemaTooNew, match=r"step 9999 by a newer Fairturn.*Install the newer release"):
            await call(database)


async def test_a_newer_schema_that_breaks_nothing_is_fine(database: str) -> None:
    await mark(database, breaking=False)
    await migrate.require(database)
    assert (await migrate.status(database)).unknown == (9999,)


async def test_a_migration_that_fails_leaves_nothing(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = (
        *migrate.known(),
        migrate.Migration(len(migrate.known()) + 1, "broken", "create table one (); select 1/0;"),
    )
    monkeypatch.setattr(migrate, "known", lambda: broken)
    with pytest.raises(Exception, match="division by zero"):
        await migrate.migrate(empty)
    connection = await asyncpg.connect(empty)
    assert await connection.fetchval("select to_regclass('one')") is None
    assert await connection.fetchval("select max(id) from schema_migration") == broken[-1].id - 1
    await connection.close()


async def test_a_database_with_leads_is_upgraded_and_keeps_them(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the release before: rows stay, and the checks that cost a third of a lead's work go (decision 0022)."""
    every = migrate.known()
    monkeypatch.setattr(migrate, "known", lambda: every[:2])
    await migrate.migrate(empty)
    connection = await asyncpg.connect(empty)
    await connection.execute(OLD_ROWS)
    keys = "select count(*)::int from pg_constraint where contype = 'f' and conrelid = any($1::regclass[])"
    hot = ["lead", "lead_key", "assignment", "change"]
    assert await connection.fetchval(keys, hot) == 9
    monkeypatch.setattr(migrate, "known", lambda: every)
    assert await migrate.migrate(empty) == tuple(one.id for one in every[2:])
    assert await connection.fetchval(keys, hot) == 2  # lead.merged_into, change.batch_id
    assert await connection.fetchval("select count(*) from assignment join lead on lead.id = lead_id") == 1
    await connection.close()


OLD_ROWS = """
insert into rep (id) values ('ann');
insert into pool (id) values ('main');
insert into destination (id) values ('crm');
insert into account (key) values ('domain:acme.com');
insert into lead (source_id, status, fields, account_id, rep_id, pool_id)
values ('web', 'assigned', '{}', 1, 'ann', 'main');
insert into lead_key (digest, kind, value, lead_id) values (decode(repeat('ab', 16), 'hex'), 'email', 'a@acme.com', 1);
insert into share_set (hash, members) values (decode(repeat('cd', 16), 'hex'), '[["ann", 1, 1]]');
insert into assignment (pool_id, seq, kind, rep_id, lead_id, share_hash, reason, actor)
values ('main', 1, 'turn', 'ann', 1, decode(repeat('cd', 16), 'hex'), 'next in turn', 'route-1');
insert into change (lead_id, destination_id, state, version, first_event_at) values (1, 'crm', 'pending', 1, now());
"""
