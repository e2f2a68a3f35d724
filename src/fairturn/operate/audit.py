"""Is it fair, and is it all there? Every pool recomputed from its rows, and compared with what is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from fairturn.decide.auditing import PoolAudit, Replay
from fairturn.decide.pool import GIVES, PoolFacts
from fairturn.desk import Proofs, Snapshot

Progress = Callable[[str, int, int], None]  # pool, entries done, entries in all


@dataclass(frozen=True, slots=True)
class Audit:
    pools: dict[str, PoolAudit]
    differences: dict[str, str]  # pool -> the first thing that is not as the rows say
    outside: int  # leads whose owner a rule named

    @property
    def ok(self) -> bool:
        return not self.differences and all(pool.ok for pool in self.pools.values())

    @property
    def assignments(self) -> int:
        return self.outside + sum(pool.assignments for pool in self.pools.values())

    def as_json(self) -> dict[str, object]:
        return {
            "ok": self.ok,
            "assignments": self.assignments,
            "pools": {name: self._pool(name, audit) for name, audit in self.pools.items()},
        }

    def _pool(self, name: str, audit: PoolAudit) -> dict[str, object]:
        found: dict[str, object] = {
            "assignments": audit.assignments,
            "gaps": audit.gaps,
            "recomputed": name not in self.differences,
            "max_deviation": round(audit.max_deviation, 6),
            "credit": audit.credit,
        }
        return found if name not in self.differences else found | {"first_difference": self.differences[name]}


async def audit(proofs: Proofs, progress: Progress = lambda *_: None) -> Audit:
    """All pools as of one moment, while leads go on being assigned. Memory does not grow with the rows."""
    pools: dict[str, PoolAudit] = {}
    differences: dict[str, str] = {}
    async with proofs.snapshot() as snapshot:
        for name, stored in (await snapshot.pools()).items():
            pools[name], difference = await _pool(snapshot, stored, progress)
            if difference is not None:
                differences[name] = difference
        return Audit(pools, differences, await snapshot.outside())


async def _pool(snapshot: Snapshot, stored: PoolFacts, progress: Progress) -> tuple[PoolAudit, str | None]:
    run = Replay(stored.pool)
    last: str | None = None
    done = 0
    async for entries in snapshot.entries(stored.pool):
        for entry in entries:
            run.take(entry)
            if entry.kind in GIVES:
                last = entry.rep
        done += len(entries)
        progress(stored.pool, done, stored.seq)
        await asyncio.sleep(0)  # the loop stays alive: Ctrl-C, keepalives
    found = run.audit(stored)
    difference = found.first_difference
    if difference is None and stored.given != found.assignments:
        difference = f"the pool counts {stored.given} leads given, the entries give {found.assignments}"
    if difference is None and stored.last != last:
        difference = f"the pool says {stored.last or 'nobody'} got its last lead, the entries give {last or 'nobody'}"
    return found, difference
