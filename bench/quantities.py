"""Figures of the command line: what makes no sense is refused before anything is started."""

from __future__ import annotations

import argparse
from math import isfinite


def count(text: str) -> int:
    """A whole number, 1 or more."""
    try:
        found = int(text.replace("_", ""))
    except ValueError:
        found = 0
    if found < 1:
        raise argparse.ArgumentTypeError(f"{text}: a whole number, 1 or more")
    return found


def counts(text: str) -> list[int]:
    """Several, with commas between them."""
    return [count(part.strip()) for part in text.split(",")]


def amount(text: str) -> float:
    """More than nothing, and less than for ever."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not (isfinite(found) and found > 0):
        raise argparse.ArgumentTypeError(f"{text}: a number greater than 0")
    return found


def cost(text: str) -> float:
    """An amount, or nothing."""
    return 0.0 if text.strip() == "0" else amount(text)


def amounts(text: str) -> list[float]:
    """Several, with commas between them; none at all is an answer too."""
    return [amount(part.strip()) for part in text.split(",") if part.strip()]
