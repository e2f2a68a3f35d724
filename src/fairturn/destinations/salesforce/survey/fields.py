"""The mapping against the object: does each field exist, may it be written, does it take what it will be given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fairturn.config import DERIVED_FIELDS, STANDARD_FIELDS, Destination, MapTo, Settings
from fairturn.destinations.salesforce.survey.described import LISTS, NUMBERS, TEXT, Described, Field
from fairturn.destinations.surveying import Notes

KEY: Final = 35  # characters of our own key: ft- and 32 more
CHECKED: Final = frozenset({"lastname", "company"})  # what `fairturn check` says of these without asking anybody


@dataclass(frozen=True, slots=True)
class Surveyed:
    """An object, and what is done with it."""

    object: Described
    creates: bool  # False: people who are there already, updated
    types: Mapping[str, str]  # lead field -> its type
    lengths: Mapping[str, int]  # assignment field -> characters that it takes

    def subject(self, name: str) -> str:
        return f"{self.object.name}.{name}"

    def permission(self, name: str) -> str:
        return (
            f"Setup, Permission Sets, the integration user's, Object Settings, {self.object.name}: "
            f"tick Edit Access of {name}"
        )

    def manager(self, name: str) -> str:
        return f"Setup, Object Manager, {self.object.name}, Fields & Relationships, {name}, Edit"


def surveyed(found: Described, settings: Settings, *, creates: bool) -> Surveyed:
    pool = max(map(len, settings.pools), default=0)
    lengths = {"id": pool + 13, "pool": pool, "rule": max((len(rule.id) for rule in settings.rules), default=0)}
    # "<pool>#<number>"; reasons are sentences, cut where they must be.
    return Surveyed(found, creates, {**STANDARD_FIELDS, **DERIVED_FIELDS, **settings.fields}, lengths)


def judge_object(notes: Notes, on: Surveyed) -> None:
    name = on.object.name
    wanted = [("create", on.object.createable)] if on.creates else []
    lacking = [right for right, given in [*wanted, ("edit", on.object.updateable)] if not given]
    if lacking:
        where = f"Setup, Permission Sets, the integration user's, Object Settings, {name}"
        notes.error(name, f"the integration user may not {' or '.join(lacking)} {name}s", f"{where}: tick it")
    else:
        notes.ok(name, f"the integration user may {'create and edit' if on.creates else 'edit'} {name}s")


def judge_key(notes: Notes, on: Surveyed, key: str) -> None:
    """By it a retry finds the record that the first try made. Not unique, two tries make two records."""
    subject, found = on.subject(key), on.object.field(key)
    if found is None:
        remedy = (
            f"Deploy examples/salesforce, or make a text field of 64 characters in Setup, Object Manager, "
            f"{on.object.name}, with External ID and Unique ticked, and give the integration user Edit Access to it"
        )
        notes.error(subject, f"there is no field {key}, or the integration user may not see it", remedy)
        return
    lacking = [word for word, given in (("External ID", found.external_id), ("Unique", found.unique)) if not given]
    if lacking:
        why = "two tries could make two records" if "Unique" in lacking else "a retry could not find its record"
        notes.error(subject, f"is not marked {' and '.join(lacking)}, so {why}", f"{on.manager(key)}: tick it")
    elif not (found.updateable and found.createable):
        notes.error(subject, "the integration user may read it only", on.permission(key))
    elif found.kind not in TEXT or found.length < KEY:
        sentence = f"is {shown(found)}, and a key has {KEY} characters"
        notes.error(subject, sentence, "Make it a text field of 64 characters")
    else:
        notes.ok(subject, f"{shown(found)}, External ID, Unique")


def judge_map(notes: Notes, on: Surveyed, mapping: Mapping[str, MapTo], *, translated: bool = False) -> None:
    """translated: nobody wrote this map for this object, so what does not fit is left out there."""
    for target, way in mapping.items():
        relation, dot, _ = target.partition(".")
        found = on.object.relation(relation) if dot else on.object.field(target)
        if found is None:
            said = "there is no such field, or the integration user may not see it"
            if translated:
                notes.warning(on.subject(target), f"{said}; it is left out there", "Name the fields in contact_map")
            else:
                remedy = f"Correct the name ({on.manager(target)[:-6]}), or {on.permission(target)}"
                notes.error(on.subject(target), said, remedy)
            continue
        before = len(notes.findings)
        judge_rights(notes, on, found, way)
        judge_kind(notes, on, found, way)
        judge_length(notes, on, found, way)
        judge_values(notes, on, found, way)
        judge_record_type(notes, on, way)
        if len(notes.findings) == before:
            notes.ok(on.subject(target), f"{shown(found)}{listed(on, found, way)}")


def judge_rights(notes: Notes, on: Surveyed, found: Field, way: MapTo) -> None:
    needed = [("create", found.createable)] if on.creates else []
    if way.mode != "create_only":
        needed.append(("edit", found.updateable))
    lacking = [right for right, given in needed if not given]
    if lacking:
        sentence = f"the integration user may read it, not {' or '.join(lacking)} it: every lead would go without it"
        notes.error(on.subject(found.name), sentence, on.permission(found.name))


def judge_kind(notes: Notes, on: Surveyed, found: Field, way: MapTo) -> None:
    given = given_kind(on, way)
    if given is None or found.kind == "reference":
        return
    numeric, text, subject = found.kind in NUMBERS, found.kind in TEXT, on.subject(found.name)
    fits = {
        "text": text, "integer": numeric, "number": numeric and found.kind not in {"int", "long"},
        "boolean": found.kind == "boolean", "time": found.kind == "datetime",
    }  # fmt: skip
    if fits.get(given, True):
        return
    sentence = f"is {shown(found)}, and is given {given_words(given)}"
    if given in {"text", "number", "time"} and (numeric or found.kind in {"date", "time", "datetime"}):
        notes.warning(subject, f"{sentence}: what cannot be read as one is left out", "Map a lead field of that type")
    else:
        notes.error(subject, sentence, "Map a lead field of that type, or another field of the CRM")


def given_kind(on: Surveyed, way: MapTo) -> str | None:
    if way.assignment is not None:
        return "time" if way.assignment.endswith("_at") else "text"
    if way.value is not None:
        named = {bool: "boolean", int: "integer", float: "number"}
        return named.get(type(way.value), "text")
    return on.types.get(way.field or "")


def given_words(kind: str) -> str:
    return {"boolean": "true or false", "integer": "a whole number", "number": "a number", "time": "a time"}.get(
        kind, kind
    )


def judge_length(notes: Notes, on: Surveyed, found: Field, way: MapTo) -> None:
    if found.kind not in TEXT or found.kind in LISTS or not found.length:
        return
    subject, limit = on.subject(found.name), found.length
    for what, text in (("constant", way.value), ("default", way.default)):
        if isinstance(text, str) and len(text) > limit:
            notes.error(subject, f"takes {limit} characters, and the {what} has {len(text)}", "Write a shorter one")
    if way.max_length is not None and way.max_length > limit:
        notes.warning(subject, f"takes {limit} characters, and max_length says {way.max_length}", f"Write {limit}")
    needed = on.lengths.get(way.assignment or "", 0)
    if needed > limit and way.assignment == "id":
        notes.error(subject, f"takes {limit} characters, and two ids cut to it may be one", f"Give it {needed}")
    elif needed > limit:
        notes.warning(subject, f"takes {limit} characters: longer ones are cut", f"Give it {needed}")


def judge_values(notes: Notes, on: Surveyed, found: Field, way: MapTo) -> None:
    """Constants of a list. A lead's own values are not known beforehand."""
    if found.kind not in LISTS or not found.values:
        return
    texts = [text for text in (way.value, way.default, *way.order) if isinstance(text, str)]
    unknown = [text for text in dict.fromkeys(texts) if not found.takes(text)]
    if unknown:
        sentence = f"has no value {', '.join(unknown)}; it has {', '.join(found.values[:12])}"
        sentence += ", ..." if len(found.values) > 12 else ""
        remedy = f"Write one of them, or add it: {on.manager(found.name)[:-6]}, Values, New"
        (notes.error if found.restricted else notes.warning)(on.subject(found.name), sentence, remedy)


def judge_record_type(notes: Notes, on: Surveyed, way: MapTo) -> None:
    if way.record_type is None:
        return
    text, subject = way.record_type.strip().casefold(), f"record type {way.record_type}"
    types = on.object.record_types
    found = [one for one in types if one.developer_name.casefold() == text] or [
        one for one in types if one.name.casefold() == text
    ]
    if not found:
        names = ", ".join(one.name for one in types) or "none"
        notes.error(subject, f"{on.object.name} has no such record type; it has {names}", "Correct the name")
    elif not found[0].usable:
        where = f"Setup, Permission Sets, the integration user's, Object Settings, {on.object.name}"
        notes.error(subject, "is inactive, or not given to the integration user", f"{where}: tick it")
    else:
        notes.ok(subject, f"is active on {on.object.name}, and given to the integration user")


def judge_required(notes: Notes, on: Surveyed, mapping: Mapping[str, MapTo], ours: frozenset[str]) -> None:
    """Required fields that nothing fills. Those of page layouts alone do not bind the API."""
    named = {target.lower(): way for target, way in mapping.items()}
    for lower, one in on.object.fields.items():
        if one.nillable or one.defaulted or not one.createable or one.kind == "boolean" or lower in ours:
            continue
        way = named.get(lower)
        if way is None:
            remedy = f'Add {one.name} = {{ value = "..." }} to the map, or make it optional: {on.manager(one.name)}'
            sentence = f"is required, and nothing fills it: every new {on.object.name} is refused"
            notes.error(on.subject(one.name), sentence, remedy)
        elif way.field is not None and way.default is None and lower not in CHECKED:
            sentence = f"is required, and a lead without {way.field} has none"
            notes.warning(on.subject(one.name), sentence, "Give it a default in the map")


def judge_status(notes: Notes, on: Surveyed, destination: Destination) -> None:
    """Where an owner's hold on a record is judged by its status."""
    if not (destination.recycle_statuses or destination.status_field):
        return
    name = destination.status_field or "Status"
    found = on.object.field(name)
    if found is None:
        notes.error(
            on.subject(name), "there is no such field, or the integration user may not see it", on.permission(name)
        )
        return
    unknown = [one for one in destination.recycle_statuses if found.values and not found.takes(one)]
    for status in unknown:
        sentence = f'no record has the status "{status}"; there are {", ".join(found.values[:12])}'
        notes.warning(on.subject(name), sentence, "Correct recycle_statuses")


def judge_lookup(notes: Notes, on: Surveyed, account: Described | None, lookup: str) -> None:
    """The account behind a lookup field, found by an external id of its own."""
    relation, _, key = lookup.partition(".")
    found = on.object.relation(relation)
    if found is None or not found.updateable:
        said = "there is no such lookup, or the integration user may not write it"
        notes.error(on.subject(relation), said, on.permission(relation.removesuffix("__r")))
        return
    there = account.field(key) if account is not None else None
    if there is None or not there.external_id:
        said = f"{', '.join(found.targets) or 'Account'} has no external id {key} that the integration user may see"
        remedy = f"Setup, Object Manager, Account, Fields & Relationships, {key}: tick External ID and Unique"
        notes.error(on.subject(lookup), said, remedy)
    elif not there.unique:
        said = f"{key} is not unique: where two accounts share one, the lead is written without its account"
        notes.warning(
            on.subject(lookup), said, f"Setup, Object Manager, Account, Fields & Relationships, {key}: tick Unique"
        )
    else:
        notes.ok(on.subject(lookup), f"finds its account by {key}")


def shown(found: Field) -> str:
    return f"{found.kind} of {found.length}" if found.kind in TEXT and found.length else found.kind


def listed(on: Surveyed, found: Field, way: MapTo) -> str:
    if found.kind in LISTS and found.restricted and way.field is not None:
        return f", a list of {len(found.values)}: what is not in it is left out"
    if found.name.endswith(("State", "Country")) and on.object.field(f"{found.name}Code") is not None:
        return ", of the org's list of places: what is not in it is left out"
    return ""
