"""What the org holds before a run: its people, owners and rules. Ids are deterministic, or given."""

from collections.abc import Mapping
from typing import Any

from crmsim.salesforce import crowd, ids, planting, schema, selection
from crmsim.salesforce.objects import STATUSES
from crmsim.salesforce.org import Org, Record, ValidationRule
from crmsim.salesforce.planting import owner, person

SECTIONS = (
    "organization", "fields", "users", "queues", "record_types", "accounts", "leads", "contacts", "people",
    "assignment_rule", "validation_rules",
)  # fmt: skip
ORGANIZATION = {"IsSandbox": True, "InstanceName": "CS42", "OrganizationType": "Enterprise Edition"}


def found(org: Org) -> str:
    """A bare org: its Organization row, the integration's user, a queue for the assignment rule. The user's id."""
    seed(org, {"organization": {"Name": "Simulated Org"}})
    [user] = seed(org, {"users": [{"name": "Integration User", "email": "integration@crmsim.test"}]})["users"]
    org.plain("AssignmentRule", {"Name": "Standard", "SobjectType": "Lead", "Active": True}, ids.to15(org.rule_id))
    for name in ("Lead", "Contact"):
        rule = {"MasterLabel": f"Standard {name} Duplicate Rule", "DeveloperName": f"Standard_{name}_Duplicate_Rule"}
        org.plain("DuplicateRule", rule | {"SobjectType": name, "IsActive": False})
    for number, status in enumerate(STATUSES):
        ends = status == "Closed - Converted"
        row = {"MasterLabel": status, "ApiName": status, "IsDefault": not number, "IsConverted": ends}
        org.plain("LeadStatus", row | {"SortOrder": number + 1})
    for name in ("Lead", "Contact", "Account"):
        org.plain("EntityDefinition", {"DurableId": name, "QualifiedApiName": name, "Label": name})
    seed(org, {"queues": [{"name": "Assignment Rule Queue"}], "assignment_rule": {"owner": "Assignment Rule Queue"}})
    return str(user["id"])


def seed(org: Org, document: Mapping[str, Any]) -> dict[str, Any]:
    """Add to the org; answers with the ids by section. Raises ValueError that names the entry."""
    unknown = set(document) - set(SECTIONS)
    if unknown:
        raise ValueError(f"unknown sections {sorted(unknown)}; a seed has {', '.join(SECTIONS)}")
    for entry in document.get("fields", ()):
        sobject = org.sobject(str(entry.get("object", "")))
        if sobject is None:
            raise ValueError(f"field {entry.get('name')!r}: no object {entry.get('object')!r}")
        sobject.add(schema.custom_field(entry), locks=bool(entry.get("locks")))
    out: dict[str, Any] = {}
    if "organization" in document:
        _organize(org, document["organization"])
    for section, make in (("users", _user), ("queues", _queue)):
        rows = [make(org, entry, f"{section}[{n}]") for n, entry in enumerate(document.get(section, ()))]
        out[section] = [{"id": row.id18, "name": row.values["Name"], "email": row.values.get("Email")} for row in rows]
    out["record_types"] = [_record_type(org, entry) for entry in document.get("record_types", ())]
    for section, name in (("accounts", "Account"), ("leads", "Lead"), ("contacts", "Contact")):
        entries = document.get(section, ())
        out[section] = [person(org, name, entry, f"{section}[{n}]").id18 for n, entry in enumerate(entries)]
    if "people" in document:
        out["people"] = crowd.gather(org, document["people"])
    if "assignment_rule" in document:
        out["assignment_rule"] = _assignment_rule(org, document["assignment_rule"])
    out["validation_rules"] = [_validation_rule(org, entry) for entry in document.get("validation_rules", ())]
    return out


def _organize(org: Org, entry: Mapping[str, Any]) -> None:
    """Make the Organization row, or change the one there is."""
    rows = list(org.by_object["Organization"].values())
    if rows:
        rows[0].values |= entry
    else:
        person(org, "Organization", ORGANIZATION | dict(entry), "organization")


def _name(entry: Mapping[str, Any], where: str) -> str:
    if not entry.get("name"):
        raise ValueError(f"{where}: needs a name")
    return str(entry["name"])


def _user(org: Org, entry: Mapping[str, Any], where: str) -> Record:
    """`email` may end in `.invalid`, as a sandbox's do after a refresh; `username` is the e-mail unless it is given."""
    email, (first, _, last) = entry.get("email"), _name(entry, where).rpartition(" ")
    values = {
        "Name": entry["name"], "FirstName": first or None, "LastName": last, "Email": email,
        "Username": entry.get("username", email), "Alias": str(entry["name"])[:8], "UserType": "Standard",
        "IsActive": entry.get("active", True), "FederationIdentifier": entry.get("federation_id"),
    }  # fmt: skip
    return person(org, "User", ({"Id": entry["id"]} if "id" in entry else {}) | values, where)


def _queue(org: Org, entry: Mapping[str, Any], where: str) -> Record:
    """`objects`: what the queue may own, Leads unless told."""
    name, objects = _name(entry, where), entry.get("objects", ["Lead"])
    if not isinstance(objects, list):
        raise ValueError(f"{where}: objects is a list, such as ['Lead']")
    values = {"Name": name, "DeveloperName": name.replace(" ", "_"), "Type": "Queue"}
    record = person(org, "Group", ({"Id": entry["id"]} if "id" in entry else {}) | values, where)
    for kind in objects:
        org.queue_objects.add((record.id18, kind))
        org.plain("QueueSobject", {"QueueId": record.id18, "SobjectType": kind})
    return record


def _record_type(org: Org, entry: Mapping[str, Any]) -> dict[str, Any]:
    """`{"object": "Lead", "name": "Inbound", "default": true, "active": true}`."""
    sobject = org.sobject(str(entry.get("object", "")))
    if sobject is None or "recordtypeid" not in sobject.fields:
        raise ValueError(f"record type {entry.get('name')!r}: object {entry.get('object')!r} has none")
    name = str(entry["name"])
    given = planting.given(org, str(entry["id"]), "012", "record type") if "id" in entry else None
    values = {"Name": name, "DeveloperName": name.replace(" ", "_"), "SobjectType": sobject.name}
    record = org.plain("RecordType", values | {"IsActive": entry.get("active", True)}, given)
    if entry.get("default"):
        org.record_types[sobject.name] = record.id18
    return {"id": record.id18, "name": name, "object": sobject.name}


def _assignment_rule(org: Org, rule: Mapping[str, Any]) -> dict[str, Any]:
    org.rule_owner = owner(org, str(rule["owner"])) if rule.get("active", True) else None
    for record in org.by_object["AssignmentRule"].values():
        record.values["Active"] = org.rule_owner is not None
    return {"id": org.rule_id, "owner": org.rule_owner}


def _validation_rule(org: Org, entry: Mapping[str, Any]) -> dict[str, Any]:
    """`{"object": "Lead", "name": "Phone_needed", "when": "Phone = null", "message": "…", "field": "Phone"}`.

    `when` is a SOQL condition on the record as it would be; where it holds, the write is refused.
    """
    sobject = org.sobject(str(entry.get("object", "Lead")))
    if sobject is None:
        raise ValueError(f"validation rule {entry.get('name')!r}: no object {entry.get('object')!r}")
    missing = {"name", "when", "message"} - set(entry)
    if missing:
        raise ValueError(f"validation rule {entry.get('name')!r}: needs {', '.join(sorted(missing))}")
    rule = ValidationRule(
        str(entry["name"]), sobject.name, selection.predicate(org, sobject, str(entry["when"])), str(entry["message"]),
        str(entry.get("field", "")), bool(entry.get("active", True)),
    )  # fmt: skip
    org.validation = [old for old in org.validation if (old.object, old.name) != (rule.object, rule.name)] + [rule]
    entities = org.by_object["EntityDefinition"].values()
    entity = next((row.id18 for row in entities if row.values["QualifiedApiName"] == sobject.name), None)
    for row in [row for row in org.by_object["ValidationRule"].values() if row.values["ValidationName"] == rule.name]:
        del org.by_object["ValidationRule"][row.id], org.records[row.id]
    values = {
        "ValidationName": rule.name, "Active": rule.active, "ErrorMessage": rule.message,
        "ErrorDisplayField": rule.field or None, "EntityDefinitionId": entity,
    }  # fmt: skip
    return {"id": org.plain("ValidationRule", values).id18, "name": rule.name}
