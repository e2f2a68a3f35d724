"""Rows of figures, as the files of results hold them, and how a page writes a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isnan
from textwrap import fill
from typing import Any

Row = Mapping[str, Any]
Found = Mapping[str, Any]


def pick(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """Those that have all of these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def one(rows: Iterable[Row], **wanted: object) -> Row | None:
    found = pick(rows, **wanted)
    return found[0] if found else None


def whole(number: float | None) -> str:
    return "" if number is None or isnan(number) else f"{number:,.0f}"


def tenths(number: float | None) -> str:
    return "" if number is None or isnan(number) else f"{number:,.1f}"


def hundredths(number: float | None) -> str:
    return "" if number is None or isnan(number) else f"{number:,.2f}"


def percent(share: float | None, digits: int = 0) -> str:
    return "" if share is None or isnan(share) else f"{100 * share:.{digits}f} %"


def times(ratio: float | None) -> str:
    return "" if ratio is None or isnan(ratio) else f"{ratio:.1f} ×"


def milliseconds(number: float | None) -> str:
    """Two figures that mean something: 0.84, 8.4, 84, 840."""
    if number is None or isnan(number):
        return ""
    return f"{number:,.0f}" if number >= 20 else f"{number:.1f}" if number >= 1 else f"{number:.2f}"


def notes(found: Found) -> str:
    """What the measurement itself has to say of its figures, each a line."""
    return "\n".join(fill(f"- {line}", 120, subsequent_indent="  ") for line in found.get("notes", ()))


def largest(rows: Iterable[Row], name: str) -> Any:
    return max((row[name] for row in rows), default=None)
