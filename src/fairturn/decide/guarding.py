"""Which fields of a record may be written over what the CRM has: the modes of a mapping.

A new record gets every field. On one that is there, a field is written by its mode, and only where it says something
new; without a mode, only where the CRM has no value or still has the one that we wrote.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairturn.config import MapTo
from fairturn.decide.collapsing import seen

Record = Mapping[str, object]


def guarded(
    record: Record, modes: Mapping[str, MapTo], *, new: bool, wrote: Record | None, current: Record | None
) -> dict[str, object]:
    """The fields of `record` to send. wrote: as we last wrote them and the CRM took them. current: the CRM's own
    values, as last read; None: nothing was read, so what we wrote is what is there.
    """
    if new:
        return dict(record)
    wrote = wrote or {}
    return {name: value for name, value in record.items() if _may(modes.get(name), name, value, wrote, current)}


def _may(way: MapTo | None, name: str, value: object, wrote: Record, current: Record | None) -> bool:
    if name in wrote and seen(value) == seen(wrote[name]):
        return False  # said before: if it was changed there since, that was somebody else
    there = current.get(name) if current is not None and name in current else wrote.get(name)
    if current is not None and name in current and seen(value) == seen(there):
        return False
    match mode_of(way):
        case "always":
            return True
        case "create_only":
            return False
        case "forward":
            return way is not None and _is_forward(way.order, value, there)
        case "never_unset":
            return not (seen(there) not in (None, ("bool", False)) and seen(value) in (None, ("bool", False)))
        case _:
            return seen(there) is None or (name in wrote and seen(there) == seen(wrote[name]))


def mode_of(way: MapTo | None) -> str:
    """What an assignment made is ours to keep up to date; anything else gives way to what is there."""
    if way is None:
        return "if_empty"
    return way.mode or ("always" if way.assignment else "if_empty")


def _is_forward(order: tuple[str, ...], value: object, there: object) -> bool:
    """A stage that the list does not know is somebody's own: it is left alone."""
    places = {step.casefold(): place for place, step in enumerate(order)}
    ahead = places.get(str(value).casefold())
    if ahead is None:
        return False
    if seen(there) is None:
        return True
    at = places.get(str(there).casefold())
    return at is not None and ahead > at
