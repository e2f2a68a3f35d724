"""Leads while a route transaction works on them: what the batch's events make of each, before and after the turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from fairturn.config import Rule, Settings, Source
from fairturn.decide.asking import Inquiry, decider
from fairturn.decide.existing import Choice
from fairturn.decide.merging import plain
from fairturn.decide.users import rep_of
from fairturn.model import Fields, FieldValue, Lead, LeadStatus, Person

DROPPED = "dropped by "  # how the reason of a lead begins whose failed write a person dropped
SET_ASIDE = "could not be routed: "  # how it begins where a fault of ours kept a lead from going on
RANK = {"high": 0, "normal": 1, "bulk": 2}
Status = Literal["new", "routing"] | LeadStatus


@dataclass(slots=True)
class Draft:
    """A lead in the making. Lives for one transaction, so it may change."""

    id: int
    before: Lead | None  # as it was stored; None = new
    source: str  # that started it
    fields: Fields
    status: Status
    priority: str = "normal"
    mode: str = "live"
    account: int | None = None
    rep: str | None = None
    pool: str | None = None
    rule: str | None = None
    reason: str | None = None
    park: Mapping[str, str] | None = None
    wait_until: datetime | None = None
    oldest: datetime | None = None  # received_at of the oldest event merged now
    owner_rule: bool = False
    waits_since: datetime | None = None  # for the fields of `wait_for`; None = from now on
    email: str | None = None  # that a CRM is asked for
    ask: tuple[str, ...] = ()  # destinations to be asked from now on
    settled: dict[str, str] = field(default_factory=dict)  # destination asked -> what came of it, in words
    adopt: dict[str, Person] = field(default_factory=dict)  # destination -> the record there that is written
    keep: str | None = None  # rep who owns the record there and keeps the lead, whatever the rotation says
    kept: str | None = None  # why its owner in the CRM keeps it: no destination is told of one
    values: dict[str, FieldValue] = field(default_factory=dict)  # plain and derived, as rules see them

    @property
    def open(self) -> bool:
        """Nobody has it yet, and somebody should. So too a lead that a person dropped, once something new is heard, and
        one that was set aside, once it is heard of at all.
        """
        reason = (self.reason or "") if self.status == "ignored" else ""
        alive = reason.startswith(SET_ASIDE) or (self.changed and reason.startswith(DROPPED))
        return alive or self.status in ("new", "waiting", "held")

    @property
    def moved(self) -> bool:
        """Its place changed: assigned, parked or held just now, or to somebody else."""
        before = self.before
        return before is None or (self.status, self.rep) != (before.status, before.rep)

    @property
    def changed(self) -> bool:
        return self.before is None or self.fields is not self.before.fields

    @property
    def dirty(self) -> bool:
        before = self.before
        return before is None or self.changed or self.lead() != before

    @property
    def told(self) -> bool:
        """A destination has to hear of it."""
        return self.status in ("assigned", "parked", "held", "owned") and (self.changed or self.moved)

    def lead(self) -> Lead:
        status: LeadStatus
        match self.status:
            case "new" | "routing":
                status = "held"
            case placed:
                status = placed
        before = self.before
        return Lead(
            id=self.id,
            created_at=before.created_at if before else self.oldest or datetime.min.replace(tzinfo=UTC),
            source=self.source,
            status=status,
            fields=self.fields,
            account=self.account,
            rep=self.rep,
            pool=self.pool,
            rule=self.rule,
            reason=self.reason,
            wait_until=self.wait_until if status == "waiting" else None,
            merged_into=before.merged_into if before else None,
            priority=self.priority,
            mode=self.mode,
        )


def from_lead(lead: Lead) -> Draft:
    """A draft of a stored lead, as it stands."""
    return Draft(
        id=lead.id,
        before=lead,
        source=lead.source,
        fields=lead.fields,
        status=lead.status,
        priority=lead.priority,
        mode=lead.mode,
        account=lead.account,
        rep=lead.rep,
        pool=lead.pool,
        rule=lead.rule,
        reason=lead.reason,
        wait_until=lead.wait_until,
    )


def higher(one: str, other: str) -> str:
    """The more urgent of two priorities."""
    if one == other:
        return one
    return min(one, other, key=lambda priority: RANK.get(priority, 1))


def missing(draft: Draft, source: Source | None, now: datetime) -> tuple[tuple[str, ...], datetime]:
    """What a lead without owner still waits for of its source's `wait_for`, and until when."""
    if source is None or not source.wait_for or draft.status not in ("new", "waiting"):
        return (), now
    until = (draft.waits_since or now) + timedelta(seconds=source.at_most)
    present = plain(draft.fields)
    names = tuple(name for name in source.wait_for if present.get(name) is None)
    return (names, until) if names and until > now else ((), now)


def wait(draft: Draft, fields: tuple[str, ...], inquiry: Inquiry, until: datetime) -> None:
    """It waits, holding no lock and no place; with nothing open any more, only until the answers are looked at."""
    said = [f"waits for {', '.join(fields)}"] if fields else []
    if inquiry.open:
        said.append(f"asks {' and '.join(inquiry.open)} whether the person is there")
    draft.status, draft.ask = "waiting", inquiry.ask
    draft.wait_until = max(until, inquiry.until or until)
    draft.reason = ", and ".join(said) or draft.reason


def place(draft: Draft, rule: Rule, settings: Settings) -> None:
    """Apply the rule's action. `pool` only marks the draft as routing: the turn decides."""
    draft.rule, draft.reason, draft.wait_until = rule.id, None, None
    if rule.ignore:
        draft.status, draft.reason = "ignored", f"rule {rule.id} ignores it"
    elif rule.park is not None:
        draft.status, draft.reason = "parked", f"rule {rule.id} parks it"
        draft.park = rule.park if isinstance(rule.park, dict) else dict.fromkeys(settings.destinations, rule.park)
    elif rule.owner is not None:
        draft.status, draft.rep, draft.owner_rule = "assigned", rule.owner, True
        draft.reason = f"rule {rule.id} names the owner"
    else:
        draft.status, draft.pool = "routing", rule.pool


def claim(draft: Draft, rule: Rule, settings: Settings, choices: Mapping[str, Choice]) -> None:
    """What the CRMs have of the person, applied to a draft that `place` has placed: the records that are written, and
    the owner who keeps the lead, where there is one.
    """
    draft.adopt |= {name: choice.record for name, choice in choices.items() if choice.record is not None}
    draft.settled |= {name: choice.why for name, choice in choices.items()}
    name = decider(settings)
    if name is None or (choice := choices.get(name)) is None or choice.keeps is None or draft.status == "ignored":
        return
    rep = rep_of(choice.keeps, settings.reps, name)
    draft.kept = choice.why
    if rep is not None and rule.pool is not None:
        draft.keep = rep
        return
    draft.rep, draft.pool, draft.park, draft.reason = rep, None, None, choice.why
    draft.status, draft.owner_rule = ("owned", False) if rep is None else ("assigned", True)
