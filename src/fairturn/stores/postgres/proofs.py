"""The rows that audit and reconcile are made of: streamed, all of one moment, in bounded memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from fairturn.decide.pool import Credit, Entry, PoolFacts
from fairturn.decide.rotation import Member
from fairturn.desk import Sent
from fairturn.stores.postgres.database import Connection, Database, statements

SQL = statements("proofs")
ROWS = 5000  # per round trip: 3 MB of entries
SETS = 4096  # share sets kept; a pool with filters of its own may have many


class PostgresProofs:
    """Implements ports.Proofs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[PostgresSnapshot]:
        """Everything read through it stands as it stood at the first read, while leads go on being assigned."""
        async with self._database.transaction() as c:
            await c.execute("set transaction isolation level repeatable read, read only")
            # A million rows take longer than the two minutes that a session may keep a transaction open.
            await c.execute("set local transaction_timeout = 0")
            await c.execute("set local idle_in_transaction_session_timeout = '10min'")
            yield PostgresSnapshot(c)


class PostgresSnapshot:
    """Implements ports.Snapshot."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sets: dict[bytes, tuple[Member, ...]] = {}

    async def pools(self) -> Mapping[str, PoolFacts]:
        c = self._connection
        balances: dict[str, dict[str, int]] = {}
        credits_of: dict[str, list[Credit]] = {}
        for row in await c.fetch(SQL.balances):
            balances.setdefault(row["pool_id"], {})[row["rep_id"]] = int(row["balance"])
        for row in await c.fetch(SQL.credits):
            found = Credit(row["id"], row["rep_id"], row["kind"], row["opened_seq"])
            credits_of.setdefault(row["pool_id"], []).append(found)
        return {
            row["id"]: PoolFacts(
                pool=row["id"],
                members=(),
                present=frozenset(),
                balances=balances.get(row["id"], {}),
                total=row["total"],
                seq=row["seq"],
                credits=tuple(credits_of.get(row["id"], ())),
                given=row["given"],
                last=row["last"],
            )
            for row in await c.fetch(SQL.pools)
        }

    async def entries(self, pool: str, before: int | None = None) -> AsyncIterator[Sequence[Entry]]:
        async for rows in self._read(SQL.entries, pool, before):
            yield rows

    async def entries_back(self, pool: str, down_to: int) -> AsyncIterator[Sequence[Entry]]:
        async for rows in self._read(SQL.entries_back, pool, down_to):
            yield rows

    async def _read(self, statement: str, pool: str, bound: int | None) -> AsyncIterator[Sequence[Entry]]:
        cursor = await self._connection.cursor(statement, pool, bound)
        while rows := await cursor.fetch(ROWS):
            await self._learn({row["share_hash"] for row in rows} - {None})
            yield [self._entry(row) for row in rows]

    async def outside(self) -> int:
        count: int = await self._connection.fetchval(SQL.outside)
        return count

    async def answered(self, destination: str, since: datetime) -> AsyncIterator[Sequence[Sent]]:
        cursor = await self._connection.cursor(SQL.answered, destination, since)
        while rows := await cursor.fetch(ROWS):
            yield [sent(row) for row in rows]

    async def _learn(self, hashes: set[bytes]) -> None:
        if len(self._sets) > SETS:
            self._sets.clear()
        if not (fresh := hashes - self._sets.keys()):
            return
        for row in await self._connection.fetch(SQL.share_sets, sorted(fresh)):
            self._sets[row["hash"]] = tuple(Member(rep, weight, place) for rep, weight, place in row["members"])

    def _entry(self, row: Any) -> Entry:
        digest, eligible = row["share_hash"], row["eligible"]
        return Entry(
            seq=row["seq"],
            kind=row["kind"],
            rep=row["rep_id"],
            lead=row["lead_id"],
            shares=None if digest is None else self._sets.get(digest),
            eligible=None if eligible is None else tuple(eligible),
            reason=row["reason"],
            counts=row["counts"],
        )


def sent(row: Any) -> Sent:
    record = row["record"] or {}
    email = record.get("Email") or record.get("email") or row["email"]
    return Sent(
        lead=row["id"],
        key=row["external_key"],
        state=row["state"] or row["status"],
        confirmed=bool(row["confirmed"]),
        record_id=row["record_id"],
        owner=row["owner"],
        rep=row["rep_id"],
        due=row["due"],
        email=email if isinstance(email, str) else None,
        heard_at=row["created_at"],
        unheard=row["unheard"],
        rule=row["rule_id"],
        there=frozenset(row["there"]),
    )
