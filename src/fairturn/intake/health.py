"""/healthz: this process answers. /readyz: it could store an event now."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from fairturn.errors import FairturnError, StoreUnavailable
from fairturn.intake.wire import Reply, reply

FRESH: Final = 1.0  # seconds that an answer serves everybody who asks: probes must not load the database
PATIENCE: Final = 5.0

ALIVE: Final = reply(200, {"status": "ok"})
READY: Final = reply(200, {"status": "ready"})


class Readiness:
    """Asks `check`, which raises when the store is away or its schema is not ours."""

    def __init__(self, check: Callable[[], Awaitable[object]]) -> None:
        self._check = check
        self._asking: asyncio.Task[Reply] | None = None
        self._asked = float("-inf")

    async def __call__(self) -> Reply:
        now = asyncio.get_running_loop().time()
        if self._asking is None or (self._asking.done() and now - self._asked > FRESH):
            self._asked = now
            self._asking = asyncio.create_task(self._ask(), name="readyz")
        return await asyncio.shield(self._asking)

    async def _ask(self) -> Reply:
        try:
            async with asyncio.timeout(PATIENCE):
                await self._check()
        except (StoreUnavailable, TimeoutError, OSError):
            return reply(503, {"status": "not ready", "why": "The database does not answer."})
        except FairturnError as error:
            # The class, not the message: a probe's answer is open to anybody.
            return reply(503, {"status": "not ready", "why": f"{type(error).__name__}: see `fairturn db status`."})
        return READY
