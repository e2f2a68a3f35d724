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
SMALL = 10  # records; a request of fewer that is slow is slow by itself
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
    """The sizes after the requests of one answer, in whatever order they are told. most: what the API takes. now:
    seconds since 1970.

    What broke with no more records than another request carried cleanly broke on one of its records, not on their
    number: it teaches nothing here.
    """
    found = dict(sizes)
    for name in {load.object_type for load in loads}:
        mine = sorted((load for load in loads if load.object_type == name), key=lambda load: load.records)
        clean = [load for load in mine if not load.overloaded]
        most_clean = max((load.records for load in clean), default=0)
        broken = [load for load in mine if load.overloaded and load.records > most_clean]
        size = found.get(name, start(most))
        for load in (*reversed(broken), *clean):
            size = after(size, load, most, now)
        found[name] = size
    return found


def after(size: Size, load: Load, most: int, now: float) -> Size:
    """One request's lesson: broken or slow, half of it; clean and full, the double, but never what broke lately."""
    size = replace(size, records=max(1, min(size.records, most)))
    if load.overloaded:
        return _broken(size, load, now)
    if load.seconds > SLOW and load.records >= max(SMALL, size.records // 2):
        # A lock that was waited for, or a slow day, looks the same: it makes requests smaller, and not tiny.
        return replace(size, records=min(size.records, max(SMALL, size.records // 2)))
    return _clean(size, load, most, now)


def _broken(size: Size, load: Load, now: float) -> Size:
    if load.records <= 1:
        return size  # one record by itself: its own fault
    half = max(1, min(size.records, load.records) // 2)
    lately = size.broke is not None and now - size.broke_at <= FORGET
    return Size(half, min(size.broke or load.records, load.records) if lately else load.records, now)


def _clean(size: Size, load: Load, most: int, now: float) -> Size:
    broke = size.broke
    if broke is not None and (load.records >= broke or now - size.broke_at > FORGET):
        broke = None
    if load.records < size.records:
        return replace(size, broke=broke)
    room = most if broke is None else (load.records + broke) // 2
    quick = int(load.records * SLOW / max(load.seconds, 0.001))  # as many as would not be slow, at this pace
    return replace(size, records=max(size.records, min(most, room, load.records * 2, quick)), broke=broke)
