"""The database alone, without HTTP: SKIP LOCKED on its connections against the turn on one.

skip_locked: each of N leads is one statement of designs.py on one of 100 warm asyncpg connections: the article's
UPDATE, with the row that says who got the lead.

fairturn: N leads wait, and the product's own store and fold give them out, 500 in a transaction (the route station's
batch). In it: the pool's lock, reading the settings' version, its members, balances, credits and pauses, the fold, and
writing an assignment for each lead (with reason, rule, actor, and who shared the turn), the pool and its balances. Not
in it: taking webhooks, mapping, merging and rules, which `bench flow` has; and the rows of the leads, which are there
before and are not touched, as the other has none.

fairturn_held: the same with everything that a lead which had to wait gets. N leads are held for want of a rep, and the
route station hands them out, a thousand in a transaction (the most that one turn looks at): their rows with all fields
are locked, read, and written again with their rep.

The milliseconds of skip_locked are those of a statement; of the turn those until the lead's transaction is committed,
all leads having waited from the first moment.
"""

from __future__ import annotations

import asyncio
import os
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import asyncpg

from bench.house import Failed
from bench.machine import cpu_seconds
from bench.race.cells import EQUAL, Cell
from bench.race.designs import SKIP_LOCKED
from bench.race.entrants import MEMBERS, TAKEN, Run, history
from bench.race.ours import TURNS, settings, steps
from bench.race.server import as_it_is
from fairturn.assemble.plans import load_file, plans, put_in_force
from fairturn.decide.fairness import assign
from fairturn.decide.pool import Waiting
from fairturn.flow.plan import Plans
from fairturn.flow.station import RouteStation
from fairturn.ports import Routed
from fairturn.stores.postgres.database import Connection, Database
from fairturn.stores.postgres.router import PostgresRouter

CONNECTIONS: Final = 100  # of skip_locked
WARM: Final = 1000
BATCH: Final = 500
POOL: Final = "everyone"
# As route leaves a lead: one mapped field, one rule. $2: its status.
HELD: Final = """
insert into lead (id, source_id, status, fields, pool_id, rule_id, held_at, reason)
select id, 'website', $2::text,
       jsonb_build_object('email', jsonb_build_array('lead.' || id || '@company.com', 0, 0, repeat('0', 32))),
       'everyone', 'everyone', clock_timestamp(), 'everyone in the pool is paused'
from (select nextval('lead_id') as id from generate_series(1, $1::integer)) n
returning id
"""


def cell(leads: int, connections: int) -> Cell:
    return Cell("direct", leads, connections, EQUAL, connections)


class Clock:
    """Processor seconds of PostgreSQL and of the client, which is this process."""

    def __init__(self, postgres: int) -> None:
        self._postgres = postgres
        self._before = self._read()
        self.began = time.perf_counter()

    def _read(self) -> dict[str, float]:
        return {"postgresql": cpu_seconds(self._postgres), "client": time.process_time()}

    def stop(self) -> tuple[float, dict[str, float]]:
        seconds, after = time.perf_counter() - self.began, self._read()
        return seconds, {name: after[name] - was for name, was in self._before.items()}


class SkipLocked:
    name = "skip_locked"

    def __init__(self, dsn: str, postgres: int) -> None:
        self._dsn = dsn
        self._postgres = postgres

    async def race(self, leads: int) -> Run:
        async with asyncpg.create_pool(self._dsn, min_size=CONNECTIONS, max_size=CONNECTIONS, reset=as_it_is) as pool:
            await self._send(pool, iter(range(-WARM, 0)), [])
            await pool.execute("delete from reps")
            await pool.execute(MEMBERS, list(EQUAL))
            base = await pool.fetchval("select coalesce(max(id), 0) from taken")
            ms: list[float] = []
            clock = Clock(self._postgres)
            await self._send(pool, iter(range(leads)), ms)
            seconds, cpu = clock.stop()
            rows = await pool.fetch(TAKEN, base)
        if len(rows) != leads:
            raise Failed(f"{leads} leads, {len(rows)} stored")
        steps_of = history(rows, [], EQUAL)
        return Run(cell(leads, CONNECTIONS), steps_of, leads - len(steps_of), ms, ms, seconds, cpu)

    async def _send(self, pool: asyncpg.Pool, numbers: Iterator[int], ms: list[float]) -> None:
        async def one() -> None:
            async with pool.acquire() as connection:
                for number in numbers:
                    at = time.perf_counter()
                    await connection.fetchval(SKIP_LOCKED, number, 1)
                    ms.append(1000 * (time.perf_counter() - at))

        await asyncio.gather(*(one() for _ in range(CONNECTIONS)))


class Turns(ABC):
    """Our side. `give` hands out leads that wait, and says after each commit how many they were."""

    name: str
    status: str  # of the leads that wait

    def __init__(self, database: Database, plans: Plans, postgres: int) -> None:
        self.router = PostgresRouter(database, actor="route-1")
        self.plans = plans
        self._database = database
        self._postgres = postgres

    @abstractmethod
    def give(self, leads: Sequence[int]) -> AsyncIterator[int]: ...

    async def race(self, leads: int) -> Run:
        async with self._database.connection() as c:
            async for _ in self.give(await self._wait(c, WARM)):
                pass
            waiting = await self._wait(c, leads)
            seq = await c.fetchval("select seq from pool")
        ms: list[float] = []
        clock = Clock(self._postgres)
        async for given in self.give(waiting):
            ms += [1000 * (time.perf_counter() - clock.began)] * given
        seconds, cpu = clock.stop()
        async with self._database.connection() as c:
            rows = await c.fetch(TURNS, seq)
        if len(rows) != leads:
            raise Failed(f"{leads} leads waited, {len(rows)} have a rep")
        return Run(cell(leads, 1), steps(rows), 0, ms, ms, seconds, cpu)

    async def _wait(self, c: Connection, leads: int) -> list[int]:
        found = [row["id"] for row in await c.fetch(HELD, leads, self.status)]
        await c.execute("analyze lead")
        return found


class Turn(Turns):
    name = "fairturn"
    status = "ignored"

    async def give(self, leads: Sequence[int]) -> AsyncIterator[int]:
        plan = self.plans.current
        for start in range(0, len(leads), BATCH):
            batch = leads[start : start + BATCH]
            async with self.router.step() as step:
                turn = await step.turn({POOL: plan.shapes[POOL]}, [], 0)
                fold = assign(turn.pools[POOL], [Waiting(lead) for lead in batch])
                await step.write(
                    Routed(
                        (), plan.version, (), folds={POOL: fold}, rules=dict.fromkeys(batch, plan.settings.rules[0].id)
                    )
                )
            yield len(batch)


class Held(Turns):
    name = "fairturn_held"
    status = "held"

    async def give(self, leads: Sequence[int]) -> AsyncIterator[int]:
        del leads  # they are all that is held
        station = RouteStation(self.router, self.plans)
        while given := await station.serve_held([POOL]):
            yield given


async def sides(
    dsns: Mapping[str, str], database: Database, config: Path, postgres: int
) -> Sequence[SkipLocked | Turns]:
    """dsns: of the database that each side has for itself, that of ours being `database`."""
    config.write_text(settings(dsns["ours"], "batch", EQUAL))
    await put_in_force(database, load_file(config, os.environ), "race")
    ready = await plans(database, os.environ)
    return SkipLocked(dsns["article"], postgres), Turn(database, ready, postgres), Held(database, ready, postgres)
