"""What becomes of each lead of a batch, short of the turn: its account, what it waits for, its rule, who has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fairturn.config import Rule, Settings
from fairturn.decide.addresses import derived
from fairturn.decide.asking import Inquiry, address_of, inquire, meant, named
from fairturn.decide.drafts import Draft, claim, missing, place, wait
from fairturn.decide.existing import candidates, policy_of
from fairturn.decide.matching import account_keys, key, record_key
from fairturn.decide.merging import plain
from fairturn.flow.plan import Plan
from fairturn.flow.reading import address
from fairturn.model import Existing, Fields, FieldValue, Key, Lead
from fairturn.ports import RouteStep, Taken

NOBODY = Inquiry()
Known = Mapping[int, Mapping[str, Existing]]  # lead -> destination -> what was asked of it about the person


async def judge(
    step: RouteStep, plan: Plan, drafts: Sequence[Draft], taken: Taken, known: Known, *, answers: bool = False
) -> None:
    """Accounts, and for leads that nobody has yet: wait on, or the first rule that matches.

    answers: look at what the CRMs said of those who wait; without, they are left to the station's next step.
    """
    await _accounts(step, plan, drafts)
    for draft in drafts:
        told = named(plan.settings, draft.values) if draft.values.get("crm_lead_id") else {}
        if draft.open:
            draft.adopt |= told
            _decide(plan, draft, taken, known.get(draft.id, {}), answers=answers)
        elif draft.changed:
            draft.adopt |= told  # the store leaves alone what was written already


async def known_of(step: RouteStep, drafts: Iterable[Draft]) -> Known:
    """Of those who may have been asked about."""
    leads = [draft.id for draft in drafts if draft.before is not None and draft.open and draft.status != "held"]
    return await step.existing(leads) if leads else {}


async def _accounts(step: RouteStep, plan: Plan, drafts: Sequence[Draft]) -> None:
    keyed: list[tuple[Draft, tuple[str, ...]]] = []
    for draft in drafts:
        values = plain(draft.fields)
        facts = address(plan, values)
        draft.values = {**values, **derived(facts)}
        draft.email = address_of(facts) if plan.asked and draft.mode == "live" else None
        keyed.append((draft, account_keys(known_together(draft.fields, values), facts, plan.settings)))
    found = [keys for _, keys in keyed if keys]
    accounts = iter(await step.accounts(found) if found else ())
    for draft, keys in keyed:
        draft.account = next(accounts) if keys else None


def known_together(fields: Fields, values: Mapping[str, FieldValue]) -> Mapping[str, FieldValue]:
    """The values from which the account is read.

    A CRM account and a domain prove to be one company only where one event named both: somebody who changed jobs must
    not join two companies.
    """
    record, email = fields.get("crm_account_id"), fields.get("email")
    if record is None or email is None or record.event == email.event or record.at_us >= email.at_us:
        return values
    return {name: value for name, value in values.items() if name != "crm_account_id"}


def _decide(plan: Plan, draft: Draft, taken: Taken, known: Mapping[str, Existing], *, answers: bool) -> None:
    if draft.status == "held" and draft.pool in plan.shapes and draft.rule in plan.by_id:
        draft.status = "routing"
        return
    rule = plan.rules.decide(draft.values, draft.source, taken.paused)
    asks = rule is not None and not rule.ignore and draft.status != "held"
    inquiry = _inquiry(plan, draft, taken, known) if asks and plan.asked else NOBODY
    fields, until = missing(draft, plan.settings.sources.get(draft.source), taken.now)
    if fields or inquiry.open or (inquiry.heard and not answers):
        wait(draft, fields, inquiry, until)
        return
    if rule is None:
        draft.status, draft.reason, draft.wait_until = "ignored", "no rule matches it", None
    else:
        place(draft, rule, plan.settings)
    if known:
        _settle(plan, draft, rule, inquiry.heard, known)


def _settle(
    plan: Plan, draft: Draft, rule: Rule | None, heard: Mapping[str, Existing], known: Mapping[str, Existing]
) -> None:
    """What came of the questions about a lead that goes on."""
    draft.settled |= {name: f"{name} was not asked any more" for name, one in known.items() if one.state == "due"}
    draft.settled |= {name: one.why for name, one in heard.items() if one.state == "unknown" and one.why}
    choices = {name: plan.choice_of(name, rule, one.people) for name, one in heard.items() if one.state == "answered"}
    if rule is not None:
        claim(draft, rule, plan.settings, choices)


def _inquiry(plan: Plan, draft: Draft, taken: Taken, known: Mapping[str, Existing]) -> Inquiry:
    """A record that the event named itself needs no question."""
    able = {name: destination for name, destination in plan.asked.items() if name not in draft.adopt}
    return inquire(able, draft.email, known, taken.now, waiting=draft.status == "waiting")


def same_people(plan: Plan, stored: Mapping[int, Lead], known: Known) -> tuple[list[tuple[Key, ...]], dict[bytes, int]]:
    """What each of these leads is known by: itself, the CRM records that it may take over, and other leads whose those
    are. Second: which of these keys are leads already.

    HubSpot finds a contact by any of its addresses, and two leads may have asked by two of them.
    """
    found, bound = [], {}
    for lead in stored:
        keys = [_itself(lead)]
        bound[keys[0].digest] = lead
        for name, one in known.get(lead, {}).items():
            destination = plan.settings.destinations.get(name)
            if one.state != "answered" or destination is None:
                continue
            for person in candidates(one.people, policy_of(destination)):
                keys.append(record_of(plan.settings, name, person.record_id))
                if person.key is not None and (other := one.ours.get(person.key, lead)) != lead:
                    keys.append(_itself(other))
                    bound[keys[-1].digest] = other
        found.append(tuple(keys))
    return found, bound


def together(plan: Plan, draft: Draft, known: Sequence[Mapping[str, Existing]]) -> Mapping[str, Existing]:
    """What was asked about leads that are one now, the oldest's first: by the address that the person goes by now."""
    email = address_of(address(plan, plain(draft.fields))) if len(known) > 1 else None
    found: dict[str, Existing] = {}
    for mine in known:
        found |= {name: one for name, one in mine.items() if name not in found or one.email == email}
    return found


def _itself(lead: int) -> Key:
    return key("lead", str(lead))


def record_of(settings: Settings, name: str, record: str) -> Key:
    """As an event would name it (crm_lead_id). HubSpot counts anew in each portal: a second one has its own."""
    vendor = settings.destinations[name].type
    if vendor == "salesforce" or name in meant(settings, vendor):
        return key("crm:lead", record_key(record))
    return key(f"crm:{name}", record)
