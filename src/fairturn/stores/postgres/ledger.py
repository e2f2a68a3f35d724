"""The ledger: pending changes of a destination, taken and settled by the holder of its lease.

One clock: PostgreSQL's, read with each statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from fairturn.decide.batching import Pending
from fairturn.decide.merging import load
from fairturn.decide.outgoing import OwnerOf, ValuesOf, told
from fairturn.decide.sizing import Size
from fairturn.decide.verdicts import request_heard
from fairturn.model import Answer, Batch, Done, FieldValue, Outgoing, Ripening, Verdict
from fairturn.ports import Lease
from fairturn.stores.postgres.answers import (
    OUTCOME_COLUMNS,
    VERDICT_COLUMNS,
    kept,
    outcome_row,
    problem_of,
    verdict_row,
)
from fairturn.stores.postgres.database import Connection, Database, statements

SQL = statements("ledger")
STALE = 600.0  # seconds: what was read or written longer ago may have been changed there since


class PostgresLedger:
    """Implements ports.Ledger. `owner_of` says who is written as a lead's owner, `values_of` what of its fields."""

    def __init__(self, database: Database, owner_of: OwnerOf, values_of: ValuesOf = told) -> None:
        self._database = database
        self._owner_of = owner_of
        self._values_of = values_of

    async def lease(self, destination: str, holder: UUID, seconds: float) -> Lease:
        """Take or renew the lease; `held` says whether it is ours. The destination's row is made if need be."""
        async with self._database.connection() as connection:
            await connection.execute(SQL.lease, destination, holder, seconds)
            row = await one(connection, SQL.standing, destination, holder)
        sizes = {name: Size(*size) for name, size in row.pop("sizes").items()}
        return Lease(**row, sizes=sizes)

    async def release(self, destination: str, holder: UUID) -> None:
        async with self._database.connection() as connection:
            await connection.execute(SQL.release, destination, holder)

    async def pending(self, destination: str, limit: int) -> Pending:
        """At most `limit` rows that may go now, and the one due next. Rows of accounts in flight are left out."""
        async with self._database.connection() as connection:
            flying = await one(connection, SQL.flying, destination)
            busy = (flying["accounts"], flying["now"], flying["leads"])
            rows = await connection.fetch(SQL.ripening, destination, limit, *busy)
            rows += await connection.fetch(SQL.next_due, destination, flying["now"])
        return Pending(
            now=flying["now"],
            rows=tuple(
                Ripening(
                    lead=row["lead_id"],
                    first_event_at=row["first_event_at"],
                    due_at=row["due_at"],
                    account=row["account"],
                    priority=row["priority"],
                    object_type=row["record_type"],
                )
                for row in rows
            ),
            busy=frozenset(flying["accounts"]),
            in_flight=flying["requests"],
        )

    async def take(self, destination: str, holder: UUID, leads: Sequence[int], timeout: float) -> Batch | None:
        """Those of `leads` that may still go, sorted by account; None when none may, or the lease is not ours."""
        async with self._database.transaction() as connection:
            if await connection.fetchval(SQL.hold, destination, holder) is None:
                return None
            # Only now, in a snapshot of its own: what another holder took before we had the lock is in flight.
            flying = await one(connection, SQL.flying, destination)
            claimed = [row["lead_id"] for row in await connection.fetch(SQL.claim, destination, list(leads))]
            rows = await connection.fetch(SQL.take, destination, holder, claimed, timeout, flying["accounts"], STALE)
        if not rows:
            return None
        records = sorted(
            (self._outgoing(destination, dict(row)) for row in rows),
            key=lambda record: (record.account is None, record.account or 0, record.oldest_event_at, record.lead),
        )
        return Batch(rows[0]["batch_id"], destination, tuple(records), rows[0]["deadline"])

    def _outgoing(self, destination: str, row: Mapping[str, Any]) -> Outgoing:
        owner, kind = None, "raw"
        if row["owner_due"]:
            owner, kind = self._owner_of(destination, row["status"], row["rep_id"], row["pool_id"], row["park"])
        return Outgoing(
            lead=row["lead_id"],
            version=row["version"],
            attempt=row["attempts"] + 1,
            key=row["key"],
            record_id=row["record_id"],
            fields=self._values_of(load(row["fields"])),
            owner=owner,
            owner_kind="rep" if kind == "rep" else "raw",
            account=row["account"],
            account_key=row["account_key"],
            oldest_event_at=row["first_event_at"],
            confirmed=row["record"],
            shadow=row["mode"] == "shadow",
            first_try_at=row["tried_at"],
            object_type=row["record_type"],
            assignment=assignment(row),
            found=row["found"],
            owner_known=row["owner_known"],
            refused=row["refused"] or {},
            reread=row["reread"],
        )

    async def settle(self, batch: Batch, answer: Answer, verdicts: Sequence[Verdict], holder: UUID) -> int:
        """Number of rows that took their verdict. Rows of this batch that were taken from us meanwhile are left alone,
        but what the CRM said of them is noted. A lost lease alone takes nothing from us: until their deadline has
        passed, nobody else can have taken these rows, and dropping an answer would send them twice.
        """
        async with self._database.transaction() as connection:
            ours = {row["lead_id"] for row in await connection.fetch(SQL.ours, batch.destination, batch.id, holder)}
            taken = [verdict for verdict in verdicts if verdict.lead in ours]
            await self._note(connection, batch, answer)
            await self._settle(connection, batch, answer, taken)
            await connection.execute(SQL.close, batch.id, answer.calls, bool(answer.shadow), problem_of(answer))
            if request_heard(answer):
                await connection.execute(SQL.unblock, batch.destination)
        return len(taken)

    async def _settle(self, connection: Connection, batch: Batch, answer: Answer, verdicts: Sequence[Verdict]) -> None:
        records = {record.lead: record for record in batch.records}
        rows = [verdict_row(verdict, records[verdict.lead], answer) for verdict in verdicts]
        if anew := [verdict for verdict in verdicts if isinstance(verdict, Done) and verdict.anew]:
            ids = [kept(verdict.record_id) for verdict in anew]
            await connection.execute(SQL.made_anew, batch.destination, batch.id, [one.lead for one in anew], ids)
        columns = list(zip(*rows, strict=True)) if rows else [()] * VERDICT_COLUMNS
        await connection.execute(SQL.settle, batch.destination, batch.id, STALE, *columns)

    async def _note(self, connection: Connection, batch: Batch, answer: Answer) -> None:
        outcomes = {outcome.key: outcome for outcome in answer.outcomes}
        rows = [outcome_row(record, outcomes.get(record.key), answer) for record in batch.records]
        columns = list(zip(*rows, strict=True)) if rows else [()] * OUTCOME_COLUMNS
        await connection.execute(SQL.note, batch.id, STALE, *columns)

    async def block(self, destination: str, seconds: float | None, cause: str, *, person: bool = False) -> None:
        """Nobody sends for `seconds`. None: paused until a person resumes; the ceiling counts from now."""
        async with self._database.connection() as connection:
            if seconds is None:
                await connection.execute(SQL.stop, destination, kept(cause))
            else:
                await connection.execute(SQL.block, destination, seconds, kept(cause), person)

    async def learn(self, destination: str, sizes: Mapping[str, Size]) -> None:
        body = {name: [size.records, size.broke, size.broke_at] for name, size in sizes.items()}
        async with self._database.connection() as connection:
            await connection.execute(SQL.learn, destination, body)

    async def recover(self, destination: str) -> int:
        """Rows of requests whose deadline has passed are pending again; their number."""
        async with self._database.connection() as connection:
            return int(await connection.fetchval(SQL.recover, destination))

    async def pin(self, destination: str, org: str) -> str:
        async with self._database.connection() as connection:
            return str(await connection.fetchval(SQL.pin, destination, org))


async def one(connection: Connection, sql: str, *arguments: object) -> dict[str, Any]:
    """The row of a statement that always has one."""
    return dict((await connection.fetch(sql, *arguments))[0])


def assignment(row: Mapping[str, Any]) -> dict[str, FieldValue]:
    """What a mapping may say of how the lead came to its owner; times in UTC, ISO 8601.

    Without an assignment (held, parked, owned there already): what the lead itself says of its rule and why.
    """
    received = row["received_at"] or row["created_at"]
    told: dict[str, FieldValue] = {
        "rule": row["rule_id"],
        "pool": row["pool_id"],
        "reason": row["reason"],
        "received_at": stamp(received),
        "id": None,
        "assigned_at": None,
    }
    if row["status"] == "assigned" and row["given_id"] is not None:
        seq = row["given_seq"]
        told |= {
            "id": str(row["given_id"]) if seq is None else f"{row['given_pool']}#{seq}",
            "rule": row["given_rule"] or row["rule_id"],
            "pool": row["given_pool"],
            "reason": row["given_reason"],
            "assigned_at": stamp(row["given_at"]),
        }
    return told


def stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
