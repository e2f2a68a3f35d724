"""People whom the account knows already, by the hundred, and what each of them is.

`{"count": 300, "owned": 100, "unowned": 50, "inactive": 50, "customers": 50, "secondary": 50, "domain": "there.test",
"seed": 7}`. `count` beyond the kinds is filled with `owned`. Which e-mail is what is shuffled by `seed`.
"""

import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from crmsim.clock import stamp
from crmsim.crowd import FIRST, LAST, crowd
from crmsim.hubspot.planting import named_owner, owner, record
from crmsim.hubspot.portal import Portal

KINDS = {
    "owned": "a contact of an active owner",
    "unowned": "a contact of nobody",
    "inactive": "a contact of an archived owner",
    "recycled": "a contact of an active owner, lead status UNQUALIFIED",
    "customers": "a contact of an active owner, lifecycle stage customer",
    "secondary": "a contact of an active owner, known by another e-mail; this one is an additional one",
    "companied": "a contact of an active owner, associated with a company",
}
OTHERS = ("count", "domain", "seed", "owners", "inactive_owners", "companies", "days")


def gather(portal: Portal, wish: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One entry for each e-mail: kind, owner's id (or null), contact's id. Raises ValueError."""
    found = crowd(wish, KINDS, OTHERS)
    owners = _owners(portal, wish, found.numbers)
    return [_one(portal, wish, found.dice, owners, (kind, n)) for n, kind in enumerate(found.kinds)]


def _owners(portal: Portal, wish: Mapping[str, Any], numbers: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """Those named, else those that the account has; somebody who left is made if needed."""
    active = [named_owner(portal, str(name)) for name in wish.get("owners", ())]
    active = active or [item.id for item in portal.owners.values() if not item.archived]
    gone = [named_owner(portal, str(name)) for name in wish.get("inactive_owners", ())]
    gone = gone or [item.id for item in portal.owners.values() if item.archived]
    if not active and sum(numbers.values()) > numbers["unowned"] + numbers["inactive"]:
        raise ValueError("people: seed active owners first, or name their owners")
    if not gone and numbers["inactive"]:
        gone = [owner(portal, {"email": "former.rep@crmsim.test", "name": "Former Rep", "archived": True}).id]
    return active, gone


def _one(
    portal: Portal,
    wish: Mapping[str, Any],
    dice: random.Random,
    owners: tuple[list[str], list[str]],
    place: tuple[str, int],
) -> dict[str, Any]:
    (active, gone), (kind, number) = owners, place
    email = f"known{number:04}@{wish.get('domain', 'there.test')}"
    age = timedelta(days=dice.uniform(1, float(wish.get("days", 400)))).total_seconds()
    holder = {"unowned": None, "inactive": dice.choice(gone or [""])}.get(kind, dice.choice(active or [""]) or None)
    entry: dict[str, Any] = {
        "firstname": dice.choice(FIRST),
        "lastname": dice.choice(LAST),
        "created": datetime.fromtimestamp(stamp().wall - age, UTC).isoformat(),
        "owner": holder,
        "email": email,
        "hs_lead_status": "UNQUALIFIED" if kind == "recycled" else dice.choice(("NEW", "OPEN", "IN_PROGRESS")),
        "lifecyclestage": "customer" if kind == "customers" else dice.choice(("lead", "marketingqualifiedlead")),
    }
    if kind == "secondary":
        entry |= {"email": f"first.{email}", "additional_emails": [email]}
    if kind == "companied":
        entry["company"] = _company(portal, dice.randrange(int(wish.get("companies", 40))))
    made = record(portal, "contacts", entry, f"people[{number}]")
    return {"email": email, "kind": kind, "owner": holder, "contact": made.id} | (
        {"company": made.values["associatedcompanyid"]} if kind == "companied" else {}
    )


def _company(portal: Portal, number: int) -> str:
    domain = f"there{number:03}.test"
    known = next((item for item in portal.live("companies") if item.values.get("domain") == domain), None)
    return (known or record(portal, "companies", {"name": f"There {number:03}", "domain": domain})).id
