"""How many records one request may carry, learnt per org and object: what an org's own automation can swallow.

An org's triggers and flows run once per request over all of its records, within limits of the transaction (SOQL
queries, CPU time). No setting tells where they break, so it is found out and remembered for a while.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fairturn.model import Load

START = 50  # records
SLOW = 5.0  # seconds; a lock is waited for 10 s, and others wait for ours
FORGET = 3_600.0  # seconds until a size that broke is tried again: automation changes


@dataclass(frozen=True, slots=True)
class Size:
    """Records per request of one object. `broke`: the smallest number that broke, and when (seconds since 1970)."""

    records: int = START
    broke: int | None = None
    broke_at: float = 0.0


def start(most: int) -> Size:
    """Of an object that nothing is known of. most: what the API takes."""
    return Size(min(START, max(1, most)))


def learnt(sizes: Mapping[str, Size], loads: Sequence[Load], most: int, now: float) -> dict[str, Size]:
    """The sizes after these requests. most: what the API takes. now: seconds since 1970."""
    found = dict(sizes)
    for load in loads:
        found[load.object_type] = after(found.get(load.object_type, Size(min(START, most))), load, most, now)
    return found


def after(size: Size, load: Load, most: int, now: float) -> Size:
    """One request's lesson: broken or slow, half of it; clean and full, the double, but never what broke lately."""
    if load.overloaded or load.seconds > SLOW:
        half = max(1, min(size.records, load.records) // 2)
        worse = load.records if size.broke is None else min(size.broke, load.records)
        return Size(half, worse, now) if load.overloaded else replace(size, records=half)
    if size.broke is not None and now - size.broke_at > FORGET:
        size = replace(size, broke=None)
    if load.records < size.records:
        return size
    room = most if size.broke is None else min(most, max(size.records, (size.records + size.broke) // 2))
    return replace(size, records=min(room, size.records * 2))
