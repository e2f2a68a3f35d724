"""A design behind HTTP: the intake's server with its very settings, one process.

    python -m bench.race.server --router skip_locked --dsn DSN --port 8081 [--valkey URL]

POST /lead takes {"request": n, ...} and answers with the rep; `redis_worker` answers 202 once Valkey has the lead on
disk. POST /open/N opens N warm connections, POST /close closes them: the server is up throughout, its connections only
while it is measured.
"""

from __future__ import annotations

import argparse
import time

import asyncpg
import orjson
import redis.asyncio as redis
import uvloop

from bench.race.designs import DESIGNS, QUEUE, QUEUED
from fairturn.assemble.listening import listen
from fairturn.assemble.roles import http_server
from fairturn.intake.wire import Receive, Reply, Scope, Send, reply, respond

FINE = reply(200, {"status": "ok"})


async def as_it_is(_: asyncpg.Connection) -> None:
    """Between two uses of a connection: nothing, as Fairturn has it; asyncpg's own is a round trip."""


class App:
    def __init__(self, router: str, dsn: str, valkey: str | None) -> None:
        self._design = DESIGNS.get(router)
        self._dsn = dsn
        self._valkey = valkey
        self._pool: asyncpg.Pool | None = None
        self._queue: redis.Redis | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body = b""
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        path: str = scope["path"]
        if path == "/lead":
            answer = await self._lead(body)
        elif path.startswith("/open/"):
            await self._open(int(path[6:]))
            answer = FINE
        elif path == "/close":
            await self._close()
            answer = FINE
        else:
            answer = FINE
        await respond(send, answer)

    async def _lead(self, body: bytes) -> Reply:
        lead = orjson.loads(body)
        if self._design is None:
            assert self._queue is not None
            message = orjson.dumps({"request": lead["request"], "accepted_at": time.time(), "tries": 1})
            await self._queue.lpush(QUEUE, message)
            return reply(202, {"accepted": 1})
        assert self._pool is not None
        rep = await self._design(self._pool, lead["request"])
        return reply(200, {"lead": lead["request"], "rep": {"id": rep} if rep is not None else None})

    async def _open(self, size: int) -> None:
        await self._close()
        if self._design is None:
            assert self._valkey is not None
            self._queue = redis.Redis.from_url(self._valkey, max_connections=size)
            await self._queue.ping()
        else:
            self._pool = await asyncpg.create_pool(self._dsn, min_size=size, max_size=size, reset=as_it_is)

    async def _close(self) -> None:
        if self._pool is not None:
            await self._pool.close()
            self._pool = None
        if self._queue is not None:
            await self._queue.aclose()
            self._queue = None


if __name__ == "__main__":
    ask = argparse.ArgumentParser()
    ask.add_argument("--router", choices=[*DESIGNS, QUEUED], required=True)
    ask.add_argument("--dsn", required=True)
    ask.add_argument("--port", type=int, required=True)
    ask.add_argument("--valkey")
    args = ask.parse_args()
    uvloop.run(http_server(App(args.router, args.dsn, args.valkey)).serve(listen("127.0.0.1", args.port)))
