"""The handler that most people write: each webhook at once, one search and one write, and the answer when it is done.

    python -m bench.tail.sync --port 8080 --crm salesforce --url http://127.0.0.1:9090

A failed call is the end of it: no retry, as in the hand-written handlers and workflow recipes that we have read. It is
fast and asynchronous, so that what fails fails for the CRM's reasons and not for its own.
"""

from __future__ import annotations

import argparse

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bench.tail.calls import Crm, Refused, Row, connect, values_of


def application(crm: Crm) -> Starlette:
    async def webhook(request: Request) -> Response:
        told = orjson.loads(await request.body())
        try:
            record = await crm.find(told["email"])
            await crm.write(Row(told["email"], values_of(told), record))
        except Refused as error:
            return Response(str(error), 502)
        return Response(status_code=200)

    async def ready(_: Request) -> Response:
        await crm.open()
        return Response(status_code=200)

    return Starlette(routes=[Route("/in/{source}", webhook, methods=["POST"]), Route("/readyz", ready)])


def arguments() -> argparse.ArgumentParser:
    ask = argparse.ArgumentParser()
    ask.add_argument("--port", type=int, required=True)
    ask.add_argument("--crm", required=True)
    ask.add_argument("--url", required=True)
    return ask


if __name__ == "__main__":
    args = arguments().parse_args()
    uvicorn.run(application(connect(args.crm, args.url)), port=args.port, log_level="warning", access_log=False)
