"""What of a batch really goes out: who is written as a lead's owner, and which records have nothing new to say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fairturn.config import Settings
from fairturn.decide.addresses import derived, email_facts
from fairturn.decide.collapsing import differs
from fairturn.decide.merging import plain
from fairturn.model import Answer, Fields, FieldValue, Later, LeadStatus, Outgoing, Refused, Written

OwnerKind = Literal["rep", "raw"]
Owner = tuple[str | None, OwnerKind]
# (destination, status, rep, pool, queue the lead is parked under) -> who is written; kind as in Outgoing.owner_kind
OwnerOf = Callable[[str, LeadStatus, str | None, str | None, str | None], Owner]
ValuesOf = Callable[[Fields], Mapping[str, FieldValue]]
Draft = Mapping[str, object] | Refused


def owner_rule(hold_owners: Mapping[str, Mapping[str, str]], untold: Collection[str] = ()) -> OwnerOf:
    """hold_owners: pool -> destination -> queue or user that owns held leads meanwhile. untold: destinations that are
    told no owner.
    """

    def owner_of(destination: str, status: LeadStatus, rep: str | None, pool: str | None, park: str | None) -> Owner:
        if destination in untold:
            return None, "raw"
        if status == "assigned":
            return rep, "rep"
        if status == "parked":
            return park, "raw"
        if status == "held" and pool is not None:
            return hold_owners.get(pool, {}).get(destination), "raw"
        return None, "raw"

    return owner_of


def untold(settings: Settings) -> frozenset[str]:
    """CRMs beside the system of record: two that are told owners would be two truths. A console only prints."""
    if settings.system_of_record is None:
        return frozenset()
    return frozenset(
        name
        for name, mine in settings.destinations.items()
        if name != settings.system_of_record and mine.type != "console"
    )


def told(fields: Fields) -> dict[str, FieldValue]:
    """A lead's values as a destination is told them: names taken from the full name where no event gave them, and None
    for what was erased on purpose.
    """
    return {**{name: None for name, state in fields.items() if state.value is None}, **plain(fields)}


def values_rule(settings: Settings) -> ValuesOf:
    """The same with the fields that Fairturn works out, such as email_domain."""

    def values(fields: Fields) -> dict[str, FieldValue]:
        found = told(fields)
        email = found.get("email")
        facts = email_facts(email if isinstance(email, str) else None, settings.organisation, settings.routing)
        return {**derived(facts), **found}

    return values


@dataclass(frozen=True, slots=True)
class Sorted:
    """The records of a batch by what has to be done about them; each is in exactly one list."""

    send: tuple[Outgoing, ...]
    same: tuple[Outgoing, ...]  # the CRM has confirmed every value before
    shadow: tuple[Outgoing, ...]
    refused: tuple[Refused, ...]  # that cannot be made into a record
    twice: tuple[Outgoing, ...]  # the key is in the request already: a later request takes it


def sort_out(records: Sequence[Outgoing], drafts: Mapping[str, Draft], *, shadow: bool) -> Sorted:
    """shadow: the whole destination is in shadow mode.

    A record whose owner an assignment just made is never "same": a person may have changed the owner in the CRM since,
    and the assignment is newer than that.
    """
    send, same, dark, twice, refused = [], [], [], [], []
    seen: set[str] = set()
    for record in records:
        draft = drafts.get(record.key)
        if record.key in seen:
            twice.append(record)
        elif draft is None:
            refused.append(Refused(record.key, "NO_RECORD", "the mapping made no record of this lead"))
        elif isinstance(draft, Refused):
            refused.append(draft)
        elif shadow or record.shadow:
            dark.append(replace(record, shadow=True))
        elif record.owner is None and record.record_id and not differs(draft, record.confirmed):
            same.append(record)
        else:
            send.append(record)
        seen.add(record.key)
    return Sorted(tuple(send), tuple(same), tuple(dark), tuple(refused), tuple(twice))


def completed(answer: Answer, found: Sorted, drafts: Mapping[str, Draft]) -> Answer:
    """What the CRM said of the records that were sent, and what we know of the others."""
    kept = {one.key: drafts[one.key] for one in (*found.same, *found.shadow)}
    return replace(
        answer,
        outcomes=(
            *answer.outcomes,
            *found.refused,
            *(Written(record.key, record.record_id or "", created=False) for record in found.same),
            *(
                Later(record.key, None, "record", "SAME_KEY", "its key was in the request already")
                for record in found.twice
            ),
        ),
        records={**{key: draft for key, draft in kept.items() if not isinstance(draft, Refused)}, **answer.records},
        same=frozenset(record.key for record in found.same),
        shadow=frozenset(record.key for record in found.shadow),
    )
