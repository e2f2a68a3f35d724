"""Route: take events -> map, merge into leads -> match rules -> inside the turn, assign. One transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from fairturn.decide.addresses import derived
from fairturn.decide.drafts import Draft, from_lead, higher, must_wait, place
from fairturn.decide.matching import Group, account_keys, group
from fairturn.decide.merging import incoming, merge, plain
from fairturn.flow import turns
from fairturn.flow.plan import Plan
from fairturn.flow.reading import Read, address, read
from fairturn.flow.turns import GiveBack, take_turns
from fairturn.model import Fields, FieldValue, Lead
from fairturn.ports import LeadWrite, Routed, RouteStep, Taken

NOTED = 20  # marks kept of one event


@dataclass(slots=True)
class Sorted:
    """A batch, sorted by whose events they are."""

    drafts: list[Draft]
    events: dict[bytes, int]  # event -> lead
    marks: dict[bytes, Sequence[str]]  # event -> what its mapping found odd
    keys: dict[bytes, int]  # digest -> lead, where that is new
    waiting: list[Read]  # signals of people not yet known
    merges: dict[int, int]  # younger -> older
    returns: list[GiveBack]
    notes: list[tuple[str, str, str]]


async def route_events(step: RouteStep, plan: Plan, taken: Taken) -> int:
    """Everything that the events of one batch cause, written. Returns the number of leads touched."""
    reading = read(plan, taken.events)
    reads, problems = list(reading.reads), reading.problems
    leads = await _bind(step, plan, reads, problems)
    batch = await _sort(step, reads, leads)
    await _judge(step, plan, batch.drafts, taken)
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
    return len(drafts)


async def _bind(step: RouteStep, plan: Plan, reads: list[Read], problems: dict[bytes, str]) -> dict[bytes, int]:
    """What the keys of `reads` lead to. Signals that waited for a lead which is here now are read too, and so are those
    that waited for a further key of such a signal: once a key has its lead, nobody looks for what waits for it. Where
    there is no lead yet, what waits is left alone: a visitor may send signals for hours.
    """
    bound = await step.bind([key for one in reads for key in one.keys])
    leads, orphans = dict(bound.leads), set(bound.orphans)
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
    return leads


async def route_due(step: RouteStep, plan: Plan, taken: Taken) -> int:
    """Leads whose wait_for ran out get their owner with what is known of them."""
    drafts = [from_lead(lead) for lead in (await step.leads(taken.due)).values()]
    await _judge(step, plan, drafts, taken)
    await _turn_and_write(step, plan, drafts, ())
    return len(drafts)


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
    looked = await _turn_and_write(step, plan, [], known, behind=behind)
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
    await _turn_and_write(step, plan, [draft], (), [back])
    return True


async def _turn_and_write(
    step: RouteStep,
    plan: Plan,
    drafts: list[Draft],
    pools: Sequence[str],
    returns: Sequence[GiveBack] = (),
    behind: Mapping[str, int] | None = None,
) -> list[Draft]:
    """The held leads that were looked at."""
    folds, held = await take_turns(step, plan, drafts, returns, pools, behind)
    touched = [draft for draft in drafts + held if draft.dirty]
    if touched:
        await step.write(
            Routed(
                leads=tuple(_written(draft) for draft in touched),
                config=plan.version,
                destinations=tuple(plan.settings.destinations),
                folds=folds,
                rules={draft.id: draft.rule for draft in touched if draft.rule},
            )
        )
    return held


async def _sort(step: RouteStep, reads: Sequence[Read], leads: Mapping[bytes, int]) -> Sorted:
    groups = group([one.keys for one in reads], leads)
    starting = [g for g in groups if not g.leads and any(reads[i].source.starts for i in g.events)]
    fresh = iter(await step.new_leads(len(starting)))
    stored = await step.leads(sorted({lead for g in groups for lead in g.leads}))
    batch = Sorted([], {}, {}, {}, [], {}, [], [])
    for g in groups:
        mine = [reads[i] for i in g.events]
        if g.leads:
            draft = await _known(step, batch, g, stored)
        elif any(one.source.starts for one in mine):
            first = next(one for one in mine if one.source.starts)
            draft = Draft(next(fresh), None, first.event.source, {}, "new", "bulk", first.source.mode)
        else:
            batch.waiting += mine
            continue
        _merge_events(draft, mine)
        batch.drafts.append(draft)
        batch.events |= {one.event.id: draft.id for one in mine}
        batch.marks |= {one.event.id: noted(one.mapped.marks) for one in mine if one.mapped.marks}
        batch.keys |= {key.digest: draft.id for key in g.keys if leads.get(key.digest) != draft.id}
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
                draft.status, draft.wait_until = "new", younger.wait_until
            continue
        if draft.rep is None:
            draft.status, draft.rep, draft.pool, draft.rule = "assigned", younger.rep, younger.pool, younger.rule
            draft.reason = f"taken over with lead {younger.id}, which proved to be the same person"
        elif younger.pool and younger.rep and not both:
            reason = f"the same person as lead {oldest.id}"
            batch.returns.append(GiveBack(younger.pool, younger.rep, younger.id, reason))
    return draft


async def _judge(step: RouteStep, plan: Plan, drafts: Sequence[Draft], taken: Taken) -> None:
    """Accounts, and for leads that nobody has yet: wait on, or the first rule that matches."""
    keyed: list[tuple[Draft, tuple[str, ...]]] = []
    for draft in drafts:
        values = plain(draft.fields)
        facts = address(plan.settings, values)
        draft.values = {**values, **derived(facts)}
        keyed.append((draft, account_keys(known_together(draft.fields, values), facts, plan.settings)))
    known = [keys for _, keys in keyed if keys]
    accounts = iter(await step.accounts(known) if known else ())
    for draft, keys in keyed:
        draft.account = next(accounts) if keys else None
    for draft in drafts:
        if not draft.open or must_wait(draft, plan.settings.sources.get(draft.source), taken.now):
            continue
        if draft.status == "held" and draft.pool in plan.shapes and draft.rule in plan.by_id:
            draft.status = "routing"
            continue
        rule = plan.rules.decide(draft.values, draft.source, taken.paused)
        if rule is None:
            draft.status, draft.reason = "ignored", "no rule matches it"
        else:
            place(draft, rule, plan.settings)


def known_together(fields: Fields, values: Mapping[str, FieldValue]) -> Mapping[str, FieldValue]:
    """The values from which the account is read.

    A CRM account and a domain prove to be one company only where one event named both: somebody who changed jobs must
    not join two companies.
    """
    record, email = fields.get("crm_account_id"), fields.get("email")
    if record is None or email is None or record.event == email.event or record.at_us >= email.at_us:
        return values
    return {name: value for name, value in values.items() if name != "crm_account_id"}


def _written(draft: Draft) -> LeadWrite:
    return LeadWrite(
        lead=draft.lead(),
        new=draft.before is None,
        changes=draft.told,
        owned=draft.told and draft.moved,
        owner_rule=draft.owner_rule,
        park=draft.park,
        oldest_event_at=draft.oldest,
    )
