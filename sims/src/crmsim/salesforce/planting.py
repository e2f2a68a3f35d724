"""Records put into the org as they stand: seeds may hold what the API would refuse, as real orgs do."""

from collections.abc import Mapping
from typing import Any

from crmsim.clock import datetime_text, stamp
from crmsim.salesforce import ids, schema
from crmsim.salesforce.org import Author, Org, Record


def person(org: Org, name: str, entry: Mapping[str, Any], where: str = "entry") -> Record:
    """A record of a seed. `"converted": true` makes a Lead's Contact and Account too; `"deleted": true` bins it."""
    plain = {key: value for key, value in entry.items() if key not in ("converted", "deleted")}
    record = _add(org, name, plain, where)
    if entry.get("converted"):
        convert(org, record)
    if entry.get("deleted"):
        org.log(org.update(record, {"IsDeleted": True}, _sower()))
    return record


def convert(org: Org, lead: Record) -> Record:
    """What convertLead does: the Lead's Contact, under the Account of its company, both its owner's."""
    values, account = lead.values, None
    company = str(values.get("Company"))
    account = next((row for row in org.live("Account") if row.values["Name"] == company), None)
    heir = values["OwnerId"] if str(values["OwnerId"]).startswith("005") else org.live("User")[0].id18
    if account is None:
        account = _add(org, "Account", {"Name": company, "OwnerId": heir}, "converted")
    own = {name: values[name] for name in ("FirstName", "LastName", "Email", "Phone", "Title") if values.get(name)}
    contact = _add(org, "Contact", own | {"AccountId": account.id18, "OwnerId": heir}, "converted")
    end = {
        "IsConverted": True, "Status": "Closed - Converted", "ConvertedAccountId": account.id18,
        "ConvertedContactId": contact.id18, "ConvertedDate": datetime_text(_sower().stamp.wall)[:10],
    }  # fmt: skip
    org.log(org.update(lead, end, _sower()))
    return contact


def _sower() -> Author:
    return Author("seed", "seed", None, stamp())


def _add(org: Org, name: str, entry: Mapping[str, Any], where: str) -> Record:
    """One record as it stands: seeds may hold what the API would refuse, as real orgs do."""
    sobject, values, own_id = org.objects[name.lower()], {}, None
    for key, value in entry.items():
        relation = sobject.relationships.get(key.lower())
        item = sobject.fields.get(key.lower())
        if key.lower() == "id":
            own_id = given(org, str(value), sobject.prefix, where)
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
    change = org.insert(sobject, values, _sower(), own_id)
    org.log(change)
    return change.record


def given(org: Org, text: str, prefix: str, where: str) -> str:
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
