"""Inside the turn: held leads first, then the batch's, pool by pool, each before the pool it falls back to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fairturn.decide.addresses import derived
from fairturn.decide.drafts import Draft, from_lead
from fairturn.decide.eligibility import eligible
from fairturn.decide.fairness import after, assign, give_back
from fairturn.decide.merging import plain
from fairturn.decide.pool import GIVES, Fold, PoolFacts, Waiting
from fairturn.errors import StaleConfig
from fairturn.flow.plan import Plan
from fairturn.flow.reading import address
from fairturn.model import FieldValue
from fairturn.ports import Routed, RouteStep, Turn

HELD = 1000  # held leads of one pool that one turn looks at


@dataclass(frozen=True, slots=True)
class GiveBack:
    """A turn whose lead turned out to be another lead's person."""

    pool: str
    rep: str
    lead: int
    reason: str


async def take_turns(
    step: RouteStep,
    plan: Plan,
    drafts: Sequence[Draft],
    returns: Sequence[GiveBack],
    pools: Iterable[str] = (),
    behind: Mapping[str, int] | None = None,
) -> tuple[dict[str, Fold], list[Draft]]:
    """Assign what is routing, and what was held (`behind`: pool -> the held lead behind which to begin).

    Returns the folds to write and the held leads that were looked at. One whose rule is gone is not: the rules have to
    decide anew, and until then its filter is not known.
    """
    routing = [draft for draft in drafts if draft.status == "routing"]
    # A pool that has left the settings has no rotation to give a turn back to.
    returns = [back for back in returns if back.pool in plan.shapes]
    wanted = {draft.pool for draft in routing if draft.pool} | {back.pool for back in returns} | set(pools)
    order = plan.with_fallbacks(wanted)
    accounts = sorted({draft.account for draft in routing if draft.account is not None})
    back = [one.lead for one in returns]
    shapes = {pool: replace(plan.shapes[pool], behind=(behind or {}).get(pool, 0)) for pool in order}
    turn = await step.turn(shapes, accounts, HELD, back)
    if turn.config != plan.version:
        msg = f"decided with config {plan.version}, {turn.config} is in force"
        raise StaleConfig(msg)
    if returns:
        await _give_back(step, plan, turn, returns)
        turn = await step.turn(shapes, accounts, HELD)
    known = {draft.id for draft in drafts}
    held = [from_lead(lead) for pool in order for lead in turn.held.get(pool, ()) if lead.id not in known]
    able = [draft for draft in held if draft.rule is None or draft.rule in plan.by_id]
    for draft in able:
        draft.status, draft.values = "routing", values_of(plan, draft)
    folds = fold_pools(plan, order, turn.pools, able + sorted(routing, key=lambda draft: draft.before is None))
    return folds, held


def values_of(plan: Plan, draft: Draft) -> dict[str, FieldValue]:
    """As the rule's filter sees them; what is worked out only where a filter asks, since a thousand may be held."""
    values = plain(draft.fields)
    rule = plan.by_id.get(draft.rule or "")
    return {**values, **derived(address(plan, values))} if rule is not None and rule.require else values


async def _give_back(step: RouteStep, plan: Plan, turn: Turn, returns: Sequence[GiveBack]) -> None:
    """Written at once, under the locks that are held: the credits need their ids before a fold can settle them."""
    facts = dict(turn.pools)
    for back in returns:
        fold = give_back(facts[back.pool], back.rep, back.lead, back.reason, owes=back.lead not in turn.free)
        facts[back.pool] = after(facts[back.pool], fold)
        await step.write(Routed((), plan.version, (), folds={back.pool: fold}))


def fold_pools(
    plan: Plan, order: Sequence[str], facts: Mapping[str, PoolFacts], routing: Sequence[Draft]
) -> dict[str, Fold]:
    """Pure: the drafts of `routing` get their owner or are held, each pool before the one it falls back to."""
    queues: dict[str, list[Draft]] = {pool: [] for pool in order}
    homes: dict[int, str] = {}
    drafts = {draft.id: draft for draft in routing}
    for draft in routing:
        if draft.pool in queues and draft.pool in facts:
            queues[draft.pool].append(draft)
            homes[draft.id] = draft.pool
        else:
            draft.status, draft.reason = "held", f"the pool {draft.pool} is not in the settings"
    folds: dict[str, Fold] = {}
    for pool in order:
        if not queues[pool]:
            continue
        fold = assign(facts[pool], [_waiting(plan, draft, pool) for draft in queues[pool]])
        folds[pool] = fold = _in_their_words(fold, drafts)
        for entry in fold.entries:
            if entry.kind in GIVES and entry.lead is not None:
                draft = drafts[entry.lead]
                draft.status, draft.rep, draft.pool, draft.reason = "assigned", entry.rep, pool, entry.reason
        fallback = plan.settings.pools[pool].fallback
        for lead, why in fold.held:
            draft = drafts[lead]
            if homes[lead] == pool:
                draft.reason = why
            if fallback in queues and fallback in facts:
                queues[fallback].append(draft)
            else:
                draft.status, draft.pool = "held", homes[lead]
    return folds


def _in_their_words(fold: Fold, drafts: Mapping[int, Draft]) -> Fold:
    """The row of an owner kept says who it is in the CRM, and of which record."""
    why = {draft.id: draft.kept for draft in drafts.values() if draft.keep is not None and draft.kept is not None}
    if not why:
        return fold
    entries = tuple(
        replace(entry, reason=why.get(entry.lead or 0, entry.reason)) if entry.kind == "kept" else entry
        for entry in fold.entries
    )
    return replace(fold, entries=entries)


def _waiting(plan: Plan, draft: Draft, pool: str) -> Waiting:
    rule = plan.by_id.get(draft.rule or "")
    among = eligible(rule, plan.settings.pools[pool], plan.settings, draft.values) if rule else None
    account = draft.account if plan.shapes[pool].sticky else None
    return Waiting(lead=draft.id, eligible=among, account=account, keep=draft.keep)
