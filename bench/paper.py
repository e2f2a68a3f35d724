"""Tables that a terminal and a page show alike."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan


def cpu(seconds: float | None) -> str:
    return "" if seconds is None or isnan(seconds) else f"{1000 * seconds:.0f}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned, so that a terminal can read it too."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        shown = [cell.rjust(w) if n else cell.ljust(w) for n, (cell, w) in enumerate(zip(cells, widths, strict=True))]
        return f"| {' | '.join(shown)} |"

    rule = ["-" * w if n == 0 else "-" * (w - 1) + ":" for n, w in enumerate(widths)]
    return "\n".join([line(head), f"| {' | '.join(rule)} |", *map(line, rows)])
