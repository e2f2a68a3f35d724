"""The limit: the intake's server with its very settings, and an application that reads the body and answers 202.

    python -m bench.echo 8080 [--fast]

`--fast`: the same answer on the short way of plain webhooks (fairturn/intake/express.py), with nothing behind it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Final

import uvloop

from fairturn.assemble.listening import listen
from fairturn.assemble.roles import http_server
from fairturn.intake.express import Way
from fairturn.intake.wire import Header, Receive, Reply, Scope, Send

# As long as Fairturn's own answer.
BODY: Final = b'{"accepted":1,"events":["00000000000000000000000000000000"]}     '
HEADERS: Final = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]
ANSWER: Final = Reply(202, BODY)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body", False):
        continue
    await send({"type": "http.response.start", "status": 202, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})


class Short:
    most = 1_048_576

    def take(self, _headers: Sequence[Header], _body: bytes, tell: Callable[[Reply], None], /) -> None:
        tell(ANSWER)


class Fast:
    def __init__(self) -> None:
        self._way = Short()

    def way(self, target: bytes) -> Way | None:
        return self._way if target.startswith(b"/in/") else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await echo(scope, receive, send)


if __name__ == "__main__":
    app = Fast() if "--fast" in sys.argv else echo
    uvloop.run(http_server(app).serve(listen("127.0.0.1", int(sys.argv[1]))))
