"""The second writer: somebody else, or another integration, who works in the CRM while the client does.

Every `every` simulated seconds it moves the owner of some records, or edits fields, and the evidence names it.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from crmsim.clock import Clock
from crmsim.signals import Bell

KEYS = ("every", "records", "times", "object", "ids", "emails", "to", "fields", "by", "seed")


@dataclass(frozen=True, slots=True)
class Habit:
    """What a second writer does. Without `ids` and `emails` it takes any record that is open."""

    every: float
    records: int
    times: int | None
    object: str
    named: frozenset[str]  # ids as the CRM keeps them, and lower-cased e-mails
    owners: tuple[str, ...]  # ids
    fields: Mapping[str, Any]
    by: str
    seed: int


Turn = Callable[[Habit, random.Random], AsyncIterator[bool]]  # one turn: of each record tried, whether it was changed


@dataclass(slots=True)
class Writers:
    """The second writers at work."""

    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    begun: int = 0
    turns: int = 0
    changes: int = 0

    def begin(self, clock: Clock, bell: Bell, wanted: Habit, turn: Turn) -> None:
        task = asyncio.get_running_loop().create_task(self._work(clock, bell, wanted, turn))
        self.begun += 1
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _work(self, clock: Clock, bell: Bell, wanted: Habit, turn: Turn) -> None:
        dice, done = random.Random(f"hands:{wanted.seed}"), 0
        while wanted.times is None or done < wanted.times:
            await clock.sleep(wanted.every)
            done += 1
            async for changed in turn(wanted, dice):
                self.changes += changed
            self.turns += 1
            bell.ring()

    def stop(self) -> None:
        stopped, self.tasks = self.tasks, set()
        for task in stopped:
            task.cancel()

    def report(self) -> dict[str, int]:
        return {"at_work": len(self.tasks), "turns": self.turns, "changes": self.changes}
