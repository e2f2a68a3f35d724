"""A pool's state of then, walked back to from the one of now: what an entry did, undone, newest first.

For a lead of today in a pool of a million this reads what came since, where a replay reads all that came before.
"""

from __future__ import annotations

from collections import Counter

from fairturn.decide.pool import GIVES, Entry, PoolFacts
from fairturn.decide.rotation import U

CREDIT = {"credit": 1, "paid": -1, "forgiven": -1}  # what undoing it does to the credit of its rep


class Rewind:
    """`stored`: the pool as it stands, its last entry included."""

    def __init__(self, stored: PoolFacts) -> None:
        self.seq = stored.seq
        self.balances = dict(stored.balances)
        self.total = stored.total
        self.given = stored.given
        self.credit: Counter[str] = Counter()
        for row in stored.credits:
            self.credit[row.rep] += 1 if row.kind == "owed" else -1

    def undo(self, entry: Entry) -> bool:
        """False, and nothing done, where the way back is lost: a member came or went, the weight of those who shared
        became another (balances were rounded then), or an entry is missing.
        """
        if entry.seq != self.seq or not self._known(entry):
            return False
        if entry.kind in {"turn", "paid"}:
            for member in entry.shares or ():
                self.balances[member.rep] -= U * member.weight
            self.balances[entry.rep] += U * self.total
        if entry.kind in {"kept", "returned"}:
            self.credit[entry.rep] += entry.counts if entry.kind == "kept" else -entry.counts
        if entry.kind in CREDIT:
            self.credit[entry.rep] += CREDIT[entry.kind]
        self.given -= entry.kind in GIVES
        self.seq -= 1
        return True

    def _known(self, entry: Entry) -> bool:
        if entry.kind in {"joined", "left"}:
            return False
        if entry.kind not in {"turn", "paid"}:
            return True
        shares = entry.shares or ()
        known = entry.rep in self.balances and all(member.rep in self.balances for member in shares)
        return known and sum(member.weight for member in shares) == self.total
