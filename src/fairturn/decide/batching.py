"""When changes leave, and which ones leave together. A window policy is data; nothing here waits or counts time.

`adaptive`: once the oldest change is ripe and a slot is free, everything pending that may go leaves with it, so that
departures are at least `linger` apart whatever the CRM's speed. `fixed`: at every multiple of `every` since 1970; those
who are to be asked about are asked about then, and come along.
`none`: one by one, as the synchronous tools do.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from fairturn.decide.pacing import Priority
from fairturn.model import Ripening

RANK: Mapping[str, int] = {"high": 0, "normal": 1, "bulk": 2}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PLACED = 0.15  # seconds in which a lead gets its owner once a CRM has answered about it
PLACED_EACH = 0.002  # the same for each of many, as a fixed window has them


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
    limits: Mapping[str | None, int] = field(default_factory=dict)  # object -> what the org swallows of it at once
    lingers: Mapping[Priority, float] = field(default_factory=dict)
    own: str | None = None  # the destination's own object, by name: rows that do not name theirs are of it
    company: float = 0.0  # seconds until those who are being asked about may come along
    idle: float = math.inf  # seconds since the last request landed; infinite: long ago

    def linger_of(self, priority: Priority) -> float:
        return max(self.linger, self.lingers.get(priority, 0.0))

    def max_wait_of(self, priority: Priority) -> float:
        """The bound of waiting for company; a budget that runs low may hold a change longer than that."""
        return max(self.max_wait, self.linger_of(priority))

    def objects_of(self, rows: Iterable[Ripening]) -> Counter[str | None]:
        """How many rows there are of each object: of one they go in one request, whether it is named or not."""
        return Counter(None if row.object_type == self.own else row.object_type for row in rows)

    def limit_of(self, object_type: str | None) -> int:
        return max(1, min(self.max_records, self.limits.get(object_type, self.max_records)))


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
    alone = pending.in_flight == 0 or _crowded(able, window)
    opens = [_opens(row, window, alone=alone) for row in able]
    if able and min(opens) <= now:
        # Each answer may renew the hope of company; what could leave a linger ago waits for none. Old rows that had to
        # wait for the slot could not: would they wait for no one now, whoever comes after would miss each request.
        patience = max(min(opens), _freed(window, now)) + timedelta(seconds=window.linger)
        if window.kind != "none" and window.company > 0 and now < patience and not _full(able, window):
            return Departure((), min(patience, now + timedelta(seconds=window.company)))
        return Departure(_fill(able, window), None)
    return Departure((), min([*opens, *due], default=None))


def _freed(window: Window, now: datetime) -> datetime:
    return EPOCH if math.isinf(window.idle) else now - timedelta(seconds=window.idle)


def company(
    asked_at: float | None, heard_at: float, left_at: float, linger: float, now: float, people: int = 0
) -> float:
    """Seconds that a request which could leave waits for leads that a CRM is being asked about: they are ripe once it
    has answered, and would follow in a request of their own. Times in seconds of one clock.

    asked_at: of the oldest look-up that is out. heard_at: of the last answer, which was about so many people. left_at:
    of the last request. An answer opens the way whatever else is asked meanwhile, and nobody waits for one longer than
    `linger`.
    """
    if heard_at > left_at:
        return max(0.0, heard_at + PLACED + people * PLACED_EACH - now)
    return 0.0 if asked_at is None else max(0.0, asked_at + linger - now)


def in_time(opens: float, lands: float | None, takes: float, most: float) -> float:
    """When a look-up leaves that may at `opens`: while a request is out nobody can be written, so that an answer before
    it lands only waits, and who comes meanwhile may still be asked about. Times in seconds of one clock.

    lands: when the request that is out will; None: none is. takes: from the question until its leads can be written.
    most: seconds that a look-up is held back; two that are out of step find it within a few rounds.
    """
    return opens if lands is None else max(opens, min(lands - takes, opens + most))


def _full(able: Sequence[Ripening], window: Window) -> bool:
    """Whether there is no room for company."""
    by_object = window.objects_of(able)
    return len(able) >= window.max_records or any(n >= window.limit_of(name) for name, n in by_object.items())


def _crowded(able: Sequence[Ripening], window: Window) -> bool:
    """Whether more than a full request waits."""
    by_object = window.objects_of(able)
    return len(able) > window.max_records or any(n > window.limit_of(name) for name, n in by_object.items())


def _opens(row: Ripening, window: Window, *, alone: bool) -> datetime:
    """When this row makes a request leave: once it is ripe, with the first slot free or more than a full request
    waiting (`alone`); else, while another request is out, only when it has waited for company long enough.
    """
    if window.kind == "none":
        return max(row.first_event_at, row.due_at)
    if window.kind == "fixed":
        ripe_at = tick_after(row.first_event_at, window.every)
    else:
        ripe_at = row.first_event_at + timedelta(seconds=window.linger_of(row.priority))
    if not alone:
        ripe_at = max(ripe_at, row.first_event_at + timedelta(seconds=window.max_wait_of(row.priority)))
    return max(ripe_at, row.due_at)


def tick_after(moment: datetime, every: float) -> datetime:
    step = timedelta(seconds=max(every, 0.001))
    return EPOCH + ((moment - EPOCH) // step + 1) * step


def _fill(able: Sequence[Ripening], window: Window) -> tuple[int, ...]:
    """Groups in the order of their first row, kept whole where they fit. A group larger than a request starts a request
    of its own and leaves in pieces: its account is busy meanwhile, so the pieces follow one another.
    """
    chosen: list[int] = []
    room = _Room(window)
    for group in _groups(able):
        if room.fits(group) or not chosen:
            chosen += [row.lead for row in group if room.take(row)]
        if room.total >= window.max_records:
            break
    return tuple(chosen)


@dataclass(slots=True)
class _Room:
    """What a request holds so far."""

    window: Window
    total: int = 0
    by_object: Counter[str | None] = field(default_factory=Counter)

    def fits(self, group: Sequence[Ripening]) -> bool:
        more = self.window.objects_of(group)
        return self.total + len(group) <= self.window.max_records and all(
            self.by_object[name] + n <= self.window.limit_of(name) for name, n in more.items()
        )

    def take(self, row: Ripening) -> bool:
        if not self.fits((row,)):
            return False
        self.total += 1
        self.by_object += self.window.objects_of((row,))
        return True


def _groups(able: Sequence[Ripening]) -> Iterator[list[Ripening]]:
    """Rows by account, in the order of each account's first row. A lead without account is a group of its own."""
    groups: dict[tuple[str, int], list[Ripening]] = {}
    for row in able:
        key = ("lead", row.lead) if row.account is None else ("account", row.account)
        groups.setdefault(key, []).append(row)
    yield from groups.values()
