"""From the JSON of a request to intents: which record each row means, what it sets, which parents it would lock."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crmsim.clock import Stamp
from crmsim.salesforce import coercion, ids, rules, sharing
from crmsim.salesforce.org import Author, Fields, Org, Record
from crmsim.salesforce.refusals import RowError
from crmsim.salesforce.schema import Field, Sobject
from crmsim.salesforce.switches import Switches


@dataclass(frozen=True, slots=True)
class Job:
    """One write request: verb is create, update or delete (by Id), or upsert (by `key`)."""

    verb: str
    key: Field | None
    all_or_none: bool
    assign_rule: bool  # the assignment rule runs
    allow_duplicates: bool
    user: str  # 18-character id of the session's user
    request: int

    @property
    def key_name(self) -> str:
        return "Id" if self.key is None else self.key.name

    @property
    def by_id(self) -> bool:
        return self.key_name == "Id"


@dataclass(frozen=True, slots=True)
class Row:
    """One record as sent, its type known."""

    sobject: Sobject
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Intent:
    """What a row means to do. With an error it does nothing, and locks nothing."""

    sobject: Sobject
    key: str | None
    record: str | None  # 15-character id of the record to update; None: insert
    values: Fields
    parents: tuple[str, ...]  # 15-character ids of the records that the write locks besides its own
    error: RowError | None = None


class Refused(Exception):
    """Carries a row's refusal up to the row."""

    def __init__(self, code: str, message: str, fields: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.error = RowError(code, message, fields)


def resolve(org: Org, switches: Switches, job: Job, rows: Sequence[Row], stamp: Stamp) -> list[Intent]:
    """One intent per row, in order. Raises WrongType if a value's JSON type is wrong and the switch says request."""
    intents = [_resolve(org, switches, job, row, stamp) for row in rows]
    return _no_key_twice(job, rows, intents)


def _resolve(org: Org, switches: Switches, job: Job, row: Row, stamp: Stamp) -> Intent:
    sobject, key = row.sobject, None
    try:
        key = _key(switches, job, row)
        if job.verb == "delete":
            return _deletion(switches, job, sobject, key, org)
        values = _values(org, switches, job, row, stamp)
        record = _target(org, switches, job, sobject, key)
        if record is None and job.key is not None and job.key.name != "Id" and key is not None:
            values = {job.key.name: key} | values
        error = rules.check(org, rules.Look(switches, job.user), sobject, record, values)
        if error is None and record is None:
            error = rules.duplicate(org, switches, sobject, values, allow_save=job.allow_duplicates)
        if error is not None:
            return Intent(sobject, key, record.id if record else None, values, (), error)
        parents = _parents(switches, sobject, record, values)
        return Intent(sobject, key, record.id if record else None, values, parents)
    except Refused as refused:
        return Intent(sobject, key, None, {}, (), refused.error)
    except coercion.WrongType as wrong:
        if switches.type_error == "request":
            raise
        return Intent(sobject, key, None, {}, (), RowError("JSON_PARSER_ERROR", str(wrong)))


def _deletion(switches: Switches, job: Job, sobject: Sobject, key: str | None, org: Org) -> Intent:
    """Into the bin: converted leads too; it locks what a write of the record would lock."""
    if not switches.may_delete:
        raise Refused("INSUFFICIENT_ACCESS_OR_READONLY", sharing.TEXTS["INSUFFICIENT_ACCESS_OR_READONLY"])
    record = _target(org, switches, job, sobject, key)
    if record is None or record.deleted:
        raise Refused("ENTITY_IS_DELETED", "entity is deleted")
    return Intent(sobject, key, record.id, {"IsDeleted": True}, _parents(switches, sobject, record, record.values))


def _key(switches: Switches, job: Job, row: Row) -> str | None:
    """The row's own key value. A row without one is refused, but an upsert by Id may insert."""
    if job.verb == "create":
        return None
    name = job.key_name
    value = next((value for item, value in row.raw.items() if item.lower() == name.lower()), None)
    if switches.trim_text and isinstance(value, str):
        value = value.strip()
    if value in (None, ""):
        if job.verb == "update":
            raise Refused("MISSING_ARGUMENT", "Id not specified in an update call")
        if name == "Id":
            return None
        raise Refused("MISSING_ARGUMENT", f"{name} not specified")
    if name == "Id" and (ids.to15(str(value)) is None or not str(value).startswith(row.sobject.prefix)):
        raise Refused("MALFORMED_ID", f"{row.sobject.name} ID: id value of incorrect type: {value}", ("Id",))
    if not isinstance(value, (str, int, float)):
        raise coercion.WrongType(f"Cannot deserialize instance of string from {type(value).__name__} for {name}")
    return str(value)


def _target(org: Org, switches: Switches, job: Job, sobject: Sobject, key: str | None) -> Record | None:
    if key is None:
        return None
    if job.key is None or job.by_id:
        record = org.get(key)
        if record is None or record.sobject is not sobject:
            raise Refused("INVALID_CROSS_REFERENCE_KEY", "invalid cross reference id")
        return _editable(switches, record, job.user)
    found = [record for record in org.match(sobject, job.key, key) if sharing.sees(switches, record, job.user)]
    if len(found) > 1:
        named = ", ".join(record.id18 for record in found)
        raise Refused(
            "DUPLICATE_EXTERNAL_ID",
            f"{job.key.title}: more than one record found for external id field: [{named}]",
            (job.key.name,),
        )
    return _editable(switches, found[0], job.user) if found else None


def _editable(switches: Switches, record: Record, user: str) -> Record:
    refusal = sharing.refusal(switches, record, user)
    if refusal is not None:
        raise Refused(refusal.code, refusal.message, refusal.fields)
    return record


def _values(org: Org, switches: Switches, job: Job, row: Row, stamp: Stamp) -> Fields:
    """What the row sets, under the schema's spelling. The key of an upsert is no value: it is how the row is found."""
    sobject, values = row.sobject, {}
    for name, raw in row.raw.items():
        lower = name.lower()
        if lower == "attributes":
            continue
        if lower == "id":
            if job.verb == "create" or (job.key is not None and job.key.name != "Id"):
                raise Refused("INVALID_FIELD", "The Id field should not be specified in the sobject data.")
            continue
        if job.key is not None and lower == job.key.name.lower():
            continue
        relation = sobject.relationships.get(lower)
        if relation is not None and isinstance(raw, (dict, type(None))):
            values[relation.name] = _foreign(org, switches, relation, raw, stamp)
            continue
        item = sobject.fields.get(lower)
        if item is None:
            raise Refused("INVALID_FIELD", f"No such column '{name}' on sobject of type {sobject.name}")
        if not item.writable:
            raise Refused(
                "INVALID_FIELD_FOR_INSERT_UPDATE",
                f"Unable to create/update fields: {item.name}. Please check the security settings of this field and "
                "verify that it is read/write for your profile or permission set.",
                (item.name,),
            )
        values[item.name] = _stored(item, coercion.coerce(item, raw, trim=switches.trim_text))
    return values


def _stored(item: Field, value: Any) -> Any:
    """References are kept in the 18-character form, so that both forms are one record."""
    if item.kind == "reference" and isinstance(value, str):
        id15 = ids.to15(value)
        return ids.to18(id15) if id15 else value
    return value


def _foreign(org: Org, switches: Switches, item: Field, raw: Mapping[str, Any] | None, stamp: Stamp) -> str | None:
    """The parent named by one of its external ids: `"Account__r": {"Fairturn_Key__c": "acme.com"}`."""
    if raw is None:
        return None
    named = {name: value for name, value in raw.items() if name.lower() != "attributes"}
    parent = org.objects.get(item.targets[0].lower()) if len(item.targets) == 1 else None
    if parent is None or len(named) != 1:
        entity = parent.name if parent else item.relationship
        raise Refused(
            "INVALID_FIELD", f"More than one field provided in the external foreign key reference in entity: {entity}"
        )
    [(name, value)] = named.items()
    key = parent.fields.get(name.lower())
    if key is None or not (key.is_key or key.name == "Id"):
        raise Refused(
            "INVALID_FIELD",
            f"Field name provided, {name} does not match an External ID, Salesforce Id, or indexed field for "
            f"{parent.name}",
        )
    found = org.match(parent, key, value)
    if len(found) > 1:
        raise Refused(
            "DUPLICATE_EXTERNAL_ID", f"{key.title}: more than one record found for external id field: [{value}]"
        )
    if found:
        return found[0].id18
    if switches.auto_create_accounts and parent.name == "Account" and key.kind == "string" and value:
        author = Author("auto-create", "auto-created", None, stamp)
        born = org.insert(parent, {"Name": str(value), key.name: str(value)}, author)
        org.log(born)
        return born.record.id18
    raise Refused(
        "INVALID_FIELD", f"Foreign key external ID: {value} not found for field {key.name} in entity {parent.name}"
    )


def _parents(switches: Switches, sobject: Sobject, record: Record | None, values: Fields) -> tuple[str, ...]:
    """The targets of the lookups that lock: the new one, and the one that the record had."""
    locked: list[str] = []
    for item in sobject.parents:
        if record is not None and item.name not in values and switches.parent_lock == "relation":
            continue
        for value in (record.values.get(item.name) if record else None, values.get(item.name)):
            id15 = ids.to15(value) if value else None
            if id15 and id15 not in locked:
                locked.append(id15)
    return tuple(locked)


def _no_key_twice(job: Job, rows: Sequence[Row], intents: list[Intent]) -> list[Intent]:
    """The same key, or the same record, twice in one request: every row that shares it is refused."""
    folded = [
        None if intent.key is None else _fold(job, row, intent.key) for row, intent in zip(rows, intents, strict=True)
    ]
    counts = Counter(item for item in folded if item is not None)
    for position, item in enumerate(folded):
        if item is None or counts[item] < 2:
            continue
        key = intents[position].key
        if job.by_id:
            error = RowError("DUPLICATE_VALUE", f"Duplicate id specified: {key}")
        else:
            error = RowError("DUPLICATE_VALUE", f"Duplicate external id specified: {key}", (job.key_name,))
        intents[position] = replace(intents[position], parents=(), error=error)
    return intents


def _fold(job: Job, row: Row, key: str) -> str:
    if job.key is None or job.by_id:
        return ids.to15(key) or key
    return f"{row.sobject.name}:{job.key.fold(key)}"
