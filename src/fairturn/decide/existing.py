"""The person may be in the CRM already: which record is written from here on, and who keeps the lead.

An active owner keeps it. A queue, an inactive user, a parked owner or a recycled status leaves the record free: it is
updated, and assigned like a new lead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from fairturn.config import Destination, Rule, Settings
from fairturn.decide.users import bare, same_id
from fairturn.model import Owner, Person

# (destination, the rule that decided, the records there) -> which is written, and who keeps the lead
ChoiceOf = Callable[[str, Rule | None, Sequence[Person]], "Choice"]

KINDS = {"contacts": "contact"}  # HubSpot names objects by their plural
LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Policy:
    """Of one destination. Owners by id, name or e-mail; statuses in any letter case."""

    parked_owners: Collection[str] = ()
    recycle_statuses: Collection[str] = ()
    contact: str | None = "Contact"  # the object of those who are customers already; None: there is but one


@dataclass(frozen=True, slots=True)
class Choice:
    """`record` is written from here on (None: a new one is made); `keeps` keeps the lead (None: it is assigned)."""

    record: Person | None
    keeps: Owner | None
    why: str
    others: tuple[str, ...] = ()  # ids of further records of the person


def choose(people: Sequence[Person], policy: Policy, create: Literal["missing", "always"] = "missing") -> Choice:
    """people: all records with the lead's address. create `always`: a Contact does not stand in a new Lead's way."""
    # A converted Lead is frozen: its Contact, which the look-up brings along, stands for it.
    able = [one for one in people if not one.converted]
    if create == "always":
        able = [one for one in able if one.object_type != policy.contact]
    if not able:
        others = tuple(one.record_id for one in people)
        # Of converted Leads alone: their Contacts are gone, or not to be seen.
        gone = ", converted, and its Contact is not there" if people and all(one.converted for one in people) else ""
        beside = f"a record of its own, beside {', '.join(others)}{gone}"
        return Choice(None, None, beside if others else "not there yet", others)
    owned = [one for one in able if free(one, policy) is None]
    record = min(owned or able, key=lambda one: (one.created_at or LAST, one.record_id))
    others = tuple(one.record_id for one in people if one.record_id != record.record_id)
    reason = free(record, policy)
    named = f"{KINDS.get(record.object_type, record.object_type)} {record.record_id}"
    beside = f"; there are also {', '.join(others)}" if others else ""
    if reason is None and record.owner is not None:
        return Choice(
            record, record.owner, f"{record.owner.name or record.owner.id} owns {named} and keeps it{beside}", others
        )
    return Choice(record, None, f"{named} was there, {reason or 'without an owner'}{beside}", others)


def free(person: Person, policy: Policy) -> str | None:
    """Why the record's owner does not keep the lead; None: does."""
    owner = person.owner
    if owner is None:
        return "without an owner"
    if owner.kind == "queue":
        return f"in the queue {owner.name or owner.id}"
    if not owner.active:
        return f"with an inactive owner, {owner.name or owner.id}"
    for parked in policy.parked_owners:
        if (
            same_id(parked, owner.id)
            or parked.casefold() == (owner.name or "").casefold()
            or bare(parked) == bare(owner.email)
        ):
            return f"parked with {owner.name or owner.id}"
    status = (person.status or "").casefold()
    if status and status in {one.casefold() for one in policy.recycle_statuses}:
        return f"to be recycled from the status {person.status}"
    return None


def policy_of(destination: Destination) -> Policy:
    """HubSpot has contacts alone; who writes Contacts in Salesforce has them for everybody."""
    two = destination.type == "salesforce" and destination.object != "Contact"
    return Policy(
        parked_owners=destination.parked_owners,
        recycle_statuses=destination.recycle_statuses,
        contact="Contact" if two else None,
    )


def choice_rule(settings: Settings) -> ChoiceOf:
    """By each destination's policy, and what the rule says of those who are there."""
    policies = {name: policy_of(destination) for name, destination in settings.destinations.items()}

    def choice_of(destination: str, rule: Rule | None, people: Sequence[Person]) -> Choice:
        choice = choose(people, policies.get(destination, Policy()), rule.create if rule else "missing")
        if choice.keeps is None or rule is None or rule.existing == "keep":
            return choice
        why = f"{choice.why.replace(' and keeps it', '')}, and rule {rule.id} assigns it all the same"
        return replace(choice, keeps=None, why=why)

    return choice_of


def candidates(people: Sequence[Person], policy: Policy) -> tuple[Person, ...]:
    """Those that any rule could choose."""
    found = {
        choice.record.record_id: choice.record
        for choice in (choose(people, policy, "missing"), choose(people, policy, "always"))
        if choice.record is not None
    }
    return tuple(found.values())


def few(people: Sequence[Person], policy: Policy, most: int) -> tuple[Person, ...]:
    """At most so many, and among them whom a rule could choose: info@acme.com may have a thousand Contacts."""
    if len(people) <= most:
        return tuple(people)
    first = candidates(people, policy)
    rest = sorted((one for one in people if one not in first), key=lambda one: (one.created_at or LAST, one.record_id))
    return (*first, *rest)[:most]
