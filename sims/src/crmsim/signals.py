"""Two ways to meet the simulator at an exact step: hold a request until released, wait until something has happened."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Gate:
    """Where faults rest: for their time, or until somebody opens."""

    resting: list[asyncio.Future[None]] = field(default_factory=list)

    async def rest(self, real_seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        self.resting.append(future)
        try:
            await asyncio.wait({future}, timeout=real_seconds)
        finally:
            if future in self.resting:
                self.resting.remove(future)

    def open(self) -> int:
        """Let all who rest go on; how many they are."""
        released, self.resting = self.resting, []
        for future in released:
            if not future.done():
                future.set_result(None)
        return len(released)


@dataclass(slots=True)
class Bell:
    """Rung at each arrival, wait, commit and answer; whoever waits looks again."""

    listeners: set[asyncio.Future[None]] = field(default_factory=set)

    def ring(self) -> None:
        for future in self.listeners:
            if not future.done():
                future.set_result(None)
        self.listeners.clear()

    async def until(self, holds: Callable[[], bool], real_seconds: float) -> bool:
        """True once the condition holds, False if it does not within the time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + real_seconds
        while not holds():
            left = deadline - loop.time()
            if left <= 0:
                return False
            future: asyncio.Future[None] = loop.create_future()
            self.listeners.add(future)
            await asyncio.wait({future}, timeout=left)
            self.listeners.discard(future)
        return True
