"""People whom the org knows already, by the hundred, and what each of them is: for tests of an org that is not empty.

`{"count": 300, "owned": 100, "queue": 50, "inactive": 50, "converted": 50, "contacts": 50, "domain": "there.test",
"seed": 7}`. `count` beyond the kinds is filled with `owned`. Which e-mail is what is shuffled by `seed`.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from crmsim.clock import datetime_text, stamp
from crmsim.crowd import FIRST, LAST, crowd
from crmsim.salesforce.objects import STATUSES
from crmsim.salesforce.org import Org, Record
from crmsim.salesforce.planting import convert, owner, person

KINDS = {
    "owned": "an open Lead of an active user",
    "queue": "an open Lead in a queue",
    "inactive": "an open Lead of a user who has left",
    "recycled": "a Lead of an active user in the status Recycled",
    "several": "two open Leads with one e-mail, of two active users",
    "converted": "a converted Lead with its Contact and Account",
    "contacts": "a Contact under an Account",
}
OTHERS = ("count", "domain", "seed", "owners", "inactive_owners", "queue_name", "companies", "days", "upper")


@dataclass(frozen=True, slots=True)
class _Owners:
    active: list[str]
    inactive: list[str]
    queue: str


def gather(org: Org, wish: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One entry for each e-mail: kind, ids by object, owner. Raises ValueError for a wish that cannot be met."""
    found = crowd(wish, KINDS, OTHERS)
    owners = _owners(org, wish, found.numbers)
    return [_one(org, wish, found.dice, owners, kind, n) for n, kind in enumerate(found.kinds)]


def _owners(org: Org, wish: Mapping[str, Any], numbers: Mapping[str, int]) -> _Owners:
    """Those named, else the users that the org has besides the integration's; a leaver or a queue is made if needed."""
    users = org.live("User")[1:]
    active = [owner(org, name) for name in wish.get("owners", ())]
    active = active or [user.id18 for user in users if user.values["IsActive"]]
    gone = [owner(org, name) for name in wish.get("inactive_owners", ())]
    gone = gone or [user.id18 for user in users if not user.values["IsActive"]]
    if not active:
        raise ValueError("people: seed active users first, or name their owners")
    if not gone and numbers["inactive"]:
        left = {"Name": "Former Rep", "Email": "former.rep@crmsim.test", "IsActive": False}
        gone = [person(org, "User", left | {"Username": left["Email"]}).id18]
    queue = ""
    if numbers["queue"]:
        name = str(wish.get("queue_name", "Unworked Leads"))
        found = [row for row in org.live("Group") if row.values["Name"] == name]
        values = {"Name": name, "DeveloperName": name.replace(" ", "_"), "Type": "Queue"}
        queue = found[0].id18 if found else person(org, "Group", values).id18
        org.queue_objects.add((queue, "Lead"))
    return _Owners(active, gone, queue)


def _one(
    org: Org, wish: Mapping[str, Any], dice: random.Random, owners: _Owners, kind: str, number: int
) -> dict[str, Any]:
    email = f"known{number:04}@{wish.get('domain', 'there.test')}"
    company = f"There {dice.randrange(int(wish.get('companies', 40))):03}"
    created = datetime_text(
        stamp().wall - timedelta(days=dice.uniform(1, float(wish.get("days", 400)))).total_seconds()
    )
    values = {
        "FirstName": dice.choice(FIRST), "LastName": dice.choice(LAST), "CreatedDate": created,
        "Email": email.upper() if wish.get("upper") else email,
    }  # fmt: skip
    holder = {"queue": owners.queue, "inactive": dice.choice(owners.inactive or [""])}.get(kind)
    holder = holder or dice.choice(owners.active)
    if kind == "contacts":
        account = next((row for row in org.live("Account") if row.values["Name"] == company), None)
        account = account or person(org, "Account", {"Name": company, "OwnerId": holder})
        contact = person(org, "Contact", values | {"AccountId": account.id18, "OwnerId": holder})
        return _entry(email, kind, holder, contact=contact, account=account)
    status = STATUSES[-1] if kind == "recycled" else dice.choice(STATUSES[:2])
    lead = person(org, "Lead", values | {"Company": company, "Status": status, "OwnerId": holder})
    if kind == "converted":
        contact = convert(org, lead)
        return _entry(email, kind, holder, lead=lead, contact=contact)
    if kind == "several":
        other = dice.choice([one for one in owners.active if one != holder] or [holder])
        second = person(org, "Lead", values | {"Company": company, "Status": status, "OwnerId": other})
        return _entry(email, kind, holder, lead=lead, second=second)
    return _entry(email, kind, holder, lead=lead)


def _entry(email: str, kind: str, holder: str, **records: Record) -> dict[str, Any]:
    return {"email": email, "kind": kind, "owner": holder} | {name: record.id18 for name, record in records.items()}
