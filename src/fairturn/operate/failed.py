"""Failed writes: seen, sent again, or given up with the turn that they had taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fairturn.decide.drafts import DROPPED, from_lead
from fairturn.decide.fairness import after, give_back
from fairturn.desk import Acts, ActStep, Dropped, FailedFilter, Reads, Retried
from fairturn.errors import StaleConfig
from fairturn.flow.plan import Plan
from fairturn.model import Lead
from fairturn.operate.leads import name
from fairturn.ports import LeadWrite, Routed
from fairturn.views import AssignmentLine, By, FailedWrite, WrittenWithout

MOST = 100_000  # failed writes that one act takes in; the ceiling stops a destination long before
AT_ONCE = 200  # leads of one transaction


@dataclass(frozen=True, slots=True)
class Given:
    """What became of the dropped writes."""

    dropped: Sequence[Dropped]
    returned: Sequence[tuple[int, str, str]]  # lead, pool, rep: turns given back


async def failed(reads: Reads, wanted: FailedFilter, limit: int) -> Sequence[FailedWrite]:
    """Newest first."""
    return await reads.failed(wanted, limit)


async def written_without(reads: Reads, wanted: FailedFilter, limit: int) -> Sequence[WrittenWithout]:
    """What was written less some fields that the CRM did not take, latest first."""
    return await reads.without(wanted, limit)


async def retry(acts: Acts, wanted: FailedFilter, by: By) -> Retried:
    """Send them again, with what is known of the leads now. Those already under way are counted, never sent twice.

    Of leads that are named, fields that a CRM did not take are sent again too.
    """
    done = await acts.retry(wanted, by)
    if wanted.leads is None or wanted.code is not None:
        return done
    more = await acts.retry_without(wanted, by)
    return Retried(done.writes + more.writes, done.under_way)


async def retry_without(acts: Acts, wanted: FailedFilter, by: By) -> Retried:
    """Send the fields again that a CRM did not take of leads that it has; nothing else of them is sent."""
    return await acts.retry_without(wanted, by)


async def drop(reads: Reads, acts: Acts, plan: Plan, wanted: FailedFilter, by: By) -> Given:
    """Give them up: those that have failed at the moment of the call, and no later ones.

    A lead that no destination has, or may have, is nobody's any more, and its turn goes back to its rep.
    """
    leads = sorted({write.lead for write in await reads.failed(wanted, MOST)})
    dropped: list[Dropped] = []
    returned: list[tuple[int, str, str]] = []
    for start in range(0, len(leads), AT_ONCE):
        async with acts.step(by) as step:
            stored = await step.route.leads(leads[start : start + AT_ONCE])
            some = await step.drop(replace(wanted, leads=tuple(stored)))
            gone = {one.lead: one.turn for one in some if not one.elsewhere and owned(stored[one.lead])}
            back = await _give_back(step, plan, gone, by)
            await _release(step, plan, [stored[lead] for lead in gone], by)
            await _note(step, some, back)
        dropped += some
        returned += back
    return Given(dropped, returned)


def owned(lead: Lead) -> bool:
    return lead.status in {"assigned", "parked"}


async def _give_back(
    step: ActStep, plan: Plan, gone: dict[int, AssignmentLine | None], by: By
) -> list[tuple[int, str, str]]:
    """A pool that has left the settings has no rotation to give a turn back to."""
    turns = [(lead, turn) for lead, turn in gone.items() if turn is not None and turn.pool in plan.shapes]
    if not turns:
        return []
    pools = {turn.pool for _, turn in turns if turn.pool}
    found = await step.route.turn({pool: plan.shapes[pool] for pool in pools}, [], 0)
    if found.config != plan.version:
        raise StaleConfig("The settings have just been changed. Run the command again.")
    facts = dict(found.pools)
    returned = []
    for lead, turn in turns:
        if turn.pool is None or turn.pool not in facts:
            continue
        owes = turn.counts if turn.kind == "kept" else True
        why = f"{DROPPED}{by.actor}: {by.reason or 'no reason given'}"
        fold = give_back(facts[turn.pool], turn.rep, turn.lead or lead, why, owes=owes)
        facts[turn.pool] = after(facts[turn.pool], fold)
        await step.route.write(Routed((), plan.version, (), folds={turn.pool: fold}))
        returned.append((lead, turn.pool, turn.rep))
    return returned


async def _release(step: ActStep, plan: Plan, leads: Sequence[Lead], by: By) -> None:
    if not leads:
        return
    drafts = [from_lead(lead) for lead in leads]
    for draft in drafts:
        draft.status, draft.rep, draft.wait_until = "ignored", None, None
        draft.reason = f"{DROPPED}{by.actor}: {by.reason or 'no reason given'}"
    writes = tuple(LeadWrite(lead=draft.lead(), new=False, changes=False) for draft in drafts)
    await step.route.write(Routed(leads=writes, config=plan.version, destinations=()))


async def _note(step: ActStep, dropped: Sequence[Dropped], returned: Sequence[tuple[int, str, str]]) -> None:
    turns = {lead: {"pool": pool, "rep": rep} for lead, pool, rep in returned}
    for one in dropped:
        detail: dict[str, object] = {"destination": one.destination, "elsewhere": one.elsewhere}
        await step.note(
            "drop", f"lead {one.lead}", detail | ({"turn": turns.pop(one.lead)} if one.lead in turns else {})
        )


def as_json(write: FailedWrite) -> dict[str, object]:
    return {
        "lead": write.lead,
        "name": name(write.fields),
        "destination": write.destination,
        "code": write.code,
        "message": write.message,
        "failed_at": write.failed_at,
        "attempts": write.attempts,
        "rep": write.rep,
    }


def without_json(one: WrittenWithout) -> dict[str, object]:
    return {
        "lead": one.lead,
        "name": name(one.fields),
        "destination": one.destination,
        "without": dict(one.without),
        "written_at": one.written_at,
        "rep": one.rep,
    }
