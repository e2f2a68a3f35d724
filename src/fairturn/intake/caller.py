"""One who waits for an owner on the short way: nearly always for one step of the lane, and then without a task."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fairturn.model import Assigned

# Of one event: `tell` is called once the lane's step is over, with None where it is not routed then.
Enter = Callable[[bytes, Callable[[Assigned | None], None]], None]


class Caller:
    """Either `tell` is called, with what was decided, or `longer`, with the seconds that are left: once."""

    __slots__ = ("_longer", "_tell", "_timer", "_until")

    def __init__(self, deadline: float, tell: Callable[[Assigned], None], longer: Callable[[float], None]) -> None:
        self._tell = tell
        self._longer = longer
        loop = asyncio.get_running_loop()
        self._until = loop.time() + deadline
        self._timer: asyncio.TimerHandle | None = loop.call_later(deadline, self._late)

    def told(self, became: Assigned | None) -> None:
        if self._timer is None:  # let go at the deadline
            return
        self._timer.cancel()
        self._timer = None
        if became is None or became.status == "waiting":
            self._longer(max(self._until - asyncio.get_running_loop().time(), 0.0))
        else:
            self._tell(became)

    def _late(self) -> None:
        self._timer = None
        self._longer(0.0)
