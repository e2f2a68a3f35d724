"""Route: take events -> map, merge into leads -> match rules -> inside the turn, assign. One transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from fairturn.decide.drafts import Draft, from_lead, higher
from fairturn.decide.matching import Group, group
from fairturn.decide.merging import incoming, merge
from fairturn.flow import turns
from fairturn.flow.judging import judge, known_of, same_people, together
from fairturn.flow.plan import Plan
from fairturn.flow.reading import Read, read
from fairturn.flow.turns import GiveBack, take_turns
from fairturn.model import Assigned, Lead
from fairturn.ports import LeadWrite, Routed, RouteStep, Taken

NOTED = 20  # marks kept of one event


@dataclass(slots=True)
class Sorted:
    """A batch, sorted by whose events they are."""

    drafts: list[Draft] = field(default_factory=list)
    events: dict[bytes, int] = field(default_factory=dict)  # event -> lead
    marks: dict[bytes, Sequence[str]] = field(default_factory=dict)  # event -> what its mapping found odd
    keys: dict[bytes, int] = field(default_factory=dict)  # digest -> lead, where that is new
    waiting: list[Read] = field(default_factory=list)  # signals of people not yet known
    merges: dict[int, int] = field(default_factory=dict)  # younger -> older
    returns: list[GiveBack] = field(default_factory=list)
    notes: list[tuple[str, str, str]] = field(default_factory=list)

    def answers(self) -> dict[bytes, Assigned]:
        """What a caller is told of the events, where that is all known here: as `Journal.results` would say it, once
        this is committed.
        """
        told: dict[int, Assigned] = {}
        for draft in self.drafts:
            if draft.reason and draft.status in ("assigned", "parked", "held", "ignored"):
                told[draft.id] = Assigned(draft.id, draft.status, draft.rep, draft.pool, draft.reason)
        return {event: told[lead] for event, lead in self.events.items() if lead in told}


async def route_events(step: RouteStep, plan: Plan, taken: Taken) -> Sorted:
    """Everything that the events of one batch cause, written."""
    reading = read(plan, taken.events)
    reads, problems = list(reading.reads), reading.problems
    batch = await _sort(step, reads, *await _bind(step, plan, reads, problems))
    await judge(step, plan, batch.drafts, taken, await known_of(step, batch.drafts) if plan.asked else {})
    await step.store(batch.events)  # before the turn: whoever waits for the pool waits for less
    folds, held = await take_turns(step, plan, batch.drafts, batch.returns)
    drafts = batch.drafts + held
    expires = taken.now + timedelta(seconds=plan.settings.routing.signal_wait)
    await step.write(
        Routed(
            leads=tuple(_written(draft) for draft in drafts if draft.dirty),
            config=plan.version,
            destinations=tuple(plan.settings.destinations),
            keys=batch.keys,
            events=batch.events,
            marks=batch.marks,
            waiting={one.event.id: ([key.digest for key in one.keys], expires) for one in batch.waiting},
            quarantined=problems,
            folds=folds,
            merges=batch.merges,
            notes=batch.notes,
            rules={draft.id: draft.rule for draft in drafts if draft.rule},
        )
    )
    return batch


async def _bind(
    step: RouteStep, plan: Plan, reads: list[Read], problems: dict[bytes, str]
) -> tuple[list[Group], Mapping[bytes, int], Mapping[bytes, int]]:
    """Whose events these are, what their keys lead to, and those that lead to leads which are to be made.

    Signals that waited for a lead which is here now are read too, and so are those that waited for a further key of
    such a signal: once a key has its lead, nobody looks for what waits for it. Where there is no lead yet, what waits
    is left alone: a visitor may send signals for hours.
    """
    came = len(reads)
    people = group([one.keys for one in reads], {})
    newcomers = {
        key.digest: number
        for number, g in enumerate(people)
        if any(reads[place].source.starts for place in g.events)
        for key in g.keys
    }
    bound = await step.bind([key for g in people for key in g.keys], newcomers=newcomers)
    leads, fresh, orphans = dict(bound.leads), bound.fresh, set(bound.orphans)
    seen = {one.event.id for one in reads}
    while orphans:
        groups = group([one.keys for one in reads], leads)
        alive = [g for g in groups if g.leads or any(reads[i].source.starts for i in g.events)]
        wanted = [key for g in alive for key in g.keys if key.digest in orphans]
        orphans -= {key.digest for key in wanted}
        signals = (await step.bind(wanted, signals=True)).signals if wanted else ()
        late = read(plan, [event for event in signals if event.id not in seen])
        problems |= late.problems
        seen |= {event.id for event in signals}
        if not late.reads:
            break
        reads += late.reads
        bound = await step.bind([key for one in late.reads for key in one.keys])
        leads |= bound.leads
        orphans |= bound.orphans - {key.digest for key in wanted}
    known = leads or len(reads) > came
    return group([one.keys for one in reads], leads) if known else people, leads, fresh


async def route_due(step: RouteStep, plan: Plan, taken: Taken) -> int:
    """Leads whose wait is over get their owner with what is known of them, and of their persons in the CRMs.

    Addresses of one record there are one person: their leads meet, as over any other key.
    """
    stored = dict(await step.leads(taken.due))
    known = dict(await known_of(step, map(from_lead, stored.values())))
    keys, bound = same_people(plan, stored, known)
    batch = Sorted()
    crm = [key for mine in keys for key in mine if key.digest not in bound]
    bound |= dict((await step.bind(crm)).leads) if crm else {}
    if others := sorted(set(bound.values()) - stored.keys()):
        stored |= await step.leads(others)
    for g in group(keys, bound):
        draft = await _known(step, batch, g, stored)
        batch.drafts.append(draft)
        batch.keys |= {key.digest: draft.id for key in g.keys if key in crm and bound.get(key.digest) != draft.id}
        known[draft.id] = together(plan, draft, [known[lead] for lead in g.leads if lead in known])
    await judge(step, plan, batch.drafts, taken, known, answers=True)
    await _turn_and_write(step, plan, batch)
    return len(taken.due)


@dataclass(frozen=True, slots=True)
class Served:
    """What one turn did for held leads."""

    given: int  # leads that got an owner
    more: Mapping[str, int]  # pool -> the last lead looked at, where there may be more behind it
    moved: frozenset[str]  # pools whose leads got an owner


async def route_held(
    step: RouteStep, plan: Plan, pools: Sequence[str], behind: Mapping[str, int] | None = None
) -> Served:
    """A turn for the held leads of these pools alone: somebody is back."""
    known = [pool for pool in pools if pool in plan.shapes]
    looked = await _turn_and_write(step, plan, Sorted(), known, behind)
    by_pool: dict[str, list[Draft]] = {}
    for draft in looked:
        if draft.before is not None and draft.before.pool in known:
            by_pool.setdefault(draft.before.pool, []).append(draft)
    return Served(
        given=sum(draft.moved for draft in looked),
        more={pool: drafts[-1].id for pool, drafts in by_pool.items() if len(drafts) >= turns.HELD},
        moved=frozenset(pool for pool, drafts in by_pool.items() if any(draft.moved for draft in drafts)),
    )


async def route_again(step: RouteStep, plan: Plan, lead: int, rep: str, reason: str) -> bool:
    """The turn of a lead whose owner cannot own it goes back, and the lead goes to the next. False when it moved on."""
    draft = from_lead((await step.leads([lead]))[lead])
    if draft.status != "assigned" or draft.rep != rep or draft.pool is None or draft.pool not in plan.shapes:
        return False
    back = GiveBack(draft.pool, rep, lead, reason)
    draft.status, draft.rep, draft.values = "routing", None, turns.values_of(plan, draft)
    await _turn_and_write(step, plan, Sorted(drafts=[draft], returns=[back]))
    return True


async def _turn_and_write(
    step: RouteStep,
    plan: Plan,
    batch: Sorted,
    pools: Sequence[str] = (),
    behind: Mapping[str, int] | None = None,
) -> list[Draft]:
    """The held leads that were looked at."""
    folds, held = await take_turns(step, plan, batch.drafts, batch.returns, pools, behind)
    touched = [draft for draft in batch.drafts + held if draft.dirty]
    if touched or batch.merges:
        await step.write(
            Routed(
                leads=tuple(_written(draft) for draft in touched),
                config=plan.version,
                destinations=tuple(plan.settings.destinations),
                keys=batch.keys,
                folds=folds,
                merges=batch.merges,
                notes=batch.notes,
                rules={draft.id: draft.rule for draft in touched if draft.rule},
            )
        )
    return held


async def _sort(
    step: RouteStep,
    reads: Sequence[Read],
    groups: Sequence[Group],
    leads: Mapping[bytes, int],
    fresh: Mapping[bytes, int],
) -> Sorted:
    # Where a signal named the person before, the keys were there, and nobody gave them an id.
    late = [
        g
        for g in groups
        if not g.leads
        and not any(key.digest in fresh for key in g.keys)
        and any(reads[i].source.starts for i in g.events)
    ]
    more = iter(await step.new_leads(len(late)))
    stored = await step.leads(sorted({lead for g in groups for lead in g.leads}))
    batch = Sorted()
    for g in groups:
        mine = [reads[i] for i in g.events]
        if g.leads:
            draft = await _known(step, batch, g, stored)
        elif any(one.source.starts for one in mine):
            first = next(one for one in mine if one.source.starts)
            given = [fresh[key.digest] for key in g.keys if key.digest in fresh]
            lead = min(given) if given else next(more)
            draft = Draft(lead, None, first.event.source, {}, "new", "bulk", first.source.mode)
        else:
            batch.waiting += mine
            continue
        _merge_events(draft, mine)
        batch.drafts.append(draft)
        for one in mine:
            batch.events[one.event.id] = draft.id
            if one.mapped.marks:
                batch.marks[one.event.id] = noted(one.mapped.marks)
        for key in g.keys:
            if (leads.get(key.digest) or fresh.get(key.digest)) != draft.id:
                batch.keys[key.digest] = draft.id
    return batch


def noted(marks: Sequence[str]) -> list[str]:
    """Kept short: a payload may hold thousands of odd values, and any of them may be long."""
    return [mark[:200] for mark in marks[:NOTED]]


def _merge_events(draft: Draft, reads: Sequence[Read]) -> None:
    fields = draft.fields
    for one in reads:
        fields = merge(fields, incoming(one.mapped, one.event.id, one.source.rank, one.event.serial))
        draft.priority = higher(draft.priority, one.source.priority)
        if one.source.starts and one.source.mode == "live":
            draft.mode = "live"  # a source on trial must not keep a person out of the CRM who comes by another
    if draft.before is None or fields != draft.before.fields:
        draft.fields = fields
    draft.oldest = min(one.event.received_at for one in reads)


async def _known(step: RouteStep, batch: Sorted, g: Group, stored: Mapping[int, Lead]) -> Draft:
    """The lead of a group's keys. Where keys meet that led to several, the oldest stays and takes in the others."""
    oldest, *others = (stored[lead] for lead in sorted(g.leads))
    draft = from_lead(oldest)
    if not others:
        return draft
    there = await step.in_crm([lead.id for lead in (oldest, *others)])
    for younger in others:
        draft.fields = merge(draft.fields, younger.fields)
        draft.priority = higher(draft.priority, younger.priority)
        batch.merges[younger.id] = oldest.id
        both = {oldest.id, younger.id} <= there
        if both:
            text = (
                f"leads {oldest.id} and {younger.id} are one person, and the CRM has a record of each: merge them there"
            )
            batch.notes.append(("two records", f"lead {oldest.id}", text))
        if younger.id in there:
            there |= {oldest.id}  # it takes over this record, or has one
        if younger.mode == "live":
            draft.mode = "live"
        if younger.status != "assigned":
            if draft.status == "ignored" and younger.status != "ignored":
                # The younger has a claim that the older lacks: the rules decide anew, on all that is known.
                draft.status, draft.waits_since = "new", younger.created_at
            continue
        if draft.rep is None and draft.status != "owned":
            draft.status, draft.rep, draft.pool, draft.rule = "assigned", younger.rep, younger.pool, younger.rule
            draft.reason = f"taken over with lead {younger.id}, which proved to be the same person"
        elif younger.pool and younger.rep and not both:
            reason = f"the same person as lead {oldest.id}"
            batch.returns.append(GiveBack(younger.pool, younger.rep, younger.id, reason))
    return draft


def _written(draft: Draft) -> LeadWrite:
    told = draft.told
    return LeadWrite(
        lead=draft.lead(),
        new=draft.before is None,
        changes=told,
        owned=told and draft.moved and draft.kept is None,
        owner_rule=draft.owner_rule,
        park=draft.park,
        kept=draft.kept is not None,
        ask=draft.ask,
        email=draft.email,
        settled=draft.settled,
        adopt=draft.adopt if told else {},
        oldest_event_at=draft.oldest,
        waited=draft.before is not None and draft.before.status == "waiting",
    )
