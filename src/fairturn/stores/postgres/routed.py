"""What a route transaction writes, noun by noun."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from hashlib import sha256
from types import SimpleNamespace

import orjson

from fairturn.decide.merging import dump
from fairturn.decide.pool import Entry, Fold
from fairturn.decide.rotation import Member
from fairturn.ports import LeadWrite, Routed
from fairturn.stores.postgres.answers import clean
from fairturn.stores.postgres.database import Connection


def share_key(shares: tuple[Member, ...]) -> tuple[bytes, str]:
    """The set's hash and its JSON [[rep, weight, position], ...]: one row for all turns that it shared."""
    members = orjson.dumps([[m.rep, m.weight, m.position] for m in shares])
    return sha256(members).digest()[:16], members.decode()


async def write(c: Connection, sql: SimpleNamespace, routed: Routed, actor: str) -> None:
    await _leads(c, sql, routed.leads)
    if routed.keys:
        await c.execute(sql.own_keys, list(routed.keys), list(routed.keys.values()))
    if routed.merges:
        await c.execute(sql.merge_leads, list(routed.merges), list(routed.merges.values()))
        for younger, older in routed.merges.items():
            await c.execute(sql.foster, younger, older)
            await c.execute(sql.adopt, younger, older)
    for verb, thing, reason in routed.notes:
        await c.execute(sql.note, actor, verb, thing, reason)
    await write_folds(c, sql, routed.folds, routed.rules, actor, routed.config)
    await _owners(c, sql, routed, actor)
    await _events(c, sql, routed)
    await _changes(c, sql, routed)
    await _people(c, sql, routed.leads)


async def _leads(c: Connection, sql: SimpleNamespace, writes: tuple[LeadWrite, ...]) -> None:
    new = [w for w in writes if w.new]
    old = [w for w in writes if not w.new]
    if new:
        await c.execute(
            sql.insert_leads,
            [w.lead.id for w in new],
            [w.lead.source for w in new],
            [w.lead.status for w in new],
            [dump(w.lead.fields) for w in new],
            [w.lead.account for w in new],
            [w.lead.rep for w in new],
            [w.lead.pool for w in new],
            [w.lead.rule for w in new],
            [w.lead.reason for w in new],
            [dict(w.park) if w.park else None for w in new],
            [w.lead.wait_until for w in new],
            [w.lead.priority for w in new],
            [w.lead.mode for w in new],
        )
    if old:
        old.sort(key=lambda w: w.lead.id)
        await c.execute(
            sql.update_leads,
            [w.lead.id for w in old],
            [w.lead.status for w in old],
            [dump(w.lead.fields) for w in old],
            [w.lead.account for w in old],
            [w.lead.rep for w in old],
            [w.lead.pool for w in old],
            [w.lead.rule for w in old],
            [w.lead.reason for w in old],
            [dict(w.park) if w.park else None for w in old],
            [w.lead.wait_until for w in old],
            [w.lead.priority for w in old],
            [w.lead.mode for w in old],
        )


async def write_folds(
    c: Connection, sql: SimpleNamespace, folds: Mapping[str, Fold], rules: Mapping[int, str], actor: str, config: int
) -> None:
    """Entries, credits and balances of every pool that took a turn."""
    moved = {pool: fold for pool, fold in folds.items() if fold.entries}
    if not moved:
        return
    rows: list[tuple[str, Entry, bytes | None]] = []
    sets: dict[bytes, str] = {}
    hashes: dict[int, bytes] = {}
    for pool, fold in moved.items():
        for entry in fold.entries:
            if entry.shares is not None and id(entry.shares) not in hashes:
                digest, members = share_key(entry.shares)
                hashes[id(entry.shares)] = digest
                sets[digest] = members
            rows.append((pool, entry, None if entry.shares is None else hashes[id(entry.shares)]))
    if sets:
        await c.execute(sql.shares, sorted(sets), [sets[digest] for digest in sorted(sets)])
    await c.execute(
        sql.assignments,
        [pool for pool, _, _ in rows],
        [entry.seq for _, entry, _ in rows],
        [entry.kind for _, entry, _ in rows],
        [entry.rep for _, entry, _ in rows],
        [entry.lead for _, entry, _ in rows],
        [digest for _, _, digest in rows],
        # An array of arrays must be rectangular, so each list travels as PostgreSQL's text form of text[].
        [
            None if entry.eligible is None else "{" + ",".join(f'"{rep}"' for rep in entry.eligible) + "}"
            for _, entry, _ in rows
        ],
        [rules.get(entry.lead) if entry.lead is not None else None for _, entry, _ in rows],
        [entry.counts for _, entry, _ in rows],
        [clean(entry.reason) for _, entry, _ in rows],  # may hold a CRM's words
        actor,
        config,
    )
    await _credits(c, sql, moved)
    await _balances(c, sql, moved)


async def _credits(c: Connection, sql: SimpleNamespace, folds: Mapping[str, Fold]) -> None:
    closed = [settled for fold in folds.values() for settled in fold.settled_credits]
    if closed:
        await c.execute(
            sql.close_credits, [s.credit.id for s in closed], [s.seq for s in closed], [s.how for s in closed]
        )
    opened = [(pool, credit) for pool, fold in folds.items() for credit in fold.opened]
    if opened:
        await c.execute(
            sql.open_credits,
            [pool for pool, _ in opened],
            [credit.rep for _, credit in opened],
            [credit.kind for _, credit in opened],
            [credit.seq for _, credit in opened],
        )


async def _balances(c: Connection, sql: SimpleNamespace, folds: Mapping[str, Fold]) -> None:
    rows = [
        (pool, rep, Decimal(balance), fold.settled.get(rep))
        for pool, fold in folds.items()
        for rep, balance in fold.balances.items()
    ]
    await c.execute(sql.balances, *(list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [], []))
    await c.execute(
        sql.turn_pools,
        list(folds),
        [fold.seq for fold in folds.values()],
        [fold.total for fold in folds.values()],
        [fold.given for fold in folds.values()],
        [fold.last for fold in folds.values()],
    )


async def _owners(c: Connection, sql: SimpleNamespace, routed: Routed, actor: str) -> None:
    """Owners that a rule named: assignments outside any pool."""
    named = [w.lead for w in routed.leads if w.owner_rule]
    if named:
        nothing: list[None] = [None] * len(named)
        await c.execute(
            sql.assignments,
            nothing,
            nothing,
            ["owner"] * len(named),
            [lead.rep for lead in named],
            [lead.id for lead in named],
            nothing,
            nothing,
            [lead.rule for lead in named],
            [True] * len(named),
            [lead.reason or "named by the rule" for lead in named],
            actor,
            routed.config,
        )


async def _events(c: Connection, sql: SimpleNamespace, routed: Routed) -> None:
    if routed.events:
        # An array of arrays must be rectangular, so each event's marks travel as JSON; most have none.
        marks = [
            orjson.dumps(routed.marks[event]).decode() if event in routed.marks else None for event in routed.events
        ]
        await c.execute(sql.routed, list(routed.events), list(routed.events.values()), marks)
    if routed.quarantined:
        await c.execute(sql.quarantine, list(routed.quarantined), list(routed.quarantined.values()))
    if routed.waiting:
        await c.executemany(sql.wait, [(event, list(keys), until) for event, (keys, until) in routed.waiting.items()])


async def _changes(c: Connection, sql: SimpleNamespace, routed: Routed) -> None:
    due = sorted((w for w in routed.leads if w.changes), key=lambda w: w.lead.id)
    if due and routed.destinations:
        await c.execute(
            sql.changes,
            [w.lead.id for w in due],
            [w.owned for w in due],
            [w.lead.account for w in due],
            [w.lead.priority for w in due],
            [w.oldest_event_at for w in due],
            sorted(routed.destinations),
            [w.waited for w in due],
        )
        await c.execute(sql.notify, "fairturn_change")


async def _people(c: Connection, sql: SimpleNamespace, writes: tuple[LeadWrite, ...]) -> None:
    """Who is to be asked for, what came of it, and the records in the CRMs that are written from here on."""
    asked = [(w.lead.id, name, w.email) for w in writes for name in w.ask]
    if asked:
        await c.execute(sql.ask, *map(list, zip(*asked, strict=True)))
        await c.execute(sql.notify, "fairturn_question")
    adopted = [
        (w.lead.id, name, p.record_id, p.object_type, dict(p.values), p.owner.id if p.owner else None)
        for w in writes
        for name, p in w.adopt.items()
    ]
    if adopted:
        await c.execute(sql.take_over, *map(list, zip(*adopted, strict=True)), False)
    if kept := [w.lead.id for w in writes if w.kept]:
        await c.execute(sql.keep_owners, kept)
    settled = [(w.lead.id, name, why) for w in writes for name, why in w.settled.items()]
    if settled:
        await c.execute(sql.settled, *map(list, zip(*settled, strict=True)))
