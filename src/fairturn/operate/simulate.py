"""Who would get what: the journey of leads in a file, from mapping to the turn, in memory. Writes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fairturn.config import Settings
from fairturn.decide.addresses import derived, email_facts
from fairturn.decide.drafts import Draft, place
from fairturn.decide.fairness import after, join, leave
from fairturn.decide.matching import account_keys, group, keys_of
from fairturn.decide.merging import incoming, merge, plain
from fairturn.decide.pool import PoolFacts
from fairturn.decide.rotation import Member
from fairturn.flow.plan import Plan
from fairturn.flow.turns import fold_pools
from fairturn.operate.leads import name
from fairturn.operate.rows import Row
from fairturn.ports import PoolShape


@dataclass(frozen=True, slots=True)
class Fate:
    """What would become of one lead."""

    rows: tuple[int, ...]  # of the file: rows of one person are one lead
    name: str
    status: str  # assigned | held | parked | ignored
    rule: str | None
    pool: str | None
    rep: str | None
    reason: str | None

    def as_json(self) -> dict[str, object]:
        return {
            "rows": list(self.rows),
            "name": self.name,
            "status": self.status,
            "rule": self.rule,
            "pool": self.pool,
            "rep": self.rep,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Simulation:
    fates: tuple[Fate, ...]
    problems: Mapping[int, str]  # row -> why it is no lead

    def pools(self) -> dict[str, dict[str, int]]:
        """Pool -> rep -> leads, most first."""
        counts: dict[str, Counter[str]] = {}
        for fate in self.fates:
            if fate.rep and fate.pool:
                counts.setdefault(fate.pool, Counter())[fate.rep] += 1
        return {pool: dict(count.most_common()) for pool, count in sorted(counts.items())}

    def rules(self) -> dict[str, int]:
        """Rule -> leads that it decided, most first."""
        return dict(Counter(fate.rule for fate in self.fates if fate.rule).most_common())

    @property
    def rows(self) -> int:
        return sum(len(fate.rows) for fate in self.fates) + len(self.problems)

    def count(self, status: str) -> int:
        return sum(fate.status == status for fate in self.fates)

    def as_json(self) -> dict[str, object]:
        return {
            "rows": self.rows,
            "leads": len(self.fates),
            "assigned": self.count("assigned"),
            "held": self.count("held"),
            "parked": self.count("parked"),
            "ignored": self.count("ignored"),
            "pools": self.pools(),
            "rules": self.rules(),
            "problems": {str(row): problem for row, problem in self.problems.items()},
            "fates": [fate.as_json() for fate in self.fates],
        }


@dataclass(frozen=True, slots=True)
class Difference:
    """A lead that fares otherwise under other settings."""

    now: Fate
    against: Fate

    def as_json(self) -> dict[str, object]:
        return {"rows": list(self.now.rows), "name": self.now.name, "from": brief(self.against), "to": brief(self.now)}


def brief(fate: Fate) -> str:
    """In a few words, for comparing."""
    return f"{fate.rep} ({fate.pool})" if fate.rep and fate.pool else fate.rep or fate.status


def simulate(plan: Plan, rows: Sequence[Row], facts: Mapping[str, PoolFacts], paused: Mapping[str, str]) -> Simulation:
    """`facts`: the rotation to begin with, by `begin`. `paused`: rep -> why. Everybody in the file counts as new."""
    problems = {row.number: row.problem for row in rows if row.problem}
    drafts, whose = _drafts(plan, [row for row in rows if row.mapped])
    for draft in drafts:
        rule = plan.rules.decide(draft.values, draft.source, paused)
        if rule is None:
            draft.status, draft.reason = "ignored", "no rule matches it"
        else:
            place(draft, rule, plan.settings)
    routing = [draft for draft in drafts if draft.status == "routing"]
    order = plan.with_fallbacks({draft.pool for draft in routing if draft.pool is not None})
    fold_pools(plan, order, facts, routing)
    return Simulation(tuple(_fate(draft, whose[draft.id]) for draft in drafts), problems)


def differences(now: Simulation, against: Simulation) -> list[Difference]:
    """Leads, matched by their rows, that another rep, pool or fate would have."""
    others = {fate.rows[0]: fate for fate in against.fates}
    return [
        Difference(fate, other)
        for fate in now.fates
        if (other := others.get(fate.rows[0])) is not None and brief(fate) != brief(other)
    ]


def begin(plan: Plan, stored: Mapping[str, PoolFacts], paused: Mapping[str, str]) -> dict[str, PoolFacts]:
    """The rotation as it would stand if these settings were put in force now: members join at par, and leave."""
    return {pool: _begin(pool, shape, stored.get(pool), paused) for pool, shape in plan.shapes.items()}


def _begin(pool: str, shape: PoolShape, stored: PoolFacts | None, paused: Mapping[str, str]) -> PoolFacts:
    facts = stored or PoolFacts(pool, (), frozenset(), {}, total=0, seq=0)
    facts = replace(
        facts,
        members=tuple(Member(m.rep, shape.weights.get(m.rep, 0), m.position) for m in facts.members),
        filtered=shape.filtered,
        max_debt=shape.max_debt,
        counts_kept=shape.counts,
    )
    there = {member.rep for member in facts.members}
    for rep in sorted(there - shape.weights.keys()):
        facts = after(facts, leave(facts, rep))
    last = max((member.position for member in facts.members), default=0)
    for number, rep in enumerate((rep for rep in shape.weights if rep not in there), 1):
        member = Member(rep, shape.weights[rep], last + number)
        facts = after(facts, join(facts, member))
    present = frozenset(rep for rep in shape.weights if rep not in paused)
    return replace(facts, present=present)


def _drafts(plan: Plan, rows: Sequence[Row]) -> tuple[list[Draft], dict[int, tuple[int, ...]]]:
    """Rows of one person merged, each lead with its values and its account, in the order of the file."""
    settings = plan.settings
    keys = []
    for row in rows:
        values = row.mapped.values if row.mapped else {}
        email = values.get("email")
        facts = email_facts(email if isinstance(email, str) else None, settings.organisation, settings.routing)
        keys.append(keys_of(row.source, row.mapped, facts, _event(row)) if row.mapped else ())
    drafts, whose = [], {}
    accounts = _Accounts()
    for number, found in enumerate(group(keys, {}), 1):
        mine = [rows[place] for place in found.events]
        draft = Draft(number, None, mine[0].source, {}, "new")
        for row in mine:
            if row.mapped:
                draft.fields = merge(draft.fields, incoming(row.mapped, _event(row), 0, row.number))
        draft.values = plain(draft.fields)
        email = draft.values.get("email")
        facts = email_facts(email if isinstance(email, str) else None, settings.organisation, settings.routing)
        draft.values |= derived(facts)
        draft.account = accounts.of(account_keys(draft.values, facts, settings))
        drafts.append(draft)
        whose[number] = tuple(row.number for row in mine)
    for draft in drafts:
        draft.account = accounts.root(draft.account)
    return drafts, whose


def _event(row: Row) -> bytes:
    return row.number.to_bytes(16, "big")


class _Accounts:
    """Keys that prove to be one company, as the database joins them."""

    def __init__(self) -> None:
        self._by_key: dict[str, int] = {}
        self._joined: dict[int, int] = {}

    def of(self, keys: Sequence[str]) -> int | None:
        if not keys:
            return None
        found = sorted({self._root(self._by_key[key]) for key in keys if key in self._by_key})
        account = found[0] if found else len(self._by_key) + 1
        self._joined |= dict.fromkeys(found[1:], account)
        self._by_key |= dict.fromkeys(keys, account)
        return account

    def root(self, account: int | None) -> int | None:
        return None if account is None else self._root(account)

    def _root(self, account: int) -> int:
        while account in self._joined:
            account = self._joined[account]
        return account


def _fate(draft: Draft, rows: tuple[int, ...]) -> Fate:
    status = "held" if draft.status in {"new", "routing"} else draft.status
    return Fate(rows, name(draft.fields), status, draft.rule, draft.pool, draft.rep, draft.reason)


def quiet_reps(settings: Settings, simulation: Simulation) -> list[str]:
    """Members of some pool, weight above 0, who would get nothing."""
    busy = {fate.rep for fate in simulation.fates}
    members = {rep for pool in settings.pools.values() for rep, weight in pool.members.items() if weight > 0}
    return sorted(members - busy)
