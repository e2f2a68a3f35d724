"""How facts are shown: tables and sentences for people, JSON for programs; nothing in them can steer a terminal.

Names, companies and messages come from strangers. Control characters (an escape sequence would recolour, retitle or
rewrite the operator's screen), line breaks and marks that turn the writing direction are shown as what they are.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import orjson
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

# C0, DEL and C1; line and paragraph separators; marks of writing direction (CVE-2021-42574); the byte order mark.
ODD = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
WIDE = 160  # columns of a pipe: nothing is cut because nobody looks at it


def out() -> Console:
    """Standard output. In a pipe: no colours, and wide enough for every cell."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDE
    return Console(highlight=False, markup=False, emoji=False, width=width)


def err() -> Console:
    return Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def clean(text: object, limit: int | None = None) -> str:
    """One line of text that a terminal shows as it stands."""
    shown = ODD.sub(" ", "" if text is None else str(text))
    shown = " ".join(shown.split())
    return shown if limit is None or len(shown) <= limit else shown[: limit - 1] + "…"


def say(*lines: str) -> None:
    """Lines of prose. Blanks at their beginning are kept."""
    console = out()
    for line in lines:
        indent = line[: len(line) - len(line.lstrip(" "))]
        console.print(Text(indent + clean(line)), soft_wrap=True)


def whisper(line: str) -> None:
    """Beside the answer: on standard error, so that pipes stay clean."""
    err().print(Text(clean(line)), soft_wrap=True)


def as_json(value: object) -> None:
    """Two-space indented JSON, times as RFC 3339 in UTC; characters that steer a terminal are escaped."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z, default=_plain).decode()
    sys.stdout.write(re.sub(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]", _escaped, text) + "\n")


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, frozenset | set):
        return sorted(value)
    raise TypeError


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: Sequence[int] = (),
    whole: Sequence[int] = (),
) -> None:
    """The last column takes what room there is, the others keep their words whole.

    right: columns of numbers. whole: columns that are copied, such as ids, never broken.
    """
    console = out()
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", expand=False)
    for place, heading in enumerate(headings):
        last = place == len(headings) - 1
        made.add_column(
            heading,
            justify="right" if place in right else "left",
            overflow="fold",
            ratio=1 if last else None,
            no_wrap=place in whole,
        )
    for row in rows:
        made.add_row(*(Text(clean(cell)) for cell in row))
    console.print(made)


def ago(then: datetime | None, now: datetime | None = None) -> str:
    """How long since, in the two words that matter: "3 min", "2 h", "5 d"."""
    if then is None:
        return ""
    seconds = max(0.0, ((now or datetime.now(UTC)) - then).total_seconds())
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


def at(moment: datetime | None) -> str:
    """A time on this machine's clock, with its zone."""
    return "" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def many(count: int, noun: str, nouns: str | None = None) -> str:
    """1 lead, 2 leads, 12,000 leads"""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"
