"""What people build: one process, one request at a time into PostgreSQL, or an echo on the usual stack.

    python -m bench.bare insert 8081 [DSN]

`insert` and the two `skip_locked` run on the intake's server with its very settings and take the same signed requests,
but look at neither signature nor JSON: all in their favour. `skip_locked` keeps the request's number and its rep, if it
got one; `skip_locked_kept` keeps the webhook too, in the same statement. GET /open/N opens N warm connections and GET
/close closes them, so that they are there only while their server is measured. `echo_starlette` is Starlette on uvicorn
as it comes.
"""

from __future__ import annotations

import sys
from typing import Final

import asyncpg
import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bench.echo import BODY
from bench.race.designs import SCHEMA, SKIP_LOCKED
from fairturn.assemble.listening import listen
from fairturn.assemble.roles import http_server
from fairturn.intake.wire import Receive, Reply, Scope, Send, reply, respond

PREPARE: Final = (
    SCHEMA
    + """
insert into reps (slot, rep, last_assigned_at)
select n, 'rep-' || n, now() - make_interval(secs => 10 - n) from generate_series(0, 9) as n;
create table arrived (
    id bigint generated always as identity primary key, body bytea not null, at timestamptz not null default now()
);
"""
)
INSERT: Final = "insert into arrived (body) values ($1) returning id"
KEPT: Final = SKIP_LOCKED.replace("with chosen", "with kept as (insert into arrived (body) values ($3)), chosen", 1)
FINE: Final = reply(200, {"status": "ok"})
TAKEN: Final = Reply(202, BODY)


async def as_it_is(_: asyncpg.Connection) -> None:
    """Between two uses of a connection: nothing, as Fairturn has it; asyncpg's own is a round trip."""


class App:
    def __init__(self, name: str, dsn: str) -> None:
        self._locks = name != "insert"
        self._keeps = name == "skip_locked_kept"
        self._dsn = dsn
        self._pool: asyncpg.Pool | None = None
        self._number = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        path: str = scope["path"]
        if path.startswith("/in/"):
            answer = await self._take(body)
        else:
            await self._sized(int(path[6:]) if path.startswith("/open/") else 0)
            answer = FINE
        await respond(send, answer)

    async def _take(self, body: bytes) -> Reply:
        assert self._pool is not None
        if not self._locks:
            await self._pool.fetchval(INSERT, body)
            return TAKEN
        self._number += 1
        if self._keeps:
            rep = await self._pool.fetchval(KEPT, self._number, 1, body)
        else:
            rep = await self._pool.fetchval(SKIP_LOCKED, self._number, 1)
        return reply(200, {"lead": self._number, "rep": {"id": rep} if rep is not None else None})

    async def _sized(self, size: int) -> None:
        if self._pool is not None:
            await self._pool.close()
            self._pool = None
        if size:
            self._pool = await asyncpg.create_pool(self._dsn, min_size=size, max_size=size, reset=as_it_is)


async def starlette_echo(request: Request) -> Response:
    await request.body()
    return Response(BODY, 202, media_type="application/json")


def main() -> None:
    name, port = sys.argv[1], int(sys.argv[2])
    if name == "echo_starlette":
        app = Starlette(routes=[Route("/in/{source}", starlette_echo, methods=["POST"]), Route("/", starlette_echo)])
        uvicorn.run(app, port=port, access_log=False, log_level="warning")
    else:
        uvloop.run(http_server(App(name, sys.argv[3])).serve(listen("127.0.0.1", port)))


if __name__ == "__main__":
    main()
