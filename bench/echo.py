"""The limit: the intake's server with its very settings, and an application that reads the body and answers 202."""

from __future__ import annotations

import sys
from typing import Final

import uvloop

from fairturn.assemble.listening import listen
from fairturn.assemble.roles import http_server
from fairturn.intake.wire import Receive, Scope, Send

HEADERS: Final = [(b"content-type", b"application/json"), (b"content-length", b"65")]
# As long as Fairturn's own answer.
BODY: Final = b'{"accepted":1,"events":["00000000000000000000000000000000"]}     '


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body", False):
        continue
    await send({"type": "http.response.start", "status": 202, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})


if __name__ == "__main__":
    uvloop.run(http_server(echo).serve(listen("127.0.0.1", int(sys.argv[1]))))
