"""One route transaction on PostgreSQL: a constant number of statements, whatever the batch holds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from fairturn.decide.drafts import SET_ASIDE
from fairturn.decide.merging import load
from fairturn.decide.pool import Credit, PoolFacts
from fairturn.decide.rotation import Member
from fairturn.errors import StaleLead
from fairturn.model import Arrival, Event, Existing, Key, Lead
from fairturn.ports import OWNER_REFUSED, Bound, PoolShape, Routed, Taken, Turn
from fairturn.stores.postgres.answers import clean
from fairturn.stores.postgres.database import Connection, Database, statements
from fairturn.stores.postgres.journal import Admitted, admit, store
from fairturn.stores.postgres.people import existing_of
from fairturn.stores.postgres.routed import write

SQL = statements("router")
NOBODY: Mapping[bytes, int] = MappingProxyType({})


def event_of(row: Any) -> Event:
    return Event(row["id"], row["serial"], row["source_id"], row["lane"], row["received_at"], row["body"])


def lead_of(row: Any) -> Lead:
    return Lead(
        id=row["id"],
        created_at=row["created_at"],
        source=row["source_id"],
        status=row["status"],
        fields=load(row["fields"]),
        account=row["account_id"],
        rep=row["rep_id"],
        pool=row["pool_id"],
        rule=row["rule_id"],
        reason=row["reason"],
        wait_until=row["wait_until"],
        merged_into=row["merged_into"],
        priority=row["priority"],
        mode=row["mode"],
    )


class PostgresRouter:
    """Opens route transactions. `actor` names the process in the assignments it writes."""

    def __init__(self, database: Database, *, actor: str = "fairturn") -> None:
        self._database = database
        self._actor = actor

    @asynccontextmanager
    async def step(self) -> AsyncIterator[PostgresRouteStep]:
        async with self._database.transaction() as connection:
            yield PostgresRouteStep(connection, self._actor)

    async def pools_to_serve(self, chains: Mapping[str, Sequence[str]]) -> Sequence[str]:
        async with self._database.connection() as connection:
            rows = await connection.fetch(SQL.serve)
        present = {row["id"] for row in rows if row["present"]}
        return [row["id"] for row in rows if row["held"] and present.intersection(chains.get(row["id"], ()))]

    async def orphans(self, pools: Sequence[str], rules: Sequence[str], limit: int) -> Sequence[int]:
        """Held leads whose pool or rule is none of these."""
        async with self._database.connection() as connection:
            return [row["id"] for row in await connection.fetch(SQL.orphans, list(pools), list(rules), limit)]

    async def quarantine(self, event: bytes, problem: str) -> None:
        async with self._database.connection() as connection:
            await connection.execute(SQL.quarantine, [event], [problem])

    async def set_aside(self, lead: int, problem: str) -> None:
        problem = clean(problem)
        async with self._database.transaction() as connection:
            if await connection.fetchval(SQL.set_aside, lead, f"{SET_ASIDE}{problem}"[:1000]):
                await connection.execute(SQL.set_aside_event, lead, f"its lead {SET_ASIDE}{problem}"[:1000])
                await connection.execute(SQL.note, self._actor, "set aside", f"lead {lead}", problem[:500])

    async def pause(self, rep: str, reason: str) -> bool:
        words = clean(reason[:500])
        async with self._database.transaction() as connection:
            done = await connection.fetchval(SQL.pause, rep, self._actor, words)
            if done:
                await connection.execute(SQL.note, self._actor, "pause", f"rep {rep}", words)
        return bool(done)

    async def keeps_owner(self, lead: int) -> bool:
        async with self._database.connection() as connection:
            return bool(await connection.fetchval(SQL.keeps_owner, lead, OWNER_REFUSED))


class PostgresRouteStep:
    def __init__(self, connection: Connection, actor: str) -> None:
        self._connection = connection
        self._actor = actor
        self._admitted: Admitted | None = None

    async def admit(self, arrivals: Sequence[Arrival]) -> Taken:
        self._admitted = found = await admit(self._connection, arrivals)
        return Taken(found.now, found.events, (), found.paused)

    async def store(self, leads: Mapping[bytes, int]) -> None:
        if self._admitted is not None and self._admitted.events:
            await store(self._connection, self._admitted, leads)

    async def take(self, limit: int, *, only: Sequence[bytes] | None = None, due: bool = False) -> Taken:
        # Due leads come in a transaction of their own: keys are locked before leads everywhere, and these have none.
        c = self._connection
        if due:
            rows = await c.fetch(SQL.due, limit)
        elif only is not None:
            rows = await c.fetch(SQL.claim_these, list(only))
        else:
            rows = await c.fetch(SQL.claim, limit) if limit else []
        moment = rows[0] if rows else await one(c, SQL.moment)
        now, paused = moment["now"], moment["paused"] or {}
        if due:
            return Taken(now, (), tuple(row["id"] for row in rows), paused)
        return Taken(now, tuple(map(event_of, rows)), (), paused)

    async def bind(
        self, keys: Sequence[Key], *, newcomers: Mapping[bytes, int] = NOBODY, signals: bool = False
    ) -> Bound:
        unique = {key.digest: key for key in keys}
        digests = sorted(unique)
        rows = await self._connection.fetch(
            SQL.bind,
            digests,
            [unique[digest].kind for digest in digests],
            [unique[digest].value for digest in digests],
            [newcomers.get(digest) for digest in digests] if newcomers else [],
        )
        leads, fresh, orphans = {}, {}, []
        for digest, lead, existed in rows:
            if not existed:
                fresh[digest] = lead
            elif lead is None:
                orphans.append(digest)
            else:
                leads[digest] = lead
        waiting = await self._connection.fetch(SQL.signals, orphans) if signals and orphans else []
        begun = {digest: lead for digest, lead in fresh.items() if lead is not None}
        return Bound(leads, begun, frozenset(orphans), tuple(map(event_of, waiting)))

    async def new_leads(self, count: int) -> Sequence[int]:
        return [row[0] for row in await self._connection.fetch(SQL.new_leads, count)] if count else []

    async def leads(self, ids: Sequence[int]) -> Mapping[int, Lead]:
        if not ids:
            return {}
        found = {row["id"]: lead_of(row) for row in await self._connection.fetch(SQL.leads, sorted(ids))}
        if any(lead.merged_into is not None for lead in found.values()) or len(found) != len(set(ids)):
            msg = "a lead was merged into another while we waited for its lock"
            raise StaleLead(msg)
        return found

    async def accounts(self, groups: Sequence[Sequence[str]]) -> Sequence[int]:
        """One account per group. The first key of a new group names the account."""
        keys = sorted({key for group in groups for key in group})
        if not keys:
            return []
        bound = await self._account_keys(keys)
        fresh = sorted({group[0] for group in groups if not any(key in bound for key in group)})
        if fresh:
            made = {row["key"]: row["id"] for row in await self._connection.fetch(SQL.new_accounts, fresh)}
            await self._connection.execute(SQL.bind_accounts, list(made), list(made.values()))
            bound = await self._account_keys(keys)  # another station may have been first: its account it is
        return await self._join(groups, bound)

    async def _account_keys(self, keys: Sequence[str]) -> dict[str, int]:
        return {row["key"]: row["account_id"] for row in await self._connection.fetch(SQL.account_keys, list(keys))}

    async def _join(self, groups: Sequence[Sequence[str]], bound: dict[str, int]) -> list[int]:
        """Keys of one group are one account from here on: the oldest account stays."""
        root: dict[int, int] = {}

        def find(account: int) -> int:
            while account in root:
                account = root[account]
            return account

        loose: dict[str, int] = {}
        for group in groups:
            found = sorted({find(bound[key]) for key in group if key in bound})
            for other in found[1:]:
                root[other] = found[0]
            loose |= {key: found[0] for key in group if key not in bound}
        if root:
            await self._connection.execute(SQL.join_accounts, list(root), [find(account) for account in root])
        if loose:
            keys = sorted(loose)
            await self._connection.execute(SQL.bind_accounts, keys, [find(loose[key]) for key in keys])
        known = bound | loose
        return [find(known[group[0]]) for group in groups]

    async def turn(
        self, pools: Mapping[str, PoolShape], accounts: Sequence[int], held: int, returns: Sequence[int] = ()
    ) -> Turn:
        c = self._connection
        names = sorted(pools)
        sticky = any(shape.sticky for shape in pools.values())
        row = await one(c, SQL.facts, names, list(accounts) if sticky else [], True)
        waiting: dict[str, list[Lead]] = {}
        if row["held"]:
            for found in await c.fetch(SQL.held, names, held, [pools[name].behind for name in names]):
                waiting.setdefault(found["pool_id"], []).append(lead_of(found))
            companies = {lead.account for leads in waiting.values() for lead in leads if lead.account is not None}
            if sticky and not companies <= set(accounts):
                row = await one(c, SQL.facts, names, sorted(companies.union(accounts)), True)
        paused = row["paused"] or {}
        facts = facts_of(row, pools, paused)
        free = await c.fetch(SQL.free, list(returns)) if returns else []
        return Turn(
            row["config"] or 0,
            facts,
            {pool: tuple(leads) for pool, leads in waiting.items()},
            paused,
            frozenset(row["lead"] for row in free),
        )

    async def existing(self, leads: Sequence[int]) -> Mapping[int, Mapping[str, Existing]]:
        found: dict[int, dict[str, Existing]] = {}
        for row in await self._connection.fetch(SQL.existing, list(leads)) if leads else []:
            found.setdefault(row["lead_id"], {})[row["destination_id"]] = existing_of(row)
        return found

    async def in_crm(self, leads: Sequence[int]) -> frozenset[int]:
        rows = await self._connection.fetch(SQL.in_crm, list(leads)) if leads else []
        return frozenset(row["lead_id"] for row in rows)

    async def write(self, routed: Routed) -> None:
        if self._admitted is not None:
            # Stored as routed, but for what is odd in them. Signals that waited for them are no news to the journal.
            stored = {event.id for event in self._admitted.events}.difference(routed.marks)
            events = {event: lead for event, lead in routed.events.items() if event not in stored}
            routed = replace(routed, events=events)
        await write(self._connection, SQL, routed, self._actor)


async def one(c: Connection, statement: str, *arguments: object) -> Any:
    """The row of a statement that always has one."""
    [row] = await c.fetch(statement, *arguments)
    return row


async def read_pools(
    c: Connection,
    names: list[str],
    shapes: Mapping[str, PoolShape],
    paused: Mapping[str, str],
    accounts: Sequence[int],
) -> dict[str, PoolFacts]:
    """Facts of pools, which the caller has locked where it is to write. `paused`: rep -> why."""
    return facts_of(await one(c, SQL.facts, names, list(accounts), False), shapes, paused)


def facts_of(row: Any, shapes: Mapping[str, PoolShape], paused: Mapping[str, str]) -> dict[str, PoolFacts]:
    members, credits_of = _by_pool(row["members"]), _by_pool(row["credits"])
    facts = {}
    for name, seq, total, given, last in row["pools"] or ():
        shape, mine = shapes[name], members.get(name, [])
        facts[name] = PoolFacts(
            pool=name,
            members=tuple(Member(rep, shape.weights.get(rep, 0), position) for rep, position, _, _ in mine),
            present=frozenset(rep for rep, _, _, _ in mine if rep not in paused),
            balances={rep: int(balance) for rep, _, balance, _ in mine},
            total=total,
            seq=seq,
            credits=tuple(Credit(*credit) for credit in credits_of.get(name, ())),
            settled={rep: settled for rep, _, _, settled in mine if settled is not None},
            sticky={account: rep for account, rep, age in row["sticky"] or () if age < shape.sticky},
            filtered=shape.filtered,
            max_debt=shape.max_debt,
            counts_kept=shape.counts,
            given=given,
            last=last,
        )
    return facts


def _by_pool(rows: Sequence[Any] | None) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for pool, *row in rows or ():
        found.setdefault(pool, []).append(row)
    return found
