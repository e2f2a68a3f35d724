"""Events that made no lead: set aside because nothing could be made of them, or signals without their lead."""

from __future__ import annotations

from collections.abc import Sequence

from fairturn.stores.postgres.database import Database, statements
from fairturn.views import By, EventLine

SQL = statements("asides")


class PostgresAsides:
    """Implements operate.events.Asides."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def events(self, states: Sequence[str], source: str | None, limit: int) -> Sequence[EventLine]:
        async with self._database.connection() as c:
            rows = await c.fetch(SQL.listed, list(states), source, limit)
        return [
            EventLine(r["id"].hex(), r["source_id"], r["received_at"], r["state"], r["problem"], tuple(r["marks"]))
            for r in rows
        ]

    async def again(self, events: Sequence[bytes] | None, source: str | None, by: By) -> int:
        async with self._database.transaction() as c:
            done = await c.execute(SQL.again, events, source)
            count = int(done.rpartition(" ")[2])
            if count:
                subject = f"source {source}" if source else "events"
                await c.execute(SQL.note, by.actor, subject, by.reason, {"events": count})
                await c.execute(SQL.wake)
        return count
