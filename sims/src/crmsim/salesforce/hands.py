"""The second writer: somebody else, or another integration, who works in the org while the client does.

Every `every` simulated seconds it moves the owner of some records, or edits a field, and the evidence names it.
"""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crmsim.clock import Clock, stamp
from crmsim.evidence import Evidence
from crmsim.salesforce import ids, planting
from crmsim.salesforce.locks import LockTable
from crmsim.salesforce.org import Author, Org, Record

KEYS = ("every", "records", "times", "object", "ids", "emails", "to", "fields", "by", "seed")


@dataclass(frozen=True, slots=True)
class Habit:
    """What a second writer does. Without `ids` and `emails` it takes any open record."""

    every: float
    records: int
    times: int | None
    object: str
    named: frozenset[str]  # 15-character ids and lower-cased e-mails
    owners: tuple[str, ...]  # 18-character ids
    fields: Mapping[str, Any]
    by: str
    seed: int
    number: int  # holds its locks under this, a negative one: requests count from 1


def habit(org: Org, body: Mapping[str, Any], number: int) -> Habit:
    """The `number`-th habit. Raises ValueError that names what is wrong."""
    unknown = set(body) - set(KEYS)
    every = float(body.get("every", 0))
    sobject = org.sobject(str(body.get("object", "Lead")))
    if unknown or every <= 0 or sobject is None or not (body.get("to") or body.get("fields")):
        raise ValueError(f"a second writer has every > 0 (seconds), and to (owners) or fields; its keys are {KEYS}")
    fields = dict(body.get("fields", {}))
    wrong = [name for name in fields if name.lower() not in sobject.fields]
    if wrong:
        raise ValueError(f"{sobject.name} has no fields {wrong}")
    named = {ids.to15(str(one)) or str(one) for one in body.get("ids", ())}
    named |= {str(one).casefold() for one in body.get("emails", ())}
    times = body.get("times")
    return Habit(
        every, int(body.get("records", 1)), None if times is None else int(times), sobject.name, frozenset(named),
        tuple(planting.owner(org, str(one)) for one in body.get("to", ())),
        {sobject.fields[name.lower()].name: value for name, value in fields.items()},
        planting.user_or_words(org, str(body.get("by", "a second writer"))), int(body.get("seed", 0)), number,
    )  # fmt: skip


@dataclass(slots=True)
class Place:
    """Where a second writer works, as long as the simulator is not reset."""

    org: Org
    locks: LockTable
    clock: Clock
    evidence: Evidence
    patience: float  # simulated seconds that it waits for a row


@dataclass(slots=True)
class Hands:
    """The second writers at work."""

    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    turns: int = 0
    changes: int = 0
    begun: int = 0

    def begin(self, place: Place, wanted: Habit) -> None:
        task = asyncio.get_running_loop().create_task(self._work(place, wanted))
        self.begun += 1
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def stop(self) -> int:
        """How many were at work."""
        stopped, self.tasks = self.tasks, set()
        for task in stopped:
            task.cancel()
        return len(stopped)

    async def _work(self, place: Place, wanted: Habit) -> None:
        dice, turn = random.Random(f"hands:{wanted.seed}"), 0
        while wanted.times is None or turn < wanted.times:
            await place.clock.sleep(wanted.every)
            turn += 1
            for record in _chosen(place.org, wanted, dice):
                self.changes += await _save(place, wanted, record, dice, -wanted.number)
            self.turns += 1
            place.evidence.bell.ring()


def _chosen(org: Org, wanted: Habit, dice: random.Random) -> list[Record]:
    open_ones = [record for record in org.live(wanted.object) if not record.values.get("IsConverted")]
    some = [record for record in open_ones if not wanted.named or _is_named(record, wanted.named)]
    return dice.sample(some, min(wanted.records, len(some)))


async def _save(place: Place, wanted: Habit, record: Record, dice: random.Random, holder: int) -> bool:
    """One save: it waits for the row's lock as every writer does, and gives up where the wait is too long."""
    others = [one for one in wanted.owners if one != record.values.get("OwnerId")]
    values = dict(wanted.fields) | ({"OwnerId": dice.choice(others)} if others else {})
    place.evidence.bell.ring()
    if not await place.locks.take(record.id, holder, place.clock.real(place.patience)):
        return False
    try:
        if record.deleted or all(record.values.get(name) == value for name, value in values.items()):
            return False
        author = Author(wanted.by, "hand", None, stamp())
        version = place.org.log(place.org.update(record, values, author))
        place.evidence.write_line({"commit": None, "versions": [version.json()]})
        return True
    finally:
        place.locks.release(record.id, holder)


def _is_named(record: Record, named: frozenset[str]) -> bool:
    return record.id in named or str(record.values.get("Email")).casefold() in named
