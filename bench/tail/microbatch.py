"""The article's micro-batch: a Valkey list, a timer, one batch.

    python -m bench.tail.microbatch --port 8080 --crm salesforce --url http://... --valkey redis://... --timer 15

A webhook is pushed on the list and answered. At every multiple of the timer everything is taken, the events of one
person become one row, the rows are grouped by account, one request asks whom the CRM has (nobody is to be there twice,
or to lose their owner), one writes them all, with allOrNone = false. What the CRM refuses is kept aside on a list of
its own. A request carries what the vendor takes: 200 records (HubSpot: 100, known contacts apart from new ones).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import orjson
import redis.asyncio as redis
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bench.tail.calls import Crm, Refused, Row, Values, connect, values_of
from bench.tail.sync import arguments

QUEUE: Final = "leads"
TAKEN: Final = "leads:taken"  # what a flush works on: a process that dies leaves it there
ASIDE: Final = "leads:failed"


class Flusher:
    def __init__(self, crm: Crm, store: redis.Redis, timer: float) -> None:
        self._crm = crm
        self._store = store
        self._timer = timer

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._timer - time.time() % self._timer)
            await self._flush()

    async def _flush(self) -> None:
        if not await self._store.exists(QUEUE):
            return
        await self._store.rename(QUEUE, TAKEN)
        events = [orjson.loads(item) for item in await self._store.lrange(TAKEN, 0, -1)]
        people = collapsed(events)
        try:
            records = await self._crm.find_all(list(people))
        except Refused:
            await self._aside([Row(email, values, None) for email, values in people.items()])
        else:
            rows = [Row(email, values, records.get(email.casefold())) for email, values in people.items()]
            for batch in self._crm.batches(rows):
                await self._write(batch)
        await self._store.delete(TAKEN)

    async def _write(self, rows: Sequence[Row]) -> None:
        try:
            refused = await self._crm.write_all(rows)
        except Refused:
            refused = list(rows)
        await self._aside(refused)

    async def _aside(self, rows: Sequence[Row]) -> None:
        if rows:
            await self._store.rpush(ASIDE, *(orjson.dumps({"email": row.email, **row.values}) for row in rows))


def collapsed(events: Sequence[dict[str, Any]]) -> dict[str, Values]:
    """Address -> what all its events say, the later ones on top; accounts together."""
    people: dict[str, Values] = {}
    for told in events:
        people.setdefault(told["email"], {}).update(values_of(told))
    return dict(sorted(people.items(), key=lambda item: item[0].rpartition("@")[2]))


def application(crm: Crm, store: redis.Redis, timer: float) -> Starlette:
    async def webhook(request: Request) -> Response:
        await store.rpush(QUEUE, await request.body())
        return Response(status_code=202)

    async def ready(_: Request) -> Response:
        await store.ping()
        return Response(status_code=200)

    async def waiting(_: Request) -> Response:
        """How much is still to be told to the CRM."""
        return JSONResponse({"waiting": await store.llen(QUEUE) + await store.llen(TAKEN)})

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await crm.open()
        flushing = asyncio.create_task(Flusher(crm, store, timer).run())
        yield
        flushing.cancel()

    routes = [Route("/in/{source}", webhook, methods=["POST"]), Route("/readyz", ready), Route("/waiting", waiting)]
    return Starlette(routes=routes, lifespan=lifespan)


if __name__ == "__main__":
    ask = arguments()
    ask.add_argument("--valkey", required=True)
    ask.add_argument("--timer", type=float, required=True)
    args = ask.parse_args()
    app = application(connect(args.crm, args.url), redis.from_url(args.valkey), args.timer)
    uvicorn.run(app, port=args.port, log_level="warning", access_log=False)
