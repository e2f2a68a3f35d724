"""The one worker behind the list: takes the leads in order, one at a time, and assigns each in a transaction.

    python -m bench.race.worker --dsn DSN --valkey URL

A lead that fails goes to the list again, with its count; after TRIES it goes to the list of the dead. One that was
taken from the list when the worker dies is lost: that is the design (BRPOP), and no part of what is measured here.
"""

from __future__ import annotations

import argparse
import sys

import asyncpg
import orjson
import redis.asyncio as redis
import uvloop

from bench.race.designs import DEAD, QUEUE, WORKER

TRIES = 3


async def work(dsn: str, valkey: str) -> None:
    queue = redis.Redis.from_url(valkey)
    connection = await asyncpg.connect(dsn)
    while True:
        # Shorter than the client's own patience with a socket that says nothing.
        found = await queue.brpop([QUEUE], timeout=2)
        if found is not None:
            await one(queue, connection, orjson.loads(found[1]))


async def one(queue: redis.Redis, connection: asyncpg.Connection, lead: dict[str, float]) -> None:
    try:
        rep = await connection.fetchval(WORKER, int(lead["request"]), lead["accepted_at"], int(lead["tries"]))
    except asyncpg.PostgresError as error:
        print(error, file=sys.stderr, flush=True)
        rep = None
    if rep is None:
        again = lead | {"tries": lead["tries"] + 1}
        await queue.lpush(QUEUE if again["tries"] <= TRIES else DEAD, orjson.dumps(again))


if __name__ == "__main__":
    ask = argparse.ArgumentParser()
    ask.add_argument("--dsn", required=True)
    ask.add_argument("--valkey", required=True)
    args = ask.parse_args()
    uvloop.run(work(args.dsn, args.valkey))
