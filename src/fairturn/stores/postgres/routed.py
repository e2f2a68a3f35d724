"""What a route transaction writes, noun by noun."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from hashlib import sha256
from types import SimpleNamespace

import orjson

from fairturn.decide.merging import dump
from fairturn.decide.pool import Fold
from fairturn.decide.rotation import Member
from fairturn.model import Lead
from fairturn.ports import LeadWrite, Routed
from fairturn.stores.postgres.answers import clean
from fairturn.stores.postgres.database import Connection


def share_key(shares: tuple[Member, ...]) -> tuple[bytes, str]:
    """The set's hash and its JSON [[rep, weight, position], ...]: one row for all turns that it shared."""
    members = orjson.dumps([[m.rep, m.weight, m.position] for m in shares])
    return sha256(members).digest()[:16], members.decode()


def column(values: Iterable[object]) -> list[object]:
    """Empty where no row has a value: each costs the driver a look, and unnest fills up to the longest with null."""
    found = list(values)
    return found if any(value is not None for value in found) else []


def once(values: Iterable[object]) -> list[object]:
    """The one value that all rows have, if they have: to encode it for each is a tenth of what a row costs."""
    found = column(values)
    return found[:1] if found and found[0] is not None and found.count(found[0]) == len(found) else found


async def write(c: Connection, sql: SimpleNamespace, routed: Routed, actor: str) -> None:
    await _changed(c, sql, [w for w in routed.leads if not w.new])
    if routed.keys:
        await c.execute(sql.own_keys, list(routed.keys), list(routed.keys.values()))
    if routed.merges:
        await c.execute(sql.merge_leads, list(routed.merges), list(routed.merges.values()))
        for younger, older in routed.merges.items():
            await c.execute(sql.foster, younger, older)
            await c.execute(sql.adopt, younger, older)
    for verb, thing, reason in routed.notes:
        await c.execute(sql.note, actor, verb, thing, reason)
    moved = {pool: fold for pool, fold in routed.folds.items() if fold.entries}
    named = [w.lead for w in routed.leads if w.owner_rule]
    turns = _turns(moved, named, routed.rules, actor, routed.config)
    if moved or routed.events or routed.leads:
        await c.execute(sql.written, *_made(routed), *turns, *_told(routed))
    await _credits(c, sql, moved)
    await _asides(c, sql, routed)
    await _people(c, sql, routed.leads)


async def write_folds(
    c: Connection, sql: SimpleNamespace, folds: Mapping[str, Fold], rules: Mapping[int, str], actor: str, config: int
) -> None:
    """Entries, credits and balances of every pool that took a turn, and nothing else."""
    moved = {pool: fold for pool, fold in folds.items() if fold.entries}
    if moved:
        nothing = Routed((), config, ())
        turns = _turns(moved, (), rules, actor, config)
        await c.execute(sql.written, *_made(nothing), *turns, *_told(nothing))
        await _credits(c, sql, moved)


def _made(routed: Routed) -> tuple[list[object], ...]:
    """The leads that begin, and what became of the events."""
    new = [w for w in routed.leads if w.new]
    leads = [w.lead for w in new]
    # An array of arrays must be rectangular, so each event's marks travel as JSON; most have none.
    marks = [orjson.dumps(routed.marks[event]).decode() if event in routed.marks else None for event in routed.events]
    return (
        [lead.id for lead in leads],
        once(lead.source for lead in leads),
        once(lead.status for lead in leads),
        [dump(lead.fields) for lead in leads],
        column(lead.account for lead in leads),
        column(lead.rep for lead in leads),
        once(lead.pool for lead in leads),
        once(lead.rule for lead in leads),
        once(lead.reason for lead in leads),
        column(dict(w.park) if w.park else None for w in new),
        column(lead.wait_until for lead in leads),
        once(lead.priority for lead in leads),
        once(lead.mode for lead in leads),
        list(routed.events),
        list(routed.events.values()),
        column(marks),
    )


async def _changed(c: Connection, sql: SimpleNamespace, old: list[LeadWrite]) -> None:
    if not old:
        return
    old.sort(key=lambda w: w.lead.id)
    leads = [w.lead for w in old]
    await c.execute(
        sql.update_leads,
        [lead.id for lead in leads],
        [lead.status for lead in leads],
        [dump(lead.fields) for lead in leads],
        column(lead.account for lead in leads),
        column(lead.rep for lead in leads),
        column(lead.pool for lead in leads),
        column(lead.rule for lead in leads),
        column(lead.reason for lead in leads),
        column(dict(w.park) if w.park else None for w in old),
        column(lead.wait_until for lead in leads),
        [lead.priority for lead in leads],
        [lead.mode for lead in leads],
    )


def _turns(
    folds: Mapping[str, Fold], named: Sequence[Lead], rules: Mapping[int, str], actor: str, config: int
) -> tuple[object, ...]:
    """Entries and balances of pools that took a turn, and the owners that a rule named, outside any pool."""
    sets, rows = _entries(folds, rules)
    rows += [
        (None, None, "owner", lead.rep or "", lead.id, None, None, lead.rule, True, lead.reason or "named by the rule")
        for lead in named
    ]
    pool, seq, kind, rep, lead_, digest, among, rule, counts, reason = zip(*rows, strict=True) if rows else [()] * 10
    balances = [
        (name, rep, Decimal(balance), fold.settled.get(rep))
        for name, fold in folds.items()
        for rep, balance in fold.balances.items()
    ]
    return (
        sorted(sets),
        [sets[digest] for digest in sorted(sets)],
        once(pool),
        column(seq),
        once(kind),
        list(rep),
        list(lead_),
        once(digest),
        column(among),
        once(rule),
        once(counts),
        once(reason),
        actor,
        config,
        *(list(values) for values in (zip(*balances, strict=True) if balances else [()] * 4)),
        list(folds),
        [fold.seq for fold in folds.values()],
        [fold.total for fold in folds.values()],
        [fold.given for fold in folds.values()],
        [fold.last for fold in folds.values()],
    )


Row = tuple[str | None, int | None, str, str, int | None, bytes | None, str | None, str | None, bool, str]


def _entries(folds: Mapping[str, Fold], rules: Mapping[int, str]) -> tuple[dict[bytes, str], list[Row]]:
    """The sets that shared, by their hash, and a row for each entry."""
    sets: dict[bytes, str] = {}
    hashes: dict[int, bytes] = {}
    rows: list[Row] = []
    for pool, fold in folds.items():
        for entry in fold.entries:
            digest = None
            if entry.shares is not None and (digest := hashes.get(id(entry.shares))) is None:
                digest, members = share_key(entry.shares)
                hashes[id(entry.shares)] = digest
                sets[digest] = members
            rule = rules.get(entry.lead) if entry.lead is not None else None
            # An array of arrays must be rectangular, so each list travels as PostgreSQL's text form of text[].
            among = None if entry.eligible is None else "{" + ",".join(f'"{rep}"' for rep in entry.eligible) + "}"
            reason = clean(entry.reason)  # may hold a CRM's words
            rows.append((pool, entry.seq, entry.kind, entry.rep, entry.lead, digest, among, rule, entry.counts, reason))
    return sets, rows


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


async def _asides(c: Connection, sql: SimpleNamespace, routed: Routed) -> None:
    if routed.quarantined:
        await c.execute(sql.quarantine, list(routed.quarantined), list(routed.quarantined.values()))
    if routed.waiting:
        await c.executemany(sql.wait, [(event, list(keys), until) for event, (keys, until) in routed.waiting.items()])


def _told(routed: Routed) -> tuple[Sequence[object], ...]:
    """The leads of which the destinations have to hear."""
    due = sorted((w for w in routed.leads if w.changes), key=lambda w: w.lead.id) if routed.destinations else []
    return (
        [w.lead.id for w in due],
        [w.owned for w in due],
        [w.lead.account for w in due],
        [w.lead.priority for w in due],
        [w.oldest_event_at for w in due],
        sorted(routed.destinations),
        [w.waited for w in due],
    )


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
