"""Leads and changes as route leaves them, for tests of the ledger and of delivery."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import asyncpg
import orjson

DESTINATION = "crm"

# The upsert that route makes; the tests below stand on its rules for rows in flight.
ENQUEUE = """
insert into change
    (lead_id, destination_id, state, version, owner_version, owner_at, account_id, priority, first_event_at)
values ($1, $2, 'pending', 1, case when $3 then 1 else 0 end, case when $3 then clock_timestamp() end, null, $4,
        clock_timestamp() - make_interval(secs => $5))
on conflict (lead_id, destination_id) do update
set state = case when change.state = 'in_flight' then 'in_flight' else 'pending' end,
    version = change.version + 1,
    owner_version = case when excluded.owner_version > 0 then change.version + 1 else change.owner_version end,
    owner_at = coalesce(excluded.owner_at, change.owner_at),
    priority = excluded.priority,
    first_event_at = least(change.first_event_at, excluded.first_event_at),
    attempts = case when change.state = 'failed' then 0 else change.attempts end,
    first_try_at = case when change.state = 'failed' then null else change.first_try_at end,
    due_at = case when change.state in ('failed', 'done') then 'epoch' else change.due_at end,
    failed_at = null
"""


class Rows:
    """Writes what route would, over a connection of its own."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self.connection = connection

    async def destination(self, name: str = DESTINATION) -> None:
        await self.connection.execute("insert into destination (id) values ($1) on conflict do nothing", name)

    async def account(self, key: str, merged_into: int | None = None) -> int:
        sql = "insert into account (key, merged_into) values ($1, $2) returning id"
        return int(await self.connection.fetchval(sql, key, merged_into))

    async def lead(
        self,
        *,
        fields: Mapping[str, object] | None = None,
        account: int | None = None,
        rep: str | None = "ann",
        pool: str | None = "emea",
        status: str = "assigned",
        park: Mapping[str, str] | None = None,
        mode: str = "live",
    ) -> int:
        state = {name: [value, 0, 0, ""] for name, value in (fields or {"email": "jane@acme.com"}).items()}
        return int(
            await self.connection.fetchval(
                """insert into lead (source_id, status, fields, account_id, rep_id, pool_id, park, mode)
                   values ('web', $1, $2::text::jsonb, $3, $4, $5, $6::text::jsonb, $7) returning id""",
                status,
                orjson.dumps(state).decode(),
                account,
                rep if status == "assigned" else None,
                pool,
                orjson.dumps(park).decode() if park else None,
                mode,
            )
        )

    async def changed(
        self, lead: int, *, age: float = 10.0, owner: bool = False, priority: str = "normal", name: str = DESTINATION
    ) -> None:
        """An event of this lead, `age` seconds old, was merged. owner: an assignment was made."""
        await self.destination(name)
        await self.connection.execute(ENQUEUE, lead, name, owner, priority, age)
        await self.connection.execute("notify fairturn_change")

    async def new(self, *, age: float = 10.0, priority: str = "normal", **lead: Any) -> int:
        """A new lead with its first change, as route makes both."""
        number = await self.lead(**lead)
        await self.changed(number, age=age, owner=True, priority=priority)
        return number

    async def change(self, lead: int, name: str = DESTINATION) -> dict[str, Any]:
        row = await self.connection.fetchrow(
            "select * from change where lead_id = $1 and destination_id = $2", lead, name
        )
        assert row is not None
        return dict(row)

    async def writes(self, lead: int) -> list[dict[str, Any]]:
        rows = await self.connection.fetch("select * from write where lead_id = $1 order by batch_id", lead)
        return [dict(row) for row in rows]
