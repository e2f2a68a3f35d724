"""What a year leaves in the tables, without its webhooks: the rows that routing and writing them would have made.

Set-based, but for the turns: those are taken by the product's own fold and written by its own statements, so that
`fairturn audit` holds over all of them. Ids of events, deliveries and keys are the ones that the requests would have
got, so that an update finds the lead it is of.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import asyncpg

from bench.growth.people import Came, Person, again_of, came, first_of, person
from bench.house import Failed
from bench.leads import COUNTRIES, SOURCE
from bench.settings import DESTINATION
from fairturn.decide.fairness import assign
from fairturn.decide.pool import GIVES, Fold, Waiting
from fairturn.ports import PoolShape
from fairturn.stores.postgres.database import prepare, statements
from fairturn.stores.postgres.routed import write_folds
from fairturn.stores.postgres.router import read_pools

YEAR: Final = timedelta(days=365)
CHUNK: Final = 10_000  # leads in one transaction at most; fifty and more make a year
UPDATED: Final = 0.3  # of all leads have a second event, after some hours
RECORDS: Final = 40  # in a request to the CRM
MONTH: Final = 30 * 86400.0
LARGE, EVERYONE = "large", "everyone"
SHAPES: Final = {  # as in bench/settings.py
    LARGE: PoolShape({"ada": 2, "ben": 1, "cleo": 1}, "whole", MONTH, counts=True, max_debt=3),
    EVERYONE: PoolShape(
        dict.fromkeys(("dana", "emil", "fay", "gus", "hana", "ivan", "june"), 1), "whole", 0, counts=True, max_debt=3
    ),
}
_PARTS = re.split(r"^-- name: (\w+)\n", Path(__file__).with_name("fill.sql").read_text("utf-8"), flags=re.MULTILINE)
SQL: Final = dict(zip(_PARTS[1::2], _PARTS[2::2], strict=True))
ROUTER: Final = statements("router")
PERSON: Final = ("lead_id", "number", "company", "email", "mailbox", "key", "account", "employees", "country", "pool")
CAME: Final = ("place", "lead_id", "at", "delivery", "event", "body", "serial", "again")


async def fill(dsn: str, base: int, first: int = 0) -> None:
    """`base` leads, numbered from `first`, over the last year. The settings are applied, and no worker runs.

    References are checked at the end, not row by row. Raises Failed where one does not hold.
    """
    connection = await asyncpg.connect(dsn)
    await prepare(connection)
    try:
        await _begin(connection)
        filler = _Filler(connection, base, first)
        await filler.run()
        await _end(connection)
        await whole(connection)
    finally:
        await connection.close()


async def _begin(c: asyncpg.Connection) -> None:
    await c.execute(SQL["stage"])
    await c.execute("set session_replication_role = replica; set synchronous_commit = off; set wal_compression = off")
    # Without statistics yet: one step down an index for each row, and never a walk over what is there already.
    await c.execute("set enable_hashjoin = off; set enable_mergejoin = off")
    await c.execute("alter system set autovacuum = off")  # it would look at every table again and again
    await c.execute("select pg_reload_conf()")
    # The turns' own time: as their statement has none, it is the default that tells it.
    await c.execute("alter table assignment alter at set default current_setting('bench.at')::timestamptz")


async def _end(c: asyncpg.Connection) -> None:
    """As autovacuum and a checkpoint would have left it by now."""
    await c.execute("alter table assignment alter at set default clock_timestamp()")
    await c.execute("set session_replication_role = origin; reset enable_hashjoin; reset enable_mergejoin")
    await c.execute("vacuum (analyze)")
    await c.execute("alter system reset autovacuum")
    await c.execute("select pg_reload_conf()")
    await c.execute("checkpoint")


class _Filler:
    def __init__(self, connection: asyncpg.Connection, base: int, first: int) -> None:
        self._c = connection
        self._base, self._first = base, first
        self._sticky: dict[int, tuple[str, datetime]] = {}
        self._began = datetime.now(UTC) - YEAR
        self._chunk = max(20, min(CHUNK, base // 50))
        self._step = YEAR / (base + self._chunk)  # the last chunk's updates are of the past too

    async def run(self) -> None:
        c = self._c
        lead, serial, batch = (last + 1 for last in (await c.fetch(SQL["places"]))[0])
        key = await c.fetchval(SQL["made_key"])
        coming = asyncio.create_task(asyncio.to_thread(self._made, 0, lead, serial))
        for start in range(0, self._base, self._chunk):
            people, rows = await coming
            lead, serial = lead + len(people), serial + len(rows)
            # The next ones are made while PostgreSQL stores these.
            coming = asyncio.create_task(asyncio.to_thread(self._made, start + self._chunk, lead, serial))
            async with c.transaction():
                await c.execute("truncate came, person")
                await c.copy_records_to_table("person", records=people, columns=PERSON)
                await c.copy_records_to_table("came", records=rows, columns=CAME)
                await c.execute("analyze came; analyze person")
                await self._store(rows[0][2], batch, key)
                batch += rows[-1][0] // RECORDS + 1
                await c.fetchval(SQL["sequences"], lead - 1, serial - 1, batch - 1)
        await coming

    def _made(self, start: int, lead: int, serial: int) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """The people from `start` on, and the requests that told of them: first theirs, then the updates."""
        numbers = range(self._first + start, self._first + min(start + self._chunk, self._base))
        people = [(lead + place, *self._person(number)) for place, number in enumerate(numbers)]
        told = [(lead + place, self._came(number), False) for place, number in enumerate(numbers)]
        told += [(lead + place, self._updated(n), True) for place, n in enumerate(numbers) if n % 10 < 10 * UPDATED]
        apart = -len(people) % RECORDS  # no request writes a lead and its update
        rows = [
            (
                place + apart * again,
                of,
                self._at(start, place),
                one.delivery,
                one.event,
                one.body,
                serial + place,
                again,
            )
            for place, (of, one, again) in enumerate(told)
        ]
        return people, rows

    def _person(self, number: int) -> Person:
        return person(number, self._base, LARGE, EVERYONE, COUNTRIES)

    def _came(self, number: int) -> Came:
        return came(number, first_of(number, self._base), b"s-%d" % number)

    def _updated(self, number: int) -> Came:
        return came(number, again_of(number, self._base), b"u-%d-0" % number)

    def _at(self, start: int, place: int) -> datetime:
        return self._began + self._step * (start + place / (1 + UPDATED))

    async def _store(self, at: datetime, batch: int, key: str) -> None:
        c = self._c
        await c.execute(SQL["accounts"])
        await c.execute(f"set local bench.at = '{at.isoformat()}'")
        await self._turns(await c.fetch(SQL["waiting"]), at)
        await c.execute(SQL["deliveries"], SOURCE)
        await c.execute(SQL["events"], SOURCE)
        await c.execute(SQL["keys"])
        await c.execute(SQL["leads"], SOURCE, LARGE)
        await c.execute(SQL["batches"], batch, RECORDS, DESTINATION)
        await c.execute(SQL["changes"].replace("{external_key}", key), DESTINATION)
        await c.execute(SQL["writes"], batch, RECORDS, DESTINATION)

    async def _turns(self, rows: Sequence[Any], at: datetime) -> None:
        c = self._c
        facts = await read_pools(c, sorted(SHAPES), SHAPES, {}, [])
        sticky = {account: rep for account, (rep, of) in self._sticky.items() if (at - of).total_seconds() < MONTH}
        folds: dict[str, Fold] = {}
        for pool, shape in SHAPES.items():
            waiting = [
                Waiting(row["lead_id"], account=row["account_id"] if shape.sticky else None)
                for row in rows
                if row["pool"] == pool
            ]
            folds[pool] = assign(replace(facts[pool], sticky=sticky if shape.sticky else {}), waiting)
            if folds[pool].held:
                raise Failed(f"nobody could take {len(folds[pool].held)} leads of {pool}")
        self._sticky |= {account: (rep, at) for account, rep in folds[LARGE].sticky.items()}
        rules = {
            entry.lead: "large-companies" if pool == LARGE else "everyone-else"
            for pool, fold in folds.items()
            for entry in fold.entries
            if entry.kind in GIVES and entry.lead is not None
        }
        await write_folds(c, ROUTER, folds, rules, "route-1", 1)


async def whole(c: asyncpg.Connection) -> None:
    """Every reference leads somewhere, whether or not PostgreSQL watches it. Raises Failed."""
    for key in await c.fetch(SQL["references"]):
        here, column, there, its = key
        lost = await c.fetchval(
            f'select count(*) from "{here}" h where h.{column} is not null'  # noqa: S608  names from the catalogue
            f' and not exists (select from "{there}" t where t.{its} = h.{column})'
        )
        if lost:
            raise Failed(f"{lost} rows of {here} lead to no {there}")


async def alike(c: asyncpg.Connection, last: int) -> None:
    """What was routed since, behind lead `last`, has values in the same columns as what was filled. Raises Failed."""
    odd = [row["kind"] for row in await c.fetch(SQL["kinds"], last) if not (row["routed"] and row["filled"])]
    if odd:
        raise Failed(f"rows that were filled are not like those that are routed: {', '.join(odd)}")
