"""What Salesforce checks of a row before it takes it: types, required fields, lengths, e-mail, owner, converted leads.

Every function returns the refusal or None; codes and messages are those of SF-docs and of recorded answers.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from crmsim.salesforce import ids
from crmsim.salesforce.org import Fields, Org, Record
from crmsim.salesforce.schema import TEXT_KINDS, Field, Sobject
from crmsim.salesforce.switches import Switches


@dataclass(frozen=True, slots=True)
class RowError:
    """One refusal. In a Collections row its code is called statusCode, in a single-record answer errorCode."""

    code: str
    message: str
    fields: tuple[str, ...] = ()


class WrongType(ValueError):
    """A JSON value that the field's type cannot be read from: the whole request is 400 (switch `type_error`)."""


# SF-help "email fields": ASCII local part of these characters, a dot in the domain.
EMAIL = re.compile(r"[A-Za-z0-9.!#$%&'*/=?^_+`{|}~-]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\.[A-Za-z]{2,}")


def coerce(field: Field, value: Any) -> Any:
    """The value as it is stored: an empty text is null. Raises WrongType."""
    if value is None or value == "":
        return None
    if field.kind in TEXT_KINDS or field.kind in ("reference", "id"):
        if isinstance(value, str):
            return value
    elif field.kind == "boolean":
        if isinstance(value, bool) or (isinstance(value, str) and value.lower() in ("true", "false")):
            return value if isinstance(value, bool) else value.lower() == "true"
    elif field.kind in ("int", "double"):
        return _number(field, value)
    elif isinstance(value, str):
        return _moment(field, value)
    raise WrongType(_cannot(field.kind, value))


def _cannot(kind: str, value: Any) -> str:
    token = {
        bool: "VALUE_TRUE" if value is True else "VALUE_FALSE", int: "VALUE_NUMBER_INT", float: "VALUE_NUMBER_FLOAT",
        str: "VALUE_STRING", dict: "START_OBJECT", list: "START_ARRAY",
    }  # fmt: skip
    shown = "string" if kind in (*TEXT_KINDS, "reference", "id") else kind
    return (
        f"Cannot deserialize instance of {shown} from {token[type(value)]} value {value} "
        "or request may be missing a required field"
    )


def _number(field: Field, value: Any) -> float | int:
    try:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise ValueError
        return int(value) if field.kind == "int" and not isinstance(value, float) else float(value)
    except ValueError:
        raise WrongType(_cannot(field.kind, value)) from None


def _moment(field: Field, value: str) -> str:
    try:
        parsed: date = date.fromisoformat(value) if field.kind == "date" else datetime.fromisoformat(value)
    except ValueError:
        raise WrongType(_cannot(field.kind, value)) from None
    if not 1700 <= parsed.year <= 4000:  # SF-docs: valid dates
        raise WrongType(_cannot(field.kind, value))
    return value


def check(org: Org, switches: Switches, sobject: Sobject, record: Record | None, values: Fields) -> RowError | None:
    """The first refusal of a row: `record` is what it would update, `values` what it carries."""
    if sobject.read_only:
        return RowError("CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", f"{sobject.name} is read-only in this simulator")
    return (
        _frozen(record)
        or _required(sobject, record, values)
        or _texts(switches, sobject, values)
        or _references(org, sobject, record, values)
        or _unique(org, sobject, record, values)
    )


def check_again(org: Org, sobject: Sobject, record: Record | None, values: Fields) -> RowError | None:
    """At the commit: only what others may have changed since `check`."""
    return _frozen(record) or _references(org, sobject, record, values) or _unique(org, sobject, record, values)


def _frozen(record: Record | None) -> RowError | None:
    if record is not None and record.deleted:
        return RowError("ENTITY_IS_DELETED", "entity is deleted")
    if record is not None and record.values.get("IsConverted"):
        return RowError("CANNOT_UPDATE_CONVERTED_LEAD", "cannot reference converted lead")
    return None


def _required(sobject: Sobject, record: Record | None, values: Fields) -> RowError | None:
    missing = [
        item.name
        for item in sobject.fields.values()
        if item.required and (values.get(item.name) is None if item.name in values else record is None)
    ]
    if missing:
        return RowError(
            "REQUIRED_FIELD_MISSING", f"Required fields are missing: [{', '.join(missing)}]", tuple(missing)
        )
    return None


def _texts(switches: Switches, sobject: Sobject, values: Fields) -> RowError | None:
    for name, value in values.items():
        item = sobject.fields[name.lower()]
        if not isinstance(value, str) or item.kind not in TEXT_KINDS:
            continue
        size = len(value.encode("utf-16-le")) // 2 if switches.length_unit == "utf16" else len(value)
        if size > item.length:
            message = f"{item.title}: data value too large: {value} (max length={item.length})"
            return RowError("STRING_TOO_LONG", message, (name,))
        if item.kind == "email" and not EMAIL.fullmatch(value):
            return RowError("INVALID_EMAIL_ADDRESS", f"{item.title}: invalid email address: {value}", (name,))
        if item.restricted and value not in item.values:
            message = f"{item.title}: bad value for restricted picklist field: {value}"
            return RowError("INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST", message, (name,))
    return None


def _references(org: Org, sobject: Sobject, record: Record | None, values: Fields) -> RowError | None:
    for name, value in values.items():
        item = sobject.fields[name.lower()]
        if item.kind != "reference":
            continue
        if value is None:
            if name == "OwnerId":
                return RowError("INVALID_CROSS_REFERENCE_KEY", "Owner ID: owner cannot be blank", (name,))
            continue
        prefixes = [org.objects[target.lower()].prefix for target in item.targets if target.lower() in org.objects]
        if ids.to15(value) is None or value[:3] not in prefixes:
            return RowError("MALFORMED_ID", f"{item.title}: id value of incorrect type: {value}", (name,))
        target = org.get(value)
        if target is None or target.deleted:
            return RowError("INVALID_CROSS_REFERENCE_KEY", "invalid cross reference id", ())
        refusal = _owner(sobject, record, target) if name == "OwnerId" else None
        if refusal:
            return refusal
    return None


def _owner(sobject: Sobject, record: Record | None, owner: Record) -> RowError | None:
    unchanged = record is not None and record.values.get("OwnerId") == owner.id18
    if unchanged or owner.sobject.name != "User" or owner.values.get("IsActive"):
        return None
    message = f"operation performed with inactive user [{owner.id18}] as owner of {sobject.name.lower()}"
    return RowError("INACTIVE_OWNER_OR_USER", message)


def _unique(org: Org, sobject: Sobject, record: Record | None, values: Fields) -> RowError | None:
    """Also the race of two upserts that both meant to insert: the later commit finds the earlier one's record."""
    for name, value in values.items():
        item = sobject.fields[name.lower()]
        if not item.unique or value is None:
            continue
        for other in org.match(sobject, item, value):
            if record is None or other.id != record.id:
                message = f"duplicate value found: {item.name} duplicates value on record with id: {other.id18}"
                return RowError("DUPLICATE_VALUE", message)
    return None


def duplicate(org: Org, switches: Switches, sobject: Sobject, values: Fields, *, allow_save: bool) -> RowError | None:
    """The org's Lead duplicate rule, for inserts."""
    email = values.get("Email")
    if switches.duplicate_rule == "off" or sobject.name != "Lead" or not email:
        return None
    if switches.duplicate_rule == "alert" and allow_save:
        return None
    if org.match(sobject, sobject.fields["email"], email):
        return RowError("DUPLICATES_DETECTED", "Use one of these records?")
    return None
