"""Configurations as they were put in force. The newest is read in every turn; saving the same again changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from fairturn.decide.fairness import after, join, leave
from fairturn.decide.rotation import Member
from fairturn.ports import PoolShape
from fairturn.stores.postgres.database import Connection, Database, statements
from fairturn.stores.postgres.routed import write_folds
from fairturn.stores.postgres.router import SQL as ROUTER
from fairturn.stores.postgres.router import read_pools

SQL = statements("configs")


@dataclass(frozen=True, slots=True)
class Version:
    id: int
    body: str


class PostgresConfigs:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def current(self) -> Version | None:
        async with self._database.connection() as connection:
            row = await connection.fetchrow(SQL.current)
        return Version(row["id"], row["body"]) if row else None

    async def apply(
        self,
        body: str,
        shapes: Mapping[str, PoolShape],
        reps: tuple[str, ...],
        destinations: tuple[str, ...],
        actor: str,
    ) -> Version:
        """Put this text in force unless it is already, with who joins and leaves each pool, in one transaction."""
        digest = sha256(body.encode()).digest()
        async with self._database.transaction() as c:
            await c.execute(SQL.lock)
            row = await c.fetchrow(SQL.current)
            if row is not None and row["digest"] == digest:
                return Version(row["id"], row["body"])
            await c.execute(SQL.reps, sorted(reps))
            await c.execute(SQL.pools, sorted(shapes))
            await c.execute(SQL.destinations, sorted(destinations))
            # The pools' locks come before the version's row: a turn reads the version after it holds its pools.
            await c.fetch(ROUTER.lock_pools, sorted(shapes))
            version = await c.fetchval(SQL.insert, digest, body, actor)
            await c.execute(SQL.tell)
            for pool in sorted(shapes):
                await _members(c, pool, shapes[pool], actor, version)
        return Version(version, body)


async def _members(c: Connection, pool: str, shape: PoolShape, actor: str, version: int) -> None:
    """Whoever is new joins at par; the balance of whoever is gone goes to those who stay."""
    facts = (await read_pools(c, [pool], {pool: shape}, {}, []))[pool]
    there = {member.rep for member in facts.members}
    for rep in sorted(there - shape.weights.keys()):
        fold = leave(facts, rep)
        await c.execute(SQL.leave, pool, [rep])
        await write_folds(c, ROUTER, {pool: fold}, {}, actor, version)
        facts = after(facts, fold)
    new = [rep for rep in shape.weights if rep not in there]
    for row in await c.fetch(SQL.join, pool, new) if new else []:
        fold = join(facts, Member(row["rep_id"], shape.weights[row["rep_id"]], row["position"]))
        await write_folds(c, ROUTER, {pool: fold}, {}, actor, version)
        facts = after(facts, fold)
