"""Events of a batch, read: mapped to lead fields, with their keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fairturn.config import Source
from fairturn.decide import cleaning
from fairturn.decide.addresses import EmailFacts
from fairturn.decide.mapping import Mapped
from fairturn.decide.matching import keys_of
from fairturn.errors import FairturnError
from fairturn.flow.plan import Plan
from fairturn.model import Event, FieldValue, Key
from fairturn.quick import quick


@quick(frozen=True, slots=True)
class Read:
    event: Event
    source: Source
    mapped: Mapped
    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    reads: tuple[Read, ...]
    problems: dict[bytes, str]  # event -> why it cannot be a lead's


DIGITS = 1000  # of one number, as the door allows


def payload(body: bytes) -> object:
    """The event as it was sent, with exact numbers. Raises Malformed only for bytes that the door never stores."""
    try:
        return cleaning.quick(body)
    except cleaning.Malformed:
        return cleaning.parse(body.decode("utf-8", "replace"), DIGITS).value


def address(plan: Plan, values: Mapping[str, FieldValue]) -> EmailFacts:
    email = values.get("email")
    return plan.address(email if isinstance(email, str) else None)


def read(plan: Plan, events: Iterable[Event]) -> Reading:
    """One bad event never fails its neighbours: it becomes a problem, whatever was wrong with it."""
    reads: list[Read] = []
    problems: dict[bytes, str] = {}
    for event in events:
        source = plan.settings.sources.get(event.source)
        mapper = plan.mappers.get(event.source)
        if source is None or mapper is None:
            problems[event.id] = f"the source {event.source!r} is no longer in the settings"
            continue
        try:
            mapped = mapper(payload(event.body), event.received_at)
            facts = address(plan, mapped.values)
            reads.append(Read(event, source, mapped, keys_of(event.source, mapped, facts, event.id)))
        except (FairturnError, cleaning.Malformed) as error:
            problems[event.id] = str(error)
    return Reading(tuple(reads), problems)
