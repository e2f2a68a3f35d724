"""What people do. One transaction per act, its row of history within; stations are woken by the commit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from fairturn.desk import Dropped, FailedFilter, Retried
from fairturn.errors import NotAllowed, NotFound
from fairturn.stores.postgres.database import Connection, Database, statements
from fairturn.stores.postgres.reads import assignment_of, pause_of
from fairturn.stores.postgres.router import PostgresRouteStep
from fairturn.views import By, Pause

SQL = statements("acts")
ROUTE, DELIVER = "fairturn_event", "fairturn_change"
BATCH = 2000  # failed writes that one transaction of a retry takes, so that route waits for none of them for long


async def note(c: Connection, by: By, verb: str, subject: str, detail: Mapping[str, object] | None = None) -> None:
    await c.execute(SQL.note, by.actor, verb, subject, by.reason, dict(detail or {}))


@dataclass(frozen=True, slots=True)
class PostgresActStep:
    """Implements ports.ActStep."""

    route: PostgresRouteStep
    connection: Connection
    by: By

    async def drop(self, wanted: FailedFilter) -> Sequence[Dropped]:
        leads = list(wanted.leads or ())
        cause = f"dropped by {self.by.actor}: {self.by.reason or 'no reason given'}"
        rows = await self.connection.fetch(SQL.drop, leads, wanted.code, wanted.destination, cause)
        gone = sorted({row["lead_id"] for row in rows})
        elsewhere = {row["lead_id"] for row in await self.connection.fetch(SQL.elsewhere, gone)}
        turns = {
            row["lead"]: assignment_of(row)
            for row in await self.connection.fetch(SQL.turns, gone)
            if row["kind"] in {"turn", "credit", "kept"}
        }
        return [
            Dropped(row["lead_id"], row["destination_id"], row["lead_id"] in elsewhere, turns.get(row["lead_id"]))
            for row in rows
        ]

    async def note(self, verb: str, subject: str, detail: Mapping[str, object]) -> None:
        await note(self.connection, self.by, verb, subject, detail)


class PostgresActs:
    """Implements ports.Acts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def pause_rep(self, rep: str, by: By) -> Pause | None:
        async with self._database.transaction() as c:
            row = await c.fetchrow(SQL.rep, rep)
            if row is None:
                raise await _unknown(c, "rep", rep, SQL.rep_names)
            if (standing := pause_of(row)) is not None:
                return standing
            await c.execute(SQL.pause_rep, rep, by.actor, by.reason)
            await note(c, by, "pause", f"rep {rep}")
        return None

    async def resume_reps(self, reps: Sequence[str], by: By) -> frozenset[str]:
        changed = set()
        async with self._database.transaction() as c:
            for rep in sorted(set(reps)):
                row = await c.fetchrow(SQL.rep, rep)
                if row is None:
                    raise await _unknown(c, "rep", rep, SQL.rep_names)
                if (pause := pause_of(row)) is not None:
                    await c.execute(SQL.resume_rep, rep)
                    await note(c, by, "resume", f"rep {rep}", _was(pause))
                    changed.add(rep)
            if changed:
                await c.execute(SQL.notify, ROUTE)  # held leads may have somebody now
        return frozenset(changed)

    async def pause_destination(self, destination: str, by: By) -> Pause | None:
        async with self._database.transaction() as c:
            row = await c.fetchrow(SQL.destination, destination)
            if row is None:
                raise await _unknown(c, "destination", destination, SQL.destination_names)
            if (standing := pause_of(row)) is not None:
                return standing
            await c.execute(SQL.pause_destination, destination, by.actor, by.reason)
            await note(c, by, "pause", f"destination {destination}")
        return None

    async def resume_destination(self, destination: str, by: By) -> bool:
        async with self._database.transaction() as c:
            row = await c.fetchrow(SQL.destination, destination)
            if row is None:
                raise await _unknown(c, "destination", destination, SQL.destination_names)
            if pause_of(row) is None and not row["blocked"]:
                return False
            await c.execute(SQL.resume_destination, destination)
            await note(c, by, "resume", f"destination {destination}", _was(pause_of(row)))
            await c.execute(SQL.notify, DELIVER)
        return True

    async def limit_destination(self, destination: str, daily: int | None, by: By) -> int | None:
        async with self._database.transaction() as c:
            row = await c.fetchrow(SQL.destination, destination)
            if row is None:
                raise await _unknown(c, "destination", destination, SQL.destination_names)
            before: int | None = row["daily_calls"]
            if before != daily:
                await c.execute(SQL.limit_destination, destination, daily)
                await note(c, by, "limit", f"destination {destination}", {"daily_calls": daily, "was": before})
                await c.execute(SQL.notify, DELIVER)
        return before

    async def retry(self, wanted: FailedFilter, by: By) -> Retried:
        """Idempotent: a write that is pending or in flight already is only counted."""
        leads = None if wanted.leads is None else sorted(set(wanted.leads))
        where = (leads, wanted.code, wanted.destination)
        async with self._database.connection() as c:
            under_way = await c.fetchval(SQL.under_way, *where)
        return Retried(await self._again(SQL.retry, where, wanted, by), under_way)

    async def retry_without(self, wanted: FailedFilter, by: By) -> Retried:
        """Idempotent too: fields that are on their way again are in the list no more."""
        leads = None if wanted.leads is None else sorted(set(wanted.leads))
        return Retried(await self._again(SQL.retry_without, (leads, wanted.destination), wanted, by), 0)

    async def _again(self, sql: str, where: tuple[object, ...], wanted: FailedFilter, by: By) -> int:
        """Those of this moment, in bounded transactions; their number."""
        async with self._database.connection() as c:
            until = await c.fetchval(SQL.now)
        writes = 0
        while True:
            async with self._database.transaction() as c:
                rows = await c.fetch(sql, *where, until, BATCH, f"retried by {by.actor}")
                if rows:
                    detail: dict[str, object] = {"writes": len(rows), "code": wanted.code}
                    if wanted.leads is not None:
                        detail["leads"] = sorted({row["lead_id"] for row in rows})
                    of = "fields" if sql == SQL.retry_without else "failed"
                    await note(c, by, "retry", f"{of} {wanted.destination or 'writes'}", detail)
                    await c.execute(SQL.notify, DELIVER)
            writes += len(rows)
            if len(rows) < BATCH:
                return writes

    async def backfill(self, destination: str, since: datetime | None, by: By) -> int:
        count, last, seen = 0, 0, BATCH
        while seen == BATCH:
            async with self._database.transaction() as c:
                row = await c.fetchrow(SQL.destination, destination)
                if row is None:
                    raise await _unknown(c, "destination", destination, SQL.destination_names)
                if row["left_at"] is not None:
                    raise NotAllowed(f"{destination} is not in the settings in force: nothing is written there.")
                ((made, last, seen),) = await c.fetch(SQL.backfill, destination, last, since, BATCH)
                if made:
                    await note(c, by, "backfill", f"destination {destination}", {"leads": made})
                    await c.execute(SQL.notify, DELIVER)
            count += made
        return count

    @asynccontextmanager
    async def step(self, by: By) -> AsyncIterator[PostgresActStep]:
        async with self._database.transaction() as c:
            yield PostgresActStep(PostgresRouteStep(c, by.actor), c, by)
            # For both: what an act frees may be routed, and what it changed may be written.
            await c.execute(SQL.notify, ROUTE)
            await c.execute(SQL.notify, DELIVER)


def _was(pause: Pause | None) -> dict[str, object]:
    return {} if pause is None else {"paused_at": pause.at.isoformat(), "paused_by": pause.by, "was": pause.reason}


async def _unknown(c: Connection, kind: str, name: str, names: str) -> NotFound:
    return NotFound(kind, name, tuple(row["id"] for row in await c.fetch(names)))
