"""Held leads: nobody could take them. Try them again, give them to a person, or park them under a queue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fairturn.decide.drafts import Draft, from_lead
from fairturn.decide.fairness import assign
from fairturn.decide.pool import Fold, Waiting
from fairturn.decide.record_ids import may_own, meant_as_id
from fairturn.desk import Acts, ActStep, LeadFilter, Reads
from fairturn.errors import NotAllowed, NotFound, StaleConfig
from fairturn.flow.plan import Plan
from fairturn.flow.route import route_held
from fairturn.operate.check_people import QUEUE
from fairturn.operate.leads import standing
from fairturn.ports import LeadWrite, Routed
from fairturn.views import By, LeadLine

MOST = 10_000  # leads that one act of a person names


@dataclass(frozen=True, slots=True)
class Released:
    leads: Mapping[int, str]  # lead -> rep or queue; empty for those tried by turn
    tried: int = 0  # leads that got an owner by their pool's turn
    held: int = 0  # still held


async def holds(reads: Reads, pool: str | None = None, limit: int = 1000) -> Sequence[LeadLine]:
    """Oldest first."""
    return await reads.leads(LeadFilter(status="held", pool=pool, oldest_first=True, limit=limit))


async def try_again(reads: Reads, acts: Acts, plan: Plan, pools: Iterable[str], by: By) -> Released:
    """A turn for the held leads of these pools, oldest first, here and now: no worker need run."""
    given, wanted = 0, sorted(set(pools))
    for pool in wanted:
        behind: Mapping[str, int] = {}
        while True:
            async with acts.step(by) as step:
                served = await route_held(step.route, plan, [pool], behind)
                if served.given:
                    await step.note("release", f"pool {pool}", {"leads": served.given})
            given += served.given
            behind = served.more
            if not behind:
                break
    held = sum([len(await holds(reads, pool, MOST)) for pool in wanted])
    return Released({}, given, held)


async def give(acts: Acts, plan: Plan, leads: Sequence[int], rep: str, by: By) -> Released:
    """To this person, outside the rotation. A member pays for it with a later turn, if the pool counts such.

    Raises NotFound for an unknown rep; NotAllowed for a lead that is not held.
    """
    if rep not in plan.settings.reps:
        raise NotFound("rep", rep, tuple(plan.settings.reps))
    reason = f"given by {by.actor}" + (f": {by.reason}" if by.reason else "")
    async with acts.step(by) as step:
        drafts = await _held(step, leads)
        folds = await _kept(step, plan, drafts, rep, reason)
        for draft in drafts:
            outside = draft.pool not in folds
            draft.status, draft.rep, draft.reason, draft.owner_rule = "assigned", rep, reason, outside
        await _write(step, plan, drafts, folds)
        await step.note("release", f"rep {rep}", {"leads": [draft.id for draft in drafts]})
    return Released({draft.id: rep for draft in drafts})


async def park(acts: Acts, plan: Plan, leads: Sequence[int], queue: str, by: By) -> Released:
    """Written to the CRM under this queue (or user), taking no turn. Raises NotAllowed for another record's id."""
    salesforce = any(d.type == "salesforce" for d in plan.settings.destinations.values())
    if salesforce and meant_as_id(queue) and not may_own(queue):
        raise NotAllowed(f'"{queue[:40]}" is no id of a queue or user in Salesforce. {QUEUE}.')
    reason = f"parked by {by.actor}" + (f": {by.reason}" if by.reason else "")
    async with acts.step(by) as step:
        drafts = await _held(step, leads)
        for draft in drafts:
            draft.status, draft.reason = "parked", reason
            draft.park = dict.fromkeys(plan.settings.destinations, queue)
        await _write(step, plan, drafts, {})
        await step.note("park", f"queue {queue}", {"leads": [draft.id for draft in drafts]})
    return Released({draft.id: queue for draft in drafts})


async def _held(step: ActStep, leads: Sequence[int]) -> list[Draft]:
    """Locked. One that is not held any more stops the act: somebody was faster, or a rep came back."""
    stored = await step.route.leads(sorted(set(leads))[:MOST])
    for lead in stored.values():
        if lead.status != "held":
            raise NotAllowed(f"Lead {lead.id} is not held: {standing(lead)}. Nothing was changed.")
    return [from_lead(lead) for lead in stored.values()]


async def _kept(step: ActStep, plan: Plan, drafts: Sequence[Draft], rep: str, reason: str) -> dict[str, Fold]:
    pools = {draft.pool for draft in drafts if draft.pool in plan.shapes}
    turn = await step.route.turn({pool: plan.shapes[pool] for pool in pools if pool}, [], 0)
    if turn.config != plan.version:
        raise StaleConfig("The settings have just been changed. Run the command again.")
    folds = {}
    for pool, facts in turn.pools.items():
        fold = assign(facts, [Waiting(lead=draft.id, keep=rep) for draft in drafts if draft.pool == pool])
        entries = tuple(replace(entry, reason=reason) if entry.kind == "kept" else entry for entry in fold.entries)
        folds[pool] = replace(fold, entries=entries)
    return folds


async def _write(step: ActStep, plan: Plan, drafts: Sequence[Draft], folds: Mapping[str, Fold]) -> None:
    await step.route.write(
        Routed(
            leads=tuple(
                LeadWrite(
                    lead=draft.lead(),
                    new=False,
                    changes=True,
                    owned=True,
                    owner_rule=draft.owner_rule,
                    park=draft.park,
                )
                for draft in drafts
            ),
            config=plan.version,
            destinations=tuple(plan.settings.destinations),
            folds=folds,
            rules={draft.id: draft.rule for draft in drafts if draft.rule},
        )
    )
