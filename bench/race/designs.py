"""The designs that are published and sold, each as well as it can be made.

What the articles leave open is settled in their favour. The lead is stored with its rep by the very statement that
takes the turn, so that a request costs one round trip and one flush (naive: two and one). No index makes the update
dearer. Connections are warm, and as many as there are requests at once: a pool of ten would let ten at the reps at a
time, and so hide what ten reps and an eleventh request do to each other (`pool_of_10` shows it).

Weights are a repeated list: a rep of weight 3 has three rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import Any, Final

import asyncpg

SCHEMA: Final = """
create table reps (
    slot             integer primary key,
    rep              text not null,
    active           boolean not null default true,
    last_assigned_at timestamptz not null
);
create table counter (n bigint not null);
insert into counter values (0);
-- Who got which lead: what any of them would store.
create table taken (
    id          bigint generated always as identity primary key,
    request     bigint not null,
    rep         text,
    tries       integer not null default 1,
    accepted_at timestamptz,
    at          timestamptz not null default clock_timestamp()
);
create table membership (
    id     bigint generated always as identity primary key,
    rep    text not null,
    active boolean not null,
    at     timestamptz not null default clock_timestamp()
);
"""

OLDEST: Final = "select slot, rep from reps where active order by last_assigned_at asc limit 1"
TAKE: Final = """
with used as (update reps set last_assigned_at = now() where slot = $2)
insert into taken (request, rep) values ($1, $3)
"""
# The article's statement, its answer stored. The join makes the turn come first, so that `id` is in the order of turns.
LOCKED: Final = """
with chosen as (
    update reps set last_assigned_at = now()
    where slot = (select slot from reps where active order by last_assigned_at asc limit 1 for update{skip})
    returning rep
)
insert into taken (request, rep, tries) select $1, rep, $2 from (select) lead left join chosen on true returning rep
"""
SKIP_LOCKED: Final = LOCKED.format(skip=" skip locked")
FOR_UPDATE: Final = LOCKED.format(skip="")
SKIP_LOCKED_OR_NOTHING: Final = SKIP_LOCKED.replace("(select) lead left join chosen on true", "chosen")
COUNTED: Final = """
with turn as (
    update counter set n = n + 1 returning n - 1 as n
), slots as (
    select rep, row_number() over (order by slot) - 1 as place, count(*) over () as among from reps where active
)
insert into taken (request, rep) select $1, rep from turn left join slots on place = n % among returning rep
"""
# One worker alone: nobody to be protected from.
WORKER: Final = """
with chosen as (
    update reps set last_assigned_at = now()
    where slot = (select slot from reps where active order by last_assigned_at asc limit 1)
    returning rep
)
insert into taken (request, rep, accepted_at, tries) select $1, rep, to_timestamp($2), $3 from chosen returning rep
"""
QUEUE: Final = "race:leads"
DEAD: Final = "race:dead"

TRIES: Final = 50  # of the router that tries again; then its lead has nobody
PAUSE: Final = 0.002  # seconds before its second try, doubled up to LONGEST, less up to a half by chance
LONGEST: Final = 0.05

Pool = asyncpg.Pool
Design = Callable[[Pool, int], Awaitable[Any]]  # a request's number -> its rep, or None
DICE: Final = Random(1)


async def naive(pool: Pool, request: int) -> Any:
    """Reads who waits longest, then says that they got it: whoever reads in between sees the same rep."""
    async with pool.acquire() as connection:
        found = await connection.fetchrow(OLDEST)
        if found is None:
            return None
        await connection.execute(TAKE, request, found["slot"], found["rep"])
    return found["rep"]


async def skip_locked(pool: Pool, request: int) -> Any:
    return await pool.fetchval(SKIP_LOCKED, request, 1)


async def skip_locked_retry(pool: Pool, request: int) -> Any:
    """How often it tried is stored with the lead."""
    pause = PAUSE
    for number in range(1, TRIES + 1):
        rep = await pool.fetchval(SKIP_LOCKED_OR_NOTHING, request, number)
        if rep is not None:
            return rep
        await asyncio.sleep(pause * (0.5 + DICE.random() / 2))
        pause = min(2 * pause, LONGEST)
    return await pool.fetchval(SKIP_LOCKED, request, TRIES)


async def for_update(pool: Pool, request: int) -> Any:
    return await pool.fetchval(FOR_UPDATE, request, 1)


async def counter(pool: Pool, request: int) -> Any:
    return await pool.fetchval(COUNTED, request)


DESIGNS: Final[Mapping[str, Design]] = {
    "naive": naive,
    "skip_locked": skip_locked,
    "skip_locked_retry": skip_locked_retry,
    "for_update": for_update,
    "counter": counter,
}
QUEUED: Final = "redis_worker"
