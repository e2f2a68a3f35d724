"""The second writer of an org: its habit, and one turn of it."""

import random
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from crmsim.clock import Clock, stamp
from crmsim.evidence import Evidence
from crmsim.salesforce import ids, planting
from crmsim.salesforce.locks import LockTable
from crmsim.salesforce.org import Author, Org, Record
from crmsim.second_writer import KEYS, Habit


def habit(org: Org, body: Mapping[str, Any]) -> Habit:
    """Raises ValueError that names what is wrong."""
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
        planting.user_or_words(org, str(body.get("by", "a second writer"))), int(body.get("seed", 0)),
    )  # fmt: skip


@dataclass(slots=True)
class Place:
    """Where a second writer works, as long as the simulator is not reset."""

    org: Org
    locks: LockTable
    clock: Clock
    evidence: Evidence
    patience: float  # simulated seconds that it waits for a row
    holder: int  # holds its locks under this, a negative number: requests count from 1


async def turn(place: Place, wanted: Habit, dice: random.Random) -> AsyncIterator[bool]:
    for record in _chosen(place.org, wanted, dice):
        yield await _save(place, wanted, record, dice)


def _chosen(org: Org, wanted: Habit, dice: random.Random) -> list[Record]:
    open_ones = [record for record in org.live(wanted.object) if not record.values.get("IsConverted")]
    some = [record for record in open_ones if not wanted.named or _is_named(record, wanted.named)]
    return dice.sample(some, min(wanted.records, len(some)))


async def _save(place: Place, wanted: Habit, record: Record, dice: random.Random) -> bool:
    """One save: it waits for the row's lock as every writer does, and gives up where the wait is too long."""
    others = [one for one in wanted.owners if one != record.values.get("OwnerId")]
    values = dict(wanted.fields) | ({"OwnerId": dice.choice(others)} if others else {})
    place.evidence.bell.ring()
    if not await place.locks.take(record.id, place.holder, place.clock.real(place.patience)):
        return False
    try:
        if record.deleted or all(record.values.get(name) == value for name, value in values.items()):
            return False
        author = Author(wanted.by, "hand", None, stamp())
        version = place.org.log(place.org.update(record, values, author))
        place.evidence.write_line({"commit": None, "versions": [version.json()]})
        return True
    finally:
        place.locks.release(record.id, place.holder)


def _is_named(record: Record, named: frozenset[str]) -> bool:
    return record.id in named or str(record.values.get("Email")).casefold() in named
