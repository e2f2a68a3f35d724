"""When changes leave, and which ones leave together. A window policy is data; nothing here waits or counts time.

`adaptive`: once the oldest change is ripe and a slot is free, everything pending that may go leaves with it, so that
departures are at least `linger` apart whatever the CRM's speed. `fixed`: at every multiple of `every` since 1970.
`none`: one by one, as the synchronous tools do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from fairturn.decide.pacing import Priority
from fairturn.model import Ripening

RANK: Mapping[str, int] = {"high": 0, "normal": 1, "bulk": 2}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Pending:
    """What a destination does not know yet, and what is on its way to it."""

    now: datetime  # PostgreSQL's
    rows: tuple[Ripening, ...]  # oldest first within priority, and the one that is due next
    busy: frozenset[int]  # accounts in a request now
    in_flight: int  # requests open


@dataclass(frozen=True, slots=True)
class Window:
    """Seconds, requests and records. `lingers`: by priority, where a daily budget stretches them."""

    kind: Literal["adaptive", "fixed", "none"] = "adaptive"
    linger: float = 2.0
    max_wait: float = 15.0
    every: float = 15.0
    max_slots: int = 4
    max_records: int = 200
    lingers: Mapping[Priority, float] = field(default_factory=dict)

    def linger_of(self, priority: Priority) -> float:
        return max(self.linger, self.lingers.get(priority, 0.0))

    def max_wait_of(self, priority: Priority) -> float:
        """The bound of waiting for company; a budget that runs low may hold a change longer than that."""
        return max(self.max_wait, self.linger_of(priority))


@dataclass(frozen=True, slots=True)
class Departure:
    """`leads` leave now, in this order. Without any: nothing can leave before `next_at` (None: not by time alone)."""

    leads: tuple[int, ...]
    next_at: datetime | None


def ripe(pending: Pending, window: Window, now: datetime) -> Departure:
    """What leaves now. `now` is PostgreSQL's, as are the times of the rows."""
    able = sorted(
        (row for row in pending.rows if row.due_at <= now and row.account not in pending.busy),
        key=lambda row: (RANK[row.priority], row.first_event_at, row.lead),
    )
    due = [row.due_at for row in pending.rows if row.due_at > now]
    if pending.in_flight >= window.max_slots:
        return Departure((), None)  # a settle will wake us
    if window.kind == "none":
        able = able[:1]
    opens = [_opens(row, pending.in_flight, len(able), window) for row in able]
    if able and min(opens) <= now:
        return Departure(_fill(able, window.max_records), None)
    return Departure((), min([*opens, *due], default=None))


def _opens(row: Ripening, in_flight: int, waiting: int, window: Window) -> datetime:
    """When this row makes a request leave: ripe with the first slot free, or with more than a full request waiting;
    while another request is out and there is no such crowd, only when it has waited for company long enough.
    """
    if window.kind == "none":
        return max(row.first_event_at, row.due_at)
    if window.kind == "fixed":
        ripe_at = _tick_after(row.first_event_at, window.every)
    else:
        ripe_at = row.first_event_at + timedelta(seconds=window.linger_of(row.priority))
    if in_flight and waiting <= window.max_records:
        ripe_at = max(ripe_at, row.first_event_at + timedelta(seconds=window.max_wait_of(row.priority)))
    return max(ripe_at, row.due_at)


def _tick_after(moment: datetime, every: float) -> datetime:
    step = timedelta(seconds=max(every, 0.001))
    return EPOCH + ((moment - EPOCH) // step + 1) * step


def _fill(able: Sequence[Ripening], limit: int) -> tuple[int, ...]:
    """Groups in the order of their first row, kept whole where they fit. A group larger than a request starts a request
    of its own and leaves in pieces: its account is busy meanwhile, so the pieces follow one another.
    """
    chosen: list[int] = []
    for group in _groups(able):
        room = limit - len(chosen)
        if len(group) <= room:
            chosen += group
        elif not chosen:
            chosen += group[:limit]
        if len(chosen) >= limit:
            break
    return tuple(chosen)


def _groups(able: Sequence[Ripening]) -> Iterator[list[int]]:
    """Leads by account, in the order of each account's first row. A lead without account is a group of its own."""
    groups: dict[tuple[str, int], list[int]] = {}
    for row in able:
        key = ("lead", row.lead) if row.account is None else ("account", row.account)
        groups.setdefault(key, []).append(row.lead)
    yield from groups.values()
