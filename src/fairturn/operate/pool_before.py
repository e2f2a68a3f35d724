"""How a pool stood before one of its turns: from its first entry on, or back from now, whichever is nearer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fairturn.decide.auditing import Replay
from fairturn.decide.pool import Entry
from fairturn.decide.rewinding import Rewind
from fairturn.desk import Proofs, Snapshot

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Before:
    """A pool's record, up to a turn. Balances are in units of 1/(U*total) of a lead."""

    first: Mapping[str, int]  # balances before anything of this turn
    first_total: int
    credit: Mapping[str, int]
    paid: Entry | None  # the debt that was paid in this turn
    balances: Mapping[str, int]  # after that payment
    total: int
    number: int  # of the lead: those the pool gave so far, and this one


async def pool_before(proofs: Proofs, pool: str, seq: int, kind: str, progress: Progress) -> Before:
    """Before the entry `seq` of this kind. A turn may begin with a debt that is paid, the entry before."""
    async with proofs.snapshot() as snapshot:
        stored = (await snapshot.pools()).get(pool)
        if stored is not None and stored.seq - seq < seq:
            found = await _walked_back(snapshot, Rewind(stored), pool, seq, kind, progress)
            if found is not None:
                return found
        return await _replayed(snapshot, pool, seq, kind, progress)


async def _walked_back(
    snapshot: Snapshot, state: Rewind, pool: str, seq: int, kind: str, progress: Progress
) -> Before | None:
    paid: Entry | None = None
    total, done = state.seq - seq, 0
    async for entries in snapshot.entries_back(pool, seq - 1):
        for entry in entries:
            if entry.seq < seq:
                paid = entry if entry.kind == "paid" and kind == "turn" else None
            elif not state.undo(entry):
                return None
        done += len(entries)
        progress(pool, min(done, total), total)
        await asyncio.sleep(0)
    after = dict(state.balances)
    if state.seq != seq - 1 or (paid is not None and not state.undo(paid)):
        return None
    return Before(state.balances, state.total, dict(state.credit), paid, after, state.total, state.given + 1)


async def _replayed(snapshot: Snapshot, pool: str, seq: int, kind: str, progress: Progress) -> Before:
    run, total, done = Replay(pool), 0, 0
    last: Entry | None = None
    async for entries in snapshot.entries(pool, seq):
        for entry in entries:
            total = _take(run, last, total)
            last = entry
        done += len(entries)
        progress(pool, done, seq)
        await asyncio.sleep(0)
    paid = last if last and last.kind == "paid" and last.seq == seq - 1 and kind == "turn" else None
    if paid is None:
        total, last = _take(run, last, total), None
    first, first_total, credit = run.audit().balances, total, dict(run.credit)
    total = _take(run, last, total)
    return Before(first, first_total, credit, paid, run.audit().balances, total, run.assignments + 1)


def _take(run: Replay, entry: Entry | None, total: int) -> int:
    """The total weight of those who shared the last turn, this entry's included."""
    if entry is None:
        return total
    run.take(entry)
    return sum(member.weight for member in entry.shares) if entry.shares and entry.kind in {"turn", "paid"} else total
