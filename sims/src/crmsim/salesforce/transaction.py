"""What a request has written and not yet made history: a transaction stands or falls as one.

Every write request is one; a Composite with allOrNone makes one of all its subrequests. What it has written can be seen
by others before its end, as in no real org; its locks keep them from writing on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from crmsim.evidence import DONE, Entry, Evidence, RowNote
from crmsim.salesforce.locks import LockTable
from crmsim.salesforce.org import Change, Org


@dataclass(slots=True)
class Transaction:
    """A reset of the simulator meanwhile gives others new parts; a transaction ends in the org it began in."""

    org: Org
    locks: LockTable
    evidence: Evidence
    entry: Entry
    held: list[str] = field(default_factory=list)  # 15-character ids
    notes: list[RowNote] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    async def wrote(self, notes: Sequence[RowNote], changes: Sequence[Change]) -> None:
        """A new record is locked too: nobody writes on what may still be undone. Its lock is free: no wait."""
        self.notes += notes
        self.changes += changes
        for change in changes:
            if change.before is None and await self.locks.take(change.record.id, self.entry.n, 0):
                self.held.append(change.record.id)

    def commit(self) -> None:
        versions = [self.org.log(change).json() for change in self.changes]
        self._close(self.notes, versions)

    def roll_back(self, code: str) -> None:
        """Undo all; rows that had been taken end as `code`."""
        for change in reversed(self.changes):
            self.org.revert(change)
        self._close([replace(note, id=None, outcome=code) if note.outcome in DONE else note for note in self.notes], [])

    def _close(self, notes: list[RowNote], versions: list[dict[str, object]]) -> None:
        if notes:
            self.evidence.wrote(self.entry, notes, versions, committed=bool(versions))
        self.notes, self.changes = [], []
        self.release()

    def release(self) -> None:
        for key in self.held:
            self.locks.release(key, self.entry.n)
        self.held = []
