"""What each CRM has of a lead, and what it would have been sent in shadow mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from fairturn.views import Story

Record = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Kept:
    """Of one destination."""

    destination: str
    written: Record | None  # every field as the CRM last confirmed it
    written_at: datetime | None
    shadow: Record | None  # what the last write in shadow mode would have sent; None once something was really sent
    shadow_at: datetime | None


def kept(story: Story) -> tuple[Kept, ...]:
    """In the order of the destinations' names; those that were told nothing yet have neither record."""
    found = []
    for change in story.changes:
        mine = [write for write in story.writes if write.destination == change.destination and write.answered_at]
        written = next((write for write in reversed(mine) if write.outcome == "written"), None)
        shadow = next((write for write in reversed(mine) if write.outcome == "shadow"), None)
        if shadow and written and shadow.sent_at < written.sent_at:
            shadow = None
        found.append(
            Kept(
                change.destination,
                change.record,
                written.answered_at if written else None,
                shadow.record if shadow else None,
                shadow.answered_at if shadow else None,
            )
        )
    return tuple(found)


def in_words(record: Record) -> str:
    """Email = jane@acme.com; Company = Acme"""
    return "; ".join(f"{name} = {shown(value)}" for name, value in record.items())


def shown(value: object) -> str:
    if isinstance(value, Mapping):  # a lookup: {"Fairturn_Key__c": "acme.com"}
        return " ".join(map(str, value.values()))
    return "(empty)" if value in (None, "") else str(value)


MARKS = {
    "nul": "NUL characters were replaced: no database and no CRM keeps them",
    "surrogate": "half characters (lone surrogates) were replaced",
    "charset": "its charset was unknown or wrong, and read as well as it could be",
    "control": "control characters stood in its texts",
    "big number": "it held numbers of more than 15 digits, read exactly",
}


def mark_in_words(mark: str) -> str:
    """What was odd in an event: of its bytes, as they were cleaned at the door, or of a field, as it was mapped."""
    return MARKS.get(mark, mark)


def kept_json(one: Kept) -> dict[str, object]:
    return {
        "destination": one.destination,
        "written": one.written,
        "written_at": one.written_at,
        "shadow": one.shadow,
        "shadow_at": one.shadow_at,
    }
