"""The second writer: somebody else, or another integration, who works in the account while the client does.

Every `every` simulated seconds it moves the owner of some records, or edits properties, and the evidence names it.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from crmsim.clock import Clock

KEYS = ("every", "records", "times", "object", "ids", "emails", "to", "fields", "by", "seed")


@dataclass(frozen=True, slots=True)
class Habit:
    """What a second writer does. Without `ids` and `emails` it takes any record."""

    every: float
    records: int
    times: int | None
    object: str
    named: frozenset[str]  # ids and lower-cased e-mails
    owners: tuple[str, ...]
    fields: Mapping[str, str]
    by: str
    seed: int


@dataclass(slots=True)
class Writers:
    """The second writers at work."""

    tasks: "set[asyncio.Task[None]]" = field(default_factory=set)
    turns: int = 0
    changes: int = 0

    def begin(self, clock: Clock, wanted: Habit, turn: Callable[[Habit, random.Random], int]) -> None:
        """`turn` does one turn and says how many records it changed."""
        task = asyncio.get_running_loop().create_task(self._work(clock, wanted, turn))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _work(self, clock: Clock, wanted: Habit, turn: Callable[[Habit, random.Random], int]) -> None:
        dice, done = random.Random(f"hands:{wanted.seed}"), 0
        while wanted.times is None or done < wanted.times:
            await clock.sleep(wanted.every)
            done += 1
            changed = turn(wanted, dice)
            self.turns += 1
            self.changes += changed

    def stop(self) -> None:
        stopped, self.tasks = self.tasks, set()
        for task in stopped:
            task.cancel()

    def report(self) -> dict[str, int]:
        return {"at_work": len(self.tasks), "turns": self.turns, "changes": self.changes}
