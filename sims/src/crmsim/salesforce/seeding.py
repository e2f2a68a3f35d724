"""What the org holds before a run: users, queues, accounts, leads, extra fields. Ids are deterministic, or given."""

from collections.abc import Mapping
from typing import Any

from crmsim.clock import stamp
from crmsim.salesforce import ids, schema
from crmsim.salesforce.org import Author, Org, Record

SECTIONS = ("fields", "users", "queues", "accounts", "leads", "contacts", "assignment_rule")


def found(org: Org) -> str:
    """A bare org: its Organization row, the integration's user, a queue for the assignment rule. The user's id."""
    seed(org, {"organization": {"Name": "Simulated Org"}})
    [user] = seed(org, {"users": [{"name": "Integration User", "email": "integration@crmsim.test"}]})["users"]
    seed(org, {"queues": [{"name": "Assignment Rule Queue"}], "assignment_rule": {"owner": "Assignment Rule Queue"}})
    return str(user["id"])


def seed(org: Org, document: Mapping[str, Any]) -> dict[str, Any]:
    """Add to the org; answers with the ids by section. Raises ValueError that names the entry."""
    unknown = set(document) - {*SECTIONS, "organization"}
    if unknown:
        raise ValueError(f"unknown sections {sorted(unknown)}; a seed has {', '.join(SECTIONS)}")
    for entry in document.get("fields", ()):
        sobject = org.sobject(str(entry.get("object", "")))
        if sobject is None:
            raise ValueError(f"field {entry.get('name')!r}: no object {entry.get('object')!r}")
        sobject.add(schema.custom_field(entry), locks=bool(entry.get("locks")))
    out: dict[str, Any] = {}
    if "organization" in document:
        _add(org, "Organization", {"IsSandbox": True, **document["organization"]}, "organization")
    for name, section, make in (("User", "users", _user), ("Group", "queues", _queue)):
        entries = document.get(section, ())
        rows = [_add(org, name, make(entry), f"{section}[{n}]") for n, entry in enumerate(entries)]
        out[section] = [{"id": row.id18, "name": row.values["Name"], "email": row.values.get("Email")} for row in rows]
    for section, name in (("accounts", "Account"), ("leads", "Lead"), ("contacts", "Contact")):
        entries = document.get(section, ())
        rows = [_add(org, name, entry, f"{section}[{n}]") for n, entry in enumerate(entries)]
        out[section] = [row.id18 for row in rows]
    rule = document.get("assignment_rule")
    if rule is not None:
        org.rule_owner = owner(org, str(rule["owner"])) if rule.get("active", True) else None
        out["assignment_rule"] = {"id": org.rule_id, "owner": org.rule_owner}
    return out


def _user(entry: Mapping[str, Any]) -> dict[str, Any]:
    email = entry.get("email")
    given = {"Id": entry["id"]} if "id" in entry else {}
    return given | {"Name": entry["name"], "Email": email, "Username": email, "IsActive": entry.get("active", True)}


def _queue(entry: Mapping[str, Any]) -> dict[str, Any]:
    given = {"Id": entry["id"]} if "id" in entry else {}
    return given | {"Name": entry["name"], "DeveloperName": entry["name"].replace(" ", "_"), "Type": "Queue"}


def _add(org: Org, name: str, entry: Mapping[str, Any], where: str) -> Record:
    """One record as it stands: seeds may hold what the API would refuse, as real orgs do."""
    sobject, values, given = org.objects[name.lower()], {}, None
    for key, value in entry.items():
        relation = sobject.relationships.get(key.lower())
        item = sobject.fields.get(key.lower())
        if key.lower() == "id":
            given = _given(org, str(value), sobject.prefix, where)
        elif key == "Owner":
            values["OwnerId"] = owner(org, str(value))
        elif relation is not None and isinstance(value, dict):
            values[relation.name] = _parent(org, relation, value, where)
        elif item is None:
            raise ValueError(f"{where}: {name} has no field {key}; add it under fields")
        else:
            id15 = ids.to15(value) if item.kind == "reference" and isinstance(value, str) else None
            values[item.name] = ids.to18(id15) if id15 else value
    if "ownerid" in sobject.fields and "OwnerId" not in values:
        values["OwnerId"] = org.live("User")[0].id18
    change = org.insert(sobject, values, Author("seed", "seed", None, stamp()), given)
    org.log(change)
    return change.record


def _given(org: Org, text: str, prefix: str, where: str) -> str:
    id15 = ids.to15(text)
    if id15 is None or not id15.startswith(prefix):
        raise ValueError(
            f"{where}: {text!r} is no id of this object; it has 15 or 18 characters and begins with {prefix}"
        )
    if id15 in org.records:
        raise ValueError(f"{where}: id {text} exists already")
    return id15


def _parent(org: Org, relation: schema.Field, value: Mapping[str, Any], where: str) -> str:
    parent = org.objects[relation.targets[0].lower()]
    [(name, key)] = value.items()
    field = parent.fields.get(name.lower())
    matches = org.match(parent, field, key) if field else []
    if len(matches) != 1:
        raise ValueError(f"{where}: {len(matches)} records of {parent.name} with {name} = {key!r}")
    return matches[0].id18


def owner(org: Org, text: str) -> str:
    """A user or queue by id, e-mail or name, as an 18-character id. Raises ValueError."""
    record = org.get(text)
    if record is not None and record.sobject.name in ("User", "Group"):
        return record.id18
    for row in (*org.live("User"), *org.live("Group")):
        if text.casefold() in (str(row.values.get("Email")).casefold(), str(row.values.get("Name")).casefold()):
            return row.id18
    raise ValueError(f"no user or queue with id, e-mail or name {text!r}")


def user_or_words(org: Org, text: str) -> str:
    """Who did it: a known user's id, or the words as they are."""
    try:
        return owner(org, text)
    except ValueError:
        return text
