"""One who waits for an owner on the short way: nearly always for one step of the lane, and then without a task."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fairturn.errors import Overloaded
from fairturn.flow.sync import Became, Store
from fairturn.model import Arrival, Assigned


class Caller:
    """Either `tell` is called, with what was decided or why it is refused, or `longer`, with the seconds that are left
    and the event durable: once. Nothing before `wait`.
    """

    __slots__ = ("_arrival", "_longer", "_store", "_tell", "_timer", "_until")

    def __init__(
        self,
        arrival: Arrival,
        tell: Callable[[Assigned | Overloaded], None],
        longer: Callable[[float], None],
        store: Store,
    ) -> None:
        self._arrival = arrival
        self._tell = tell
        self._longer = longer
        self._store = store
        self._until = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def wait(self, deadline: float) -> None:
        """From here on, `deadline` seconds at most."""
        loop = asyncio.get_running_loop()
        self._until = loop.time() + deadline
        self._timer = loop.call_later(deadline, self._late)

    def told(self, became: Became) -> None:
        if self._timer is None:  # let go at the deadline
            return
        self._timer.cancel()
        self._timer = None
        if became is None or (isinstance(became, Assigned) and became.status == "waiting"):
            self._longer(max(self._until - asyncio.get_running_loop().time(), 0.0))
        else:
            self._tell(became)

    def _late(self) -> None:
        """The step that has the event may wait for another's locks: nobody is let go before it is stored."""
        self._timer = None
        try:
            self._store(self._arrival, self._stored)
        except Overloaded as error:
            self._tell(error)

    def _stored(self, error: Overloaded | None) -> None:
        if error is None:
            self._longer(0.0)
        else:
            self._tell(error)
