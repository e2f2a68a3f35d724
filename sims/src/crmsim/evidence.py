"""What the simulator saw: every request from its arrival to its answer, kept in memory up to a bound, and in a file.

The file (JSON lines) is written at each commit and right after each answer (only then is it known whether the answer
was delivered), unbuffered: what `/wait` has counted survives a kill.
"""

import hashlib
import os
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from crmsim.clock import Stamp, stamp
from crmsim.signals import Bell

HEADERS = ("sforce-auto-assign", "sforce-duplicate-rule-header", "sforce-query-options", "user-agent", "content-type")
ROWS_PER_REQUEST = 50  # of the bound: at most so many rows are kept per request of the bound, on average
DONE = ("created", "updated", "deleted")  # outcomes of rows that were taken
NOTES = 1_000  # repeats and overlaps kept one by one; their numbers are always whole


@dataclass(frozen=True, slots=True)
class RowNote:
    """What became of a row: key, id, outcome (`created`, `updated`, `deleted` or an error's code), account, digest.

    `object`: one request may write several kinds.
    """

    key: str | None
    id: str | None
    outcome: str
    account: str | None
    digest: str
    object: str

    def json(self) -> dict[str, Any]:
        return {
            "key": self.key, "id": self.id, "outcome": self.outcome, "account": self.account, "digest": self.digest,
            "object": self.object,
        }  # fmt: skip


@dataclass(slots=True)
class Entry:
    """One request. `delivered`: the whole answer was handed to a connection that was still open.

    `told`: how many of its rows, from the first, the answer speaks of; None is all. A row whose fate the client was
    not told may be sent again: that is no repeat. `calls`: what the request cost of the daily limit.
    """

    n: int
    arrived: Stamp
    kind: str  # token, read, write, other
    method: str
    path: str
    headers: dict[str, str]
    object: str = ""
    key_field: str = ""
    records: int = 0
    rows: list[RowNote] = field(default_factory=list)
    parts: list[dict[str, Any]] = field(default_factory=list)  # the subrequests of a request that carries several
    accounts: tuple[str, ...] = ()
    lock_waits: list[dict[str, Any]] = field(default_factory=list)
    status: int | None = None
    fault: str | None = None
    calls: int = 0
    told: int | None = None
    committed: Stamp | None = None
    delivered: bool = False
    answered: Stamp | None = None

    def json(self) -> dict[str, Any]:
        committed, answered = self.committed, self.answered
        return {
            "n": self.n, "kind": self.kind, "method": self.method, "path": self.path, "headers": self.headers,
            "object": self.object, "key_field": self.key_field, "records": self.records,
            "rows": [row.json() for row in self.rows], "parts": self.parts, "accounts": self.accounts,
            "lock_waits": self.lock_waits,
            "status": self.status, "fault": self.fault, "delivered": self.delivered,
            "calls": self.calls, "told": self.told,
            "committed": committed is not None, "committed_mono": committed.mono if committed else None,
            "at": self.arrived.wall, "mono": self.arrived.mono,
            "answered_at": answered.wall if answered else None, "answered_mono": answered.mono if answered else None,
            "seconds": answered.mono - self.arrived.mono if answered else None,
        }  # fmt: skip


def digest(values: dict[str, Any]) -> str:
    """One short name for what a row carried: two rows of one key with one digest are one version sent twice."""
    return hashlib.blake2b(orjson.dumps(values, option=orjson.OPT_SORT_KEYS), digest_size=8).hexdigest()


@dataclass(slots=True)
class Evidence:
    """The record of a run. Bounded by `limit` requests, and by 50 rows for each of them on average."""

    limit: int = 20_000
    file: Path | None = None
    entries: deque[Entry] = field(default_factory=deque)
    open: dict[int, Entry] = field(default_factory=dict)
    count: int = 0
    dropped: int = 0
    rows_kept: int = 0
    peak: int = 0
    totals: Counter[str] = field(default_factory=Counter)
    repeats: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=NOTES))
    overlaps: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=NOTES))
    bell: Bell = field(default_factory=Bell)
    _confirmed: dict[tuple[str, str], tuple[str, int, float]] = field(default_factory=dict)
    _handle: int | None = None

    def __post_init__(self) -> None:
        if self.file is not None:
            self._handle = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def arrive(self, kind: str, method: str, path: str, headers: dict[str, str]) -> Entry:
        """Open the entry of a request that has just been read."""
        self.count += 1
        kept = {name: headers[name] for name in HEADERS if name in headers}
        entry = Entry(self.count, stamp(), kind, method, path, kept)
        self.entries.append(entry)
        self.open[entry.n] = entry
        self.peak = max(self.peak, sum(1 for other in self.open.values() if other.kind in ("read", "write")))
        self.totals[f"{kind}_requests"] += 1
        self.bell.ring()
        return entry

    def touch(self, entry: Entry, accounts: Sequence[str]) -> None:
        """The accounts that a write will lock; another open request that touches one of them too is an overlap."""
        fresh = set(accounts) - set(entry.accounts)
        entry.accounts = tuple(dict.fromkeys((*entry.accounts, *accounts)))
        for other in self.open.values():
            shared = fresh & set(other.accounts) if other is not entry else set()
            if shared:
                self.totals["overlaps"] += 1
                self.overlaps.append({"requests": [other.n, entry.n], "accounts": sorted(shared)})

    def lock_wait(self, entry: Entry, wait: dict[str, Any]) -> None:
        entry.lock_waits.append(wait)
        self.totals["lock_waits"] += 1
        self.totals["lock_timeouts"] += int(wait["timed_out"])

    def worked(self, fixed: float, records: float) -> None:
        """A transaction of the CRM: its own simulated seconds, and those of its records, whatever came of them."""
        self.totals["transactions"] += 1
        self.totals["transaction_us"] += round(1e6 * fixed)
        self.totals["record_us"] += round(1e6 * records)

    def work(self) -> dict[str, int | float]:
        """What the CRM itself had to do for all writes, in simulated milliseconds; waits for locks are no work."""
        totals = self.totals
        return {
            "transactions": totals["transactions"],
            "transaction_ms": totals["transaction_us"] / 1000,
            "record_ms": totals["record_us"] / 1000,
        }

    def wrote(self, entry: Entry, rows: list[RowNote], versions: Sequence[dict[str, Any]], *, committed: bool) -> None:
        """The rows' outcomes, once for each transaction of a request.

        Counts those that repeat a version whose success was delivered before this arrival.
        """
        entry.rows = [*entry.rows, *rows]
        self.rows_kept += len(rows)
        entry.committed = stamp() if committed else entry.committed
        for row in rows:
            self.totals[f"rows_{row.outcome if row.outcome in DONE else 'refused'}"] += 1
            known = self._confirmed.get((row.object, row.key)) if row.key else None
            if known and known[0] == row.digest and known[2] <= entry.arrived.mono:
                self.totals["repeats"] += 1
                note = {"object": row.object, "key": row.key, "first": known[1], "again": entry.n}
                self.repeats.append(note)
        if committed:
            self.totals["committed"] += 1
            self.bell.ring()
            self.write_line({"commit": entry.n, "versions": versions})

    def answer(self, entry: Entry, status: int | None, *, delivered: bool) -> None:
        """Close the entry; `status` None: no answer was sent at all."""
        entry.status, entry.delivered, entry.answered = status, delivered, stamp()
        del self.open[entry.n]
        self.totals["delivered" if delivered else "undelivered"] += 1
        self.totals["answered"] += 1
        self.bell.ring()
        if status is not None and status >= 400:
            self.totals["error_answers"] += 1
        if delivered and entry.committed and status is not None and status < 300:
            for row in entry.rows[: entry.told]:
                if row.key and row.outcome in DONE:
                    self._confirmed[row.object, row.key] = (row.digest, entry.n, entry.answered.mono)
        self.write_line({"request": entry.json()})
        self._forget()

    def _forget(self) -> None:
        while len(self.entries) > self.limit or self.rows_kept > self.limit * ROWS_PER_REQUEST:
            self.rows_kept -= len(self.entries.popleft().rows)
            self.dropped += 1

    def page(self, after: int, limit: int, kind: str | None) -> list[Entry]:
        return list(self._pick(after, limit, kind))

    def _pick(self, after: int, limit: int, kind: str | None) -> Iterator[Entry]:
        for entry in list(self.entries):
            if entry.n > after and kind in (None, entry.kind):
                limit -= 1
                yield entry
                if not limit:
                    return

    def forget_all(self) -> None:
        """Start anew; request numbers go on, and requests still open keep their entries."""
        self.entries = deque(self.open.values())
        self.rows_kept, self.dropped, self.peak = 0, 0, 0
        self.totals.clear()
        self.repeats.clear()
        self.overlaps.clear()
        self._confirmed.clear()

    def write_line(self, document: dict[str, Any]) -> None:
        if self._handle is not None:
            os.write(self._handle, orjson.dumps(document) + b"\n")
