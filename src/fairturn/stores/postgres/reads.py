"""What lists, pages and explanations read. Nothing here locks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairturn.decide.merging import load
from fairturn.decide.pool import PoolFacts
from fairturn.desk import FailedFilter, LeadFilter
from fairturn.model import Key
from fairturn.ports import PoolShape
from fairturn.stores.postgres.database import Database, statements
from fairturn.stores.postgres.router import lead_of, read_pools
from fairturn.views import (
    AssignmentLine,
    ChangeLine,
    DestinationStanding,
    EventLine,
    ExistingLine,
    FailedWrite,
    HistoryLine,
    LeadLine,
    Pause,
    RepStanding,
    Story,
    WriteLine,
    WrittenWithout,
)

SQL = statements("reads")
BIGGEST = 2**63 - 1  # a bigint


def pause_of(row: Any) -> Pause | None:
    if row["paused_at"] is None:
        return None
    return Pause(row["paused_at"], row["paused_by"], row["paused_reason"])


def line_of(row: Any) -> LeadLine:
    return LeadLine(lead_of(row), row["held_at"], row["assigned_at"])


def assignment_of(row: Any) -> AssignmentLine:
    return AssignmentLine(
        pool=row["pool_id"],
        seq=row["seq"],
        kind=row["kind"],
        rep=row["rep_id"],
        lead=row["lead_id"],
        shares=None if row["members"] is None else {rep: weight for rep, weight, _ in row["members"]},
        eligible=None if row["eligible"] is None else tuple(row["eligible"]),
        rule=row["rule_id"],
        reason=row["reason"],
        counts=row["counts"],
        actor=row["actor"],
        config=row["config"],
        at=row["at"],
    )


class PostgresReads:
    """Implements ports.Reads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def reps(self) -> Sequence[RepStanding]:
        async with self._database.connection() as c:
            rows = await c.fetch(SQL.reps)
        return [RepStanding(r["id"], pause_of(r), tuple(r["pools"]), r["leads"]) for r in rows]

    async def leads(self, wanted: LeadFilter) -> Sequence[LeadLine]:
        where = (wanted.status, wanted.pool, wanted.rep)
        few = wanted.status not in (None, "assigned")
        async with self._database.connection() as c:
            if wanted.oldest_first:
                rows = await c.fetch(SQL.oldest_without_rep if few else SQL.oldest_leads, *where, wanted.limit)
            else:
                newest = SQL.leads_without_rep if few else SQL.leads
                rows = await c.fetch(newest, *where, wanted.before, wanted.limit)
        return [line_of(row) for row in rows]

    async def find(self, text: str, digests: Sequence[bytes], records: Sequence[str]) -> Sequence[int]:
        async with self._database.connection() as c:
            rows = await c.fetch(SQL.find, list(digests))
            if not rows and records:
                rows = await c.fetch(SQL.find_record, list(records))
            if not rows:
                rows = await c.fetch(SQL.find_value, text[:500])
        return [row["id"] for row in rows]

    async def story(self, lead: int) -> Story | None:
        if not 0 < lead <= BIGGEST:
            return None
        async with self._database.transaction() as c:
            # One moment for all of it: a write between two of these reads would tell two halves of two stories.
            await c.execute("set transaction isolation level repeatable read, read only")
            row = await c.fetchrow(SQL.lead, lead)
            if row is None:
                return None
            lead = row["id"]
            merged = [r["id"] for r in await c.fetch(SQL.merged, lead)]
            everyone = [lead, *merged]
            keys = await c.fetch(SQL.keys, everyone)
            events = await c.fetch(SQL.events, everyone)
            assignments = await c.fetch(SQL.assignments, everyone)
            changes = await c.fetch(SQL.changes, lead)
            writes = await c.fetch(SQL.writes, everyone)
            existing = await c.fetch(SQL.existing, lead)
        return Story(
            line=line_of(row),
            merged=tuple(merged),
            keys=tuple(Key(r["digest"], r["kind"], r["value"]) for r in keys),
            events=tuple(map(event_line, events)),
            assignments=tuple(map(assignment_of, assignments)),
            changes=tuple(map(change_line, changes)),
            writes=tuple(map(write_line, writes)),
            existing=tuple(map(existing_line, existing)),
        )

    async def destinations(self) -> Sequence[DestinationStanding]:
        async with self._database.connection() as c:
            rows = await c.fetch(SQL.destinations)
        return [
            DestinationStanding(
                id=r["id"],
                org=r["org"],
                pause=pause_of(r),
                blocked_until=r["blocked_until"],
                blocked_cause=r["blocked_cause"] if r["blocked_until"] else None,
                served=r["served"],
                pending=r["pending"],
                in_flight=r["in_flight"],
                failed=r["failed"],
                oldest_at=r["oldest_at"],
                answered_at=r["answered_at"],
                calls_day=r["calls_day"],
                daily_calls=r["daily_calls"],
            )
            for r in rows
        ]

    async def failed(self, wanted: FailedFilter, limit: int) -> Sequence[FailedWrite]:
        leads = None if wanted.leads is None else list(wanted.leads)
        async with self._database.connection() as c:
            rows = await c.fetch(SQL.failed, leads, wanted.code, wanted.destination, limit)
        return [
            FailedWrite(
                lead=r["lead_id"],
                destination=r["destination_id"],
                code=r["code"],
                message=r["message"],
                failed_at=r["failed_at"],
                attempts=r["attempts"],
                rep=r["rep_id"],
                fields=load(r["fields"]),
            )
            for r in rows
        ]

    async def without(self, wanted: FailedFilter, limit: int) -> Sequence[WrittenWithout]:
        leads = None if wanted.leads is None else list(wanted.leads)
        async with self._database.connection() as c:
            rows = await c.fetch(SQL.without, leads, wanted.destination, limit)
        return [
            WrittenWithout(
                r["lead_id"], r["destination_id"], r["without"], r["found_at"], r["rep_id"], load(r["fields"])
            )
            for r in rows
        ]

    async def history(self, subject: str | None, limit: int) -> Sequence[HistoryLine]:
        below = (
            None if subject is None else subject.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_") + " %"
        )
        async with self._database.connection() as c:
            rows = await c.fetch(SQL.history, subject, below, limit)
        return [
            HistoryLine(r["id"], r["at"], r["actor"], r["verb"], r["object"], r["reason"], r["detail"]) for r in rows
        ]

    async def pools(self, shapes: Mapping[str, PoolShape]) -> Mapping[str, PoolFacts]:
        names = sorted(shapes)
        async with self._database.transaction() as c:
            await c.execute("set transaction isolation level repeatable read, read only")
            paused = {row["id"]: row["reason"] for row in await c.fetch(SQL.paused)}
            return await read_pools(c, names, shapes, paused, [])


def event_line(r: Any) -> EventLine:
    return EventLine(r["id"].hex(), r["source_id"], r["received_at"], r["state"], r["problem"], tuple(r["marks"]))


def existing_line(r: Any) -> ExistingLine:
    return ExistingLine(
        r["destination_id"], r["state"], r["email"], r["since"], r["answered_at"], tuple(r["records"]), r["why"]
    )


def change_line(r: Any) -> ChangeLine:
    return ChangeLine(
        destination=r["destination_id"],
        state=r["state"],
        version=r["version"],
        confirmed=r["confirmed"],
        record_id=r["record_id"],
        key=r["external_key"],
        since=r["first_event_at"],
        due_at=r["due_at"],
        attempts=r["attempts"],
        cause=r["cause"],
        code=r["code"],
        message=r["message"],
        failed_at=r["failed_at"],
        record=r["record"],
        without=r["without"] or {},
    )


def write_line(r: Any) -> WriteLine:
    return WriteLine(
        destination=r["destination_id"],
        version=r["version"],
        sent_at=r["taken_at"],
        oldest_event_at=r["oldest_event_at"],
        answered_at=r["answered_at"],
        outcome=r["outcome"],
        code=r["code"],
        message=r["message"],
        record_id=r["record_id"],
        created=r["created"],
        owner=r["owner"],
        records=r["records"],
        record=r["record"],
        without=r["without"] or {},
        owner_stands=r["owner_stands"],
    )
