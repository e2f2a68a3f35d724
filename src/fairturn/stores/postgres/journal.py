"""The journal: requests as they came and the events in them, made durable many at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from fairturn.errors import Contended
from fairturn.model import Arrival, Assigned, Event, Item
from fairturn.ports import Backlog
from fairturn.stores.postgres.database import Connection, Database, statements
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


def said_once(column: list[Any]) -> list[Any]:
    """The one value that all rows have: to encode and to read it again for each is a tenth of what a row costs."""
    return column[:1] if column.count(column[0]) == len(column) else column


def if_any(column: list[Any]) -> list[Any]:
    """Nothing of a column without a value in any row."""
    return column if any(column) else []


def _columns(arrivals: Sequence[Arrival]) -> tuple[list[Any], ...]:
    """All but serials and leads; the times, of what became durable elsewhere, are the last."""
    deliveries = {arrival.delivery: arrival for arrival in arrivals}
    events: dict[bytes, tuple[Arrival, Item]] = {}
    for arrival in arrivals:
        for item in arrival.items:
            events.setdefault(item.id, (arrival, item))
    requests, rows = deliveries.values(), events.values()
    return (
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


@dataclass(frozen=True, slots=True)
class Admitted:
    """Events that no journal has: what a route transaction works on, and stores with what became of them."""

    arrivals: tuple[Arrival, ...]  # each with one event
    events: tuple[Event, ...]
    now: datetime
    paused: Mapping[str, str]  # rep -> why


async def admit(connection: Connection, arrivals: Sequence[Arrival]) -> Admitted:
    """Those that are in the journal already are left out."""
    [row] = await connection.fetch(SQL.admit, [arrival.items[0].id for arrival in arrivals])
    now, known = row["now"], set(row["known"])
    came = tuple(arrival for arrival in arrivals if arrival.items[0].id not in known)
    events = []
    for arrival, serial in zip(came, row["serials"], strict=False):
        item = arrival.items[0]
        body = arrival.body if item.body is None else item.body
        events.append(Event(item.id, serial, arrival.source, arrival.lane, now, body))
    return Admitted(came, tuple(events), now, row["paused"] or {})


async def store(connection: Connection, admitted: Admitted, leads: Mapping[bytes, int]) -> None:
    """Events that go to a lead are routed, the others pending. Raises Contended where another stored one meanwhile."""
    serials = [event.serial for event in admitted.events]
    whose = [leads.get(event.id) for event in admitted.events]
    *columns, _ = _columns(admitted.arrivals)
    [row] = await connection.fetch(SQL.append, *columns, [admitted.now], serials, if_any(whose))
    if row["stored"] != len(admitted.arrivals):
        msg = "an event came in by another way meanwhile"
        raise Contended(msg)


class PostgresJournal:
    """Implements ports.Journal."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, arrivals: Sequence[Arrival]) -> None:
        """One statement, one commit, one round trip, whatever the number of requests."""
        if any(arrival.items for arrival in arrivals):
            async with self._database.connection() as connection:
                await connection.fetch(SQL.append, *_columns(arrivals), [], [])

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
