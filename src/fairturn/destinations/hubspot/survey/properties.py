"""The map against the properties of contacts: there, writable, of the type and with the options that it is given.

GET /crm/v3/properties/contacts
https://developers.hubspot.com/docs/api-reference/crm-properties-v3/guide
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fairturn.config import DERIVED_FIELDS, STANDARD_FIELDS, Destination, MapTo, Settings
from fairturn.destinations.hubspot.encode import sources
from fairturn.destinations.hubspot.rows import EMAIL
from fairturn.destinations.surveying import Notes

TEXTS: Final = frozenset({"string", "phone_number"})
MANAGER: Final = "Settings, Properties, Contact properties"
MAKE: Final = "`fairturn crm setup --hubspot --create` makes it"


@dataclass(frozen=True, slots=True)
class Property:
    name: str
    kind: str  # string, number, enumeration, bool, datetime, date, phone_number
    unique: bool
    read_only: bool
    options: tuple[str, ...]  # values; of owners, none
    several: bool = False  # checkboxes: values parted by ;


def property_of(row: Mapping[str, Any]) -> Property:
    more = row.get("modificationMetadata")
    locked = isinstance(more, dict) and more.get("readOnlyValue") is True
    options = row.get("options")
    values = [one.get("value") for one in options if isinstance(one, dict)] if isinstance(options, list) else []
    return Property(
        str(row.get("name")),
        str(row.get("type")),
        unique=row.get("hasUniqueValue") is True,
        read_only=locked or row.get("calculated") is True,
        options=tuple(one for one in values if isinstance(one, str)),
        several=row.get("fieldType") == "checkbox",
    )


def judge_key(notes: Notes, known: Mapping[str, Property], key: str) -> None:
    """By it a retry finds the contact that the first try made. HubSpot cannot make a property unique afterwards."""
    found = known.get(key)
    if key == EMAIL:
        sentence = "contacts are found by their address alone: one that is corrected there is a second contact"
        notes.warning(key, sentence, f'Take external_id = "email" out, and {MAKE.replace(" makes it", "")}')
    elif found is None:
        remedy = f"{MAKE}; by hand: {MANAGER}, Create property, single-line text, Require unique values"
        notes.error(key, "there is no such property", remedy)
    elif not found.unique:
        sentence = "does not require unique values, and HubSpot upserts by no other"
        remedy = f"HubSpot decides that when a property is made: name another in external_id, and {MAKE}"
        notes.error(key, sentence, remedy)
    elif found.kind != "string" or found.read_only:
        notes.error(key, f"is {shown(found)}, and a key is text", "Name a text property in external_id")
    else:
        notes.ok(key, "text, unique")


def judge_map(notes: Notes, known: Mapping[str, Property], settings: Settings, mine: Destination) -> None:
    types = {**STANDARD_FIELDS, **DERIVED_FIELDS, **settings.fields}
    for name, way in sources(mine.map).items():
        found = known.get(name)
        if found is None:
            how = MAKE if way.assignment is not None else f"Correct the name, or make it: {MANAGER}"
            notes.error(name, "there is no such property", how)
            continue
        if found.read_only:
            notes.error(name, "only HubSpot itself writes it", "Take it out of the map")
            continue
        before = len(notes.findings)
        judge_kind(notes, found, way, types.get(way.field or ""))
        judge_options(notes, found, way)
        if len(notes.findings) == before:
            open_ended = found.options and found.kind == "enumeration" and way.field is not None
            tail = f", {len(found.options)} options: a value that is none of them is left out" if open_ended else ""
            notes.ok(name, f"{shown(found)}{tail}")


def judge_kind(notes: Notes, found: Property, way: MapTo, kind: str | None) -> None:
    """HubSpot takes every value as text, and refuses what it cannot read."""
    given = given_kind(way, kind)
    if given is None or found.kind in TEXTS or found.kind == "enumeration":
        return
    fits = {"number": {"integer", "number"}, "bool": {"boolean"}, "datetime": {"time"}, "date": set()}
    if given not in fits.get(found.kind, {given}):
        sentence = f"is {shown(found)}, and is given {given}: what HubSpot cannot read as one is left out"
        notes.warning(found.name, sentence, "Map a lead field of that type, or a text property")


def given_kind(way: MapTo, kind: str | None) -> str | None:
    if way.assignment is not None:
        return "time" if way.assignment.endswith("_at") else "text"
    if way.value is not None:
        return {bool: "boolean", int: "integer", float: "number"}.get(type(way.value), "text")
    return kind


def judge_options(notes: Notes, found: Property, way: MapTo) -> None:
    """HubSpot refuses whatever is no option, by its internal value and in its letter case."""
    if found.kind not in {"enumeration", "bool"} or not found.options:
        return
    texts = [one for one in (way.value, way.default, *way.order) if one is not None]
    told = [str(one).lower() if isinstance(one, bool) else str(one) for one in texts]
    if found.several:
        told = [part for one in told for part in one.split(";") if part]
    unknown = [one for one in dict.fromkeys(told) if one not in found.options]
    if unknown:
        more = ", ..." if len(found.options) > 12 else ""
        sentence = f"has no option {', '.join(unknown)}; it has {', '.join(found.options[:12])}{more}"
        remedy = f"Write an internal value of these, or add it: {MANAGER}, {found.name}"
        # Steps of an order that no record can have do no harm.
        wrong = [one for one in unknown if one not in way.order or one in (way.value, way.default)]
        (notes.error if wrong else notes.warning)(found.name, sentence, remedy)


def judge_status(notes: Notes, known: Mapping[str, Property], mine: Destination) -> None:
    if not (mine.recycle_statuses or mine.status_field):
        return
    name = mine.status_field or "hs_lead_status"
    found = known.get(name)
    if found is None:
        notes.error(name, "there is no such property, and status_field names it", f"Copy the name: {MANAGER}")
        return
    options = {one.casefold() for one in found.options}
    for status in mine.recycle_statuses:
        if options and status.casefold() not in options:
            sentence = f'no contact has the status "{status}"; there are {", ".join(found.options[:12])}'
            notes.warning(name, sentence, "Correct recycle_statuses: internal values are wanted")


def shown(found: Property) -> str:
    return {"string": "text", "bool": "yes or no", "enumeration": "a list"}.get(found.kind, found.kind)
