"""What the events of one lead add up to, in whatever order they come.

Per field: the latest event time wins; ties go to the source of higher rank, then to the event that came later in the
journal, then to the larger event id. An event that is read again (a replay under a mended mapping) replaces what it
said.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from fairturn.decide.mapping import Mapped
from fairturn.decide.names import split_name
from fairturn.model import Fields, FieldState, FieldValue

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)


def merge(fields: Fields, incoming: Mapping[str, FieldState]) -> Fields:
    """Commutative, associative and idempotent over events; neither argument is changed."""
    if not fields:  # the first event of a lead, as most are
        return dict(incoming)
    merged = dict(fields)
    for name, state in incoming.items():
        there = merged.get(name)
        if there is None or not precedes(state, there):
            merged[name] = state
    return merged


def precedes(one: FieldState, other: FieldState) -> bool:
    return (one.at_us, one.rank, one.event) < (other.at_us, other.rank, other.event)


def combine(older: Fields, younger: Fields) -> Fields:
    """The fields of two leads that turn out to be one person; ages play no part, only the events do."""
    return merge(older, younger)


def incoming(mapped: Mapped, event_id: bytes, rank: int, serial: int = 0) -> dict[str, FieldState]:
    """An event's word on each field it speaks of; erased fields carry None.

    With `serial`, the event's place in the journal, two events of the same second are ordered as they came.
    """
    at_us = (mapped.occurred_at - EPOCH) // MICROSECOND
    event = f"{serial:016x}.{event_id.hex()}" if serial else event_id.hex()
    states = {name: FieldState(value, at_us, rank, event) for name, value in mapped.values.items()}
    for name in mapped.cleared:
        states[name] = FieldState(None, at_us, rank, event)
    return states


def event_of(state: FieldState) -> bytes:
    """The id of the event that set this value."""
    return bytes.fromhex(state.event.rpartition(".")[2])


def plain(fields: Fields) -> dict[str, FieldValue]:
    """The values as rules and destinations see them: nothing erased, and first and last name taken from the full name
    where no event gave them. (Worked out here and not per event: a guess never stands against a name that was given.)
    """
    values: dict[str, FieldValue] = {name: state.value for name, state in fields.items() if state.value is not None}
    full = values.get("full_name")
    if isinstance(full, str) and not ("first_name" in values and "last_name" in values):
        first, last = split_name(full)
        if "last_name" not in values and "first_name" not in values:
            values |= {"first_name": first, "last_name": last} if first else {"last_name": last}
        elif "last_name" not in values and last != values["first_name"]:
            values["last_name"] = last
        elif "first_name" not in values and first and last == values["last_name"]:
            values["first_name"] = first
    return values


def dump(fields: Fields) -> dict[str, list[FieldValue]]:
    """For the jsonb column: field -> [value, event time in µs, rank, event]."""
    return {name: [state.value, state.at_us, state.rank, state.event] for name, state in fields.items()}


def load(stored: Mapping[str, list[FieldValue]]) -> Fields:
    """What `dump` made. Raises ValueError, naming the field, for anything else."""
    fields = {}
    for name, row in stored.items():
        match row:
            case [value, int(at_us), int(rank), str(event)]:
                fields[name] = FieldState(value, at_us, rank, event)
            case _:
                raise ValueError(f"the stored field {name!r} is not [value, time, rank, event]: {row!r:.200}")
    return fields
