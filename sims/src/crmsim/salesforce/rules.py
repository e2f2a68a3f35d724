"""What Salesforce checks of a row before it takes it: types, required fields, lengths, e-mail, owner, converted leads.

Every function returns the refusal or None; codes and messages are those of SF-docs and of recorded answers.
"""

import re
from dataclasses import dataclass

from crmsim.salesforce import ids, places, sharing
from crmsim.salesforce.org import Fields, Org, Record
from crmsim.salesforce.refusals import RowError
from crmsim.salesforce.schema import TEXT_KINDS, Field, Sobject
from crmsim.salesforce.switches import Switches

ADDRESSES = {"Lead": "", "Contact": "Mailing", "Account": "Billing"}  # prefixes of their fields
DUPLICATE_TEXTS = {
    "Lead": "Use one of these records?",
    "Contact": "You're creating a duplicate record. We recommend you use an existing record instead.",
}
EMAIL_FIELD = Field("Email", "email", 80, id_lookup=True)


# SF-help "email fields": ASCII local part of these characters, a dot in the domain.
EMAIL = re.compile(r"[A-Za-z0-9.!#$%&'*/=?^_+`{|}~-]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\.[A-Za-z]{2,}")


@dataclass(frozen=True, slots=True)
class Look:
    """Through whose eyes the org is looked at: its switches and the API user, an 18-character id."""

    switches: Switches
    user: str


def check(org: Org, look: Look, sobject: Sobject, record: Record | None, values: Fields) -> RowError | None:
    """The first refusal of a row: `record` is what it would update, `values` what it carries.

    In Salesforce's order of execution: the system's own checks, the org's validation rules, keys.
    """
    if sobject.read_only:
        return RowError("CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", f"entity type cannot be updated: {sobject.name}")
    return (
        _frozen(record)
        or _required(sobject, record, values)
        or _texts(look.switches, sobject, values)
        or _placed(look.switches, sobject, record, values)
        or _references(org, sobject, record, values)
        or _kept(look.switches, record, values)
        or _left_behind(org, look.switches, record, values)
        or _validated(org, look, sobject, record, values)
        or _unique(org, look, sobject, record, values)
    )


def check_again(org: Org, look: Look, sobject: Sobject, record: Record | None, values: Fields) -> RowError | None:
    """At the commit: only what others may have changed since `check`."""
    return (
        _frozen(record)
        or (sharing.refusal(look.switches, record, look.user) if record else None)
        or _references(org, sobject, record, values)
        or _unique(org, look, sobject, record, values)
    )


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


def _placed(switches: Switches, sobject: Sobject, record: Record | None, values: Fields) -> RowError | None:
    """State and country picklists: the names and the codes of an address, each completed by the other."""
    if not switches.state_picklists or sobject.name not in ADDRESSES:
        return None
    prefix = ADDRESSES[sobject.name]
    try:
        found = places.complete(prefix, f"{prefix} " if prefix else "", record.values if record else {}, values)
    except places.Unplaced as trouble:
        return RowError("FIELD_INTEGRITY_EXCEPTION", str(trouble), (trouble.field,))
    values |= found
    return None


def _references(org: Org, sobject: Sobject, record: Record | None, values: Fields) -> RowError | None:
    for name, value in values.items():
        item = sobject.fields.get(name.lower())
        if item is None or item.kind != "reference":  # None: hidden by a switch since the row was read
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
        refusal = _owner(org, sobject, record, target) if name == "OwnerId" else None
        if name == "RecordTypeId" and not _usable(sobject, target):
            message = f"{item.title}: this ID value isn't valid for the user: {target.id18}"
            return RowError("INVALID_CROSS_REFERENCE_KEY", message, (name,))
        if refusal:
            return refusal
    return None


def _usable(sobject: Sobject, kind: Record) -> bool:
    return kind.values.get("SobjectType") == sobject.name and bool(kind.values.get("IsActive"))


def _owner(org: Org, sobject: Sobject, record: Record | None, owner: Record) -> RowError | None:
    if record is not None and record.values.get("OwnerId") == owner.id18:
        return None
    if owner.sobject.name == "Group" and (owner.id18, sobject.name) not in org.queue_objects:
        return RowError("INVALID_OPERATION", "Queue not associated with this SObject type")
    if owner.sobject.name == "User" and not owner.values.get("IsActive"):
        return _inactive(sobject, owner)
    return None


def _kept(switches: Switches, record: Record | None, values: Fields) -> RowError | None:
    """Without the right to transfer, a record stays with its owner."""
    if switches.may_transfer or record is None or values.get("OwnerId") in (None, record.values.get("OwnerId")):
        return None
    return RowError("INSUFFICIENT_ACCESS_OR_READONLY", sharing.TEXTS["INSUFFICIENT_ACCESS_OR_READONLY"])


def _inactive(sobject: Sobject, owner: Record) -> RowError:
    message = f"operation performed with inactive user [{owner.id18}] as owner of {sobject.name.lower()}"
    return RowError("INACTIVE_OWNER_OR_USER", message)


def _left_behind(org: Org, switches: Switches, record: Record | None, values: Fields) -> RowError | None:
    """A record that an inactive user keeps; SF-help: "Update Records with Inactive Owners" lets it be edited."""
    owner = org.get(record.values.get("OwnerId") or "") if record else None
    if record is None or owner is None or switches.inactive_owner_updates or owner.sobject.name != "User":
        return None
    stays = values.get("OwnerId", owner.id18) == owner.id18
    return _inactive(record.sobject, owner) if stays and not owner.values.get("IsActive") else None


def _validated(org: Org, look: Look, sobject: Sobject, record: Record | None, values: Fields) -> RowError | None:
    """The org's validation rules, on the record as it would be."""
    if not any(rule.active and rule.object == sobject.name for rule in org.validation):
        return None
    before = record.values if record else sobject.born | {"OwnerId": look.user}
    candidate = Record("", sobject, before | values)
    for rule in org.validation:
        if rule.active and rule.object == sobject.name and rule.refuses(candidate):
            return RowError("FIELD_CUSTOM_VALIDATION_EXCEPTION", rule.message, (rule.field,) if rule.field else ())
    return None


def _unique(org: Org, look: Look, sobject: Sobject, record: Record | None, values: Fields) -> RowError | None:
    """Also the race of two upserts that both meant to insert: the later commit finds the earlier one's record."""
    for name, value in values.items():
        item = sobject.fields.get(name.lower())
        if item is None or not item.unique or value is None:
            continue
        for other in org.match(sobject, item, value):
            if record is None or other.id != record.id:
                seen = sharing.sees(look.switches, other, look.user)
                what, where = (item.name, other.id18) if seen else ("<unknown>", "<unknown>")
                message = f"duplicate value found: {what} duplicates value on record with id: {where}"
                return RowError("DUPLICATE_VALUE", message)
    return None


def duplicate(org: Org, switches: Switches, sobject: Sobject, values: Fields, *, allow_save: bool) -> RowError | None:
    """The org's duplicate rules, for inserts."""
    if switches.duplicate_rule == "off" or (switches.duplicate_rule == "alert" and allow_save):
        return None
    if duplicates(org, sobject, values.get("Email")):
        return RowError("DUPLICATES_DETECTED", DUPLICATE_TEXTS[sobject.name])
    return None


def duplicates(org: Org, sobject: Sobject, email: object) -> list[Record]:
    """The people whom the standard duplicate rules find for a new Lead or Contact: open Leads, and Contacts."""
    if sobject.name not in DUPLICATE_TEXTS or not email:
        return []
    found = (record for name in DUPLICATE_TEXTS for record in org.match(org.objects[name.lower()], EMAIL_FIELD, email))
    return [record for record in found if not record.values.get("IsConverted")]
