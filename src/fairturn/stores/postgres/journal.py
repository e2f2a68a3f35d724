"""The journal: requests as they came and the events in them, made durable many at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from fairturn.model import Arrival, Assigned, Item
from fairturn.ports import Backlog
from fairturn.stores.postgres.database import Database, statements
from fairturn.stores.postgres.people import owner_of

SQL = statements("journal")
NEWEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Quarantined:
    """An event that could not be taken as it was; its bytes are kept for a person."""

    id: bytes
    serial: int
    source: str
    item: int  # place in its request's array
    received_at: datetime
    problem: str


def said_once(column: list[str]) -> list[str]:
    """The one value that all rows have: to encode and to read it again for each is a tenth of what a row costs."""
    return column[:1] if column.count(column[0]) == len(column) else column


def if_any(column: list[Any]) -> list[Any]:
    """Nothing of a column without a value in any row."""
    return column if any(column) else []


class PostgresJournal:
    """Implements ports.Journal."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, arrivals: Sequence[Arrival]) -> None:
        """One statement, one commit, one round trip, whatever the number of requests."""
        deliveries = {arrival.delivery: arrival for arrival in arrivals}
        events: dict[bytes, tuple[Arrival, Item]] = {}
        for arrival in arrivals:
            for item in arrival.items:
                events.setdefault(item.id, (arrival, item))
        if not events:
            return
        requests, rows = deliveries.values(), events.values()
        async with self._database.connection() as connection:
            await connection.fetch(
                SQL.append,
                list(deliveries),
                said_once([arrival.source for arrival in requests]),
                said_once([arrival.content_type for arrival in requests]),
                [arrival.body for arrival in requests],
                list(events),
                [arrival.delivery for arrival, _ in rows],
                if_any([item.index for _, item in rows]),
                said_once([arrival.source for arrival, _ in rows]),
                said_once([arrival.lane for arrival, _ in rows]),
                if_any([item.body for _, item in rows]),
                if_any([",".join(item.marks) if item.marks else "" for _, item in rows]),
                if_any([item.problem for _, item in rows]),
                if_any([arrival.at and arrival.at + timedelta(microseconds=item.index) for arrival, item in rows]),
            )

    async def backlog(self, limit: int) -> Backlog:
        async with self._database.connection() as connection:
            row = await connection.fetchrow(SQL.backlog, limit)
        assert row is not None  # noqa: S101  an aggregate always has its row
        return Backlog(row["unrouted"], row["oldest_at"])

    async def results(self, events: Sequence[bytes], source: str | None = None) -> Mapping[bytes, Assigned]:
        async with self._database.connection() as connection:
            rows = await connection.fetch(SQL.results, events, source)
        return {
            row["event"]: Assigned(
                row["id"], row["status"], row["rep_id"], row["pool_id"], row["why"], owner_of(row["owner"])
            )
            for row in rows
        }

    async def purge_raw(self, older_than: float, limit: int) -> int:
        """Removes raw bodies and parsed copies older than `older_than` seconds, at most `limit` of each kind.

        The rows stay, and so a delivery that comes again is still the same one. Returns how many bodies went; call
        again while it is not 0.
        """
        gone = 0
        async with self._database.connection() as connection:
            for statement in (SQL.purge_deliveries, SQL.purge_events):
                gone += int((await connection.execute(statement, older_than, limit)).rpartition(" ")[2])
        return gone

    async def quarantined(self, limit: int, before: int = NEWEST) -> Sequence[Quarantined]:
        """Newest first; `before` is the serial of the last one seen."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(SQL.quarantined, before, limit)
        return [Quarantined(*row.values()) for row in rows]
