"""Nothing lost, nothing twice: asked of the destination itself, for every lead that was answered 2xx."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fairturn.config import Settings
from fairturn.decide.outgoing import untold
from fairturn.decide.record_ids import is_record_id
from fairturn.decide.users import bare, same_id
from fairturn.desk import Found, Inspect, Proofs, Sent

ANSWERED = 500  # leads of one round of questions
CLOCKS = timedelta(minutes=1)  # how far the CRM's clock, which tells whole seconds, may be from ours
Progress = Callable[[str, int, int], None]
People = Mapping[str, tuple[str, str]]  # rep -> name, and how the settings tell the CRM's user: id, address or name


@dataclass(slots=True)
class Reconciled:
    """One row per finding; `waiting` are on their way, `listed` stand in a list that a person sees.

    `twins_of_others`: records of a lead's person beside the one that is written, which were there before us or which
    somebody else made. They are no fault of ours; a person may merge them.
    `never_due`: nothing was heard of them since the destination joined the settings or left shadow mode, so nothing was
    to be written.
    """

    checked: int = 0
    missing: list[dict[str, object]] = field(default_factory=list)
    twice: list[dict[str, object]] = field(default_factory=list)
    twins_of_others: list[dict[str, object]] = field(default_factory=list)
    owner_differs: list[dict[str, object]] = field(default_factory=list)
    waiting: int = 0
    listed: int = 0
    never_due: dict[str, int] = field(default_factory=dict)  # destination -> leads; a backfill would write them
    asked: tuple[str, ...] = ()
    silent: Mapping[str, str] = field(default_factory=dict)  # destination -> why it was not asked

    @property
    def ok(self) -> bool:
        return not (self.missing or self.twice)

    def as_json(self) -> dict[str, object]:
        return {
            "checked": self.checked,
            "missing": self.missing,
            "twice": self.twice,
            "twins_of_others": self.twins_of_others,
            "owner_differs": self.owner_differs,
            "waiting": self.waiting,
            "listed": self.listed,
            "never_due": dict(self.never_due),
            "asked": list(self.asked),
            "not_asked": dict(self.silent),
        }


async def reconcile(
    proofs: Proofs,
    inspects: Mapping[str, Inspect],
    silent: Mapping[str, str],
    settings: Settings,
    since: datetime,
    progress: Progress = lambda *_: None,
) -> Reconciled:
    """Raises DestinationError when a CRM cannot be asked. A lead that goes out while we ask counts as on its way."""
    result = Reconciled(asked=tuple(inspects), silent=silent)
    beside = frozenset(rule.id for rule in settings.rules if rule.create == "always")
    for name, crm in inspects.items():
        people = people_of(settings, name)
        leads = await _answered(proofs, name, since)
        done = 0
        for start in range(0, len(leads), ANSWERED):
            part = leads[start : start + ANSWERED]
            judge(result, name, part, await _ask(crm, part), people, beside)
            done += len(part)
            progress(name, done, len(leads))
    return result


def people_of(settings: Settings, destination: str) -> People:
    """The reps whom the CRM is told as owners: nobody, where it is told none."""
    if destination in untold(settings):
        return {}
    named = {rep: (row.name, row.ids.get(destination) or row.email) for rep, row in settings.reps.items()}
    return {rep: (name, user) for rep, (name, user) in named.items() if user}


async def _answered(proofs: Proofs, destination: str, since: datetime) -> list[Sent]:
    # Gathered first: a transaction must not stay open while a CRM takes its time. 200 bytes a lead.
    async with proofs.snapshot() as snapshot:
        return [sent async for rows in snapshot.answered(destination, since) for sent in rows]


async def _ask(crm: Inspect, leads: Sequence[Sent]) -> Sequence[Found]:
    keys = [lead.key for lead in leads if lead.key]
    emails = [lead.email for lead in leads if lead.email and lead.key]
    return await crm.find(keys, emails, [lead.record_id for lead in leads if lead.record_id])


def judge(
    result: Reconciled,
    destination: str,
    leads: Sequence[Sent],
    found: Sequence[Found],
    people: People,
    beside: Collection[str] = (),
) -> None:
    """Adds to `result` what the CRM's records say of these leads. beside: rules that want a Lead beside a Contact."""
    by_key: dict[str, list[Found]] = defaultdict(list)
    by_id = {record.record_id[:15]: record for record in found}
    by_email: dict[str, list[Found]] = defaultdict(list)
    for record in found:
        if record.key:
            by_key[record.key].append(record)
        if record.email:
            by_email[record.email.lower()].append(record)
    for lead in leads:
        result.checked += 1
        known = by_id.get((lead.record_id or "")[:15])  # taken over, and our key could not be put on it
        ours = by_key.get(lead.key or "") or ([known] if known is not None else [])
        row: dict[str, object] = {"lead": lead.lead, "destination": destination, "key": lead.key, "email": lead.email}
        alike = by_email.get((lead.email or "").lower(), []) if ours else []
        several = {record.record_id: record for record in (*ours, *alike)}
        if len(several) > 1:
            mine = {record.record_id for record in ours}
            twins = [record for record in several.values() if record.record_id not in mine]
            excused = len(mine) == 1 and all(_of_others(lead, ours[0], twin, beside) for twin in twins)
            (result.twins_of_others if excused else result.twice).append(row | {"records": sorted(several)})
        if not ours:
            _absent(result, destination, lead, row)
        elif (differs := _owner_differs(lead, ours[0], people)) is not None:
            result.owner_differs.append(row | {"record": ours[0].record_id} | differs)


def _of_others(lead: Sent, ours: Found, twin: Found, beside: Collection[str]) -> bool:
    """Whether a second record with the lead's address is no fault of ours: all that we make bear a key of ours."""
    if twin.record_id in lead.there:
        # Else we knew that it is there, and made another one: that has to be a rule's wish.
        return ours.record_id in lead.there or lead.rule in beside
    if twin.created_at is not None and lead.heard_at is not None and twin.created_at < lead.heard_at - CLOCKS:
        return not lead.unheard  # else ours was made unasked, beside one that was there
    return twin.key is None and not twin.by_us


def _owner_differs(lead: Sent, found: Found, people: People) -> dict[str, object] | None:
    """Who should have the record and who has it, where that is not the same user."""
    owner = lead.rep or lead.owner  # parked and held leads have no rep, but a queue that was sent
    name, wanted = people.get(owner or "", (None, owner))
    if owner is None or wanted is None or (lead.rep and lead.rep not in people) or _is(wanted, found):
        return None
    sent = people[lead.owner][1] if lead.owner and lead.owner in people else lead.owner
    if lead.state in {"pending", "in_flight"} and sent != wanted:
        return None  # the owner is on its way
    if found.owner is not None and found.owner_name is None and found.owner_email is None and not _is_id(wanted):
        return None  # the CRM does not tell who that is
    return {
        "sent": sent,
        "wanted": wanted,
        "wanted_name": name,
        "found": found.owner,
        "found_name": next((name for name, user in people.values() if _is(user, found)), found.owner_name),
    }


def _absent(result: Reconciled, destination: str, lead: Sent, row: dict[str, object]) -> None:
    if lead.confirmed:
        result.missing.append(row | {"why": f"the CRM confirmed it as {lead.record_id}, and does not have it now"})
    elif lead.state in {"pending", "in_flight"}:
        result.waiting += 1
    elif not lead.due and lead.state in {"assigned", "parked", "held", "owned", "done"}:
        result.never_due[destination] = result.never_due.get(destination, 0) + 1
    elif lead.state in {"failed", "done", "held", "waiting", "ignored"}:
        result.listed += 1  # failed, dropped with a row of history, held, or put aside by a rule
    else:
        result.missing.append(row | {"why": f"it is {lead.state}, and was never to be written there"})


def _is(wanted: str, found: Found) -> bool:
    """The settings say who owns the record by id (15 or 18 characters are the same one, case 99), address or name."""
    if found.owner is None:
        return False
    named = wanted.casefold() == (found.owner_name or "").casefold()
    return same_id(wanted, found.owner) or bare(wanted) == bare(found.owner_email) or named


def _is_id(wanted: str) -> bool:
    """HubSpot's are numbers."""
    return is_record_id(wanted) or wanted.isdigit()
