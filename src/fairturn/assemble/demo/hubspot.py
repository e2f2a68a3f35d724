"""The demo's HubSpot: who is there before the burst, and the part of the settings that is about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fairturn.assemble.demo.crm import Crm, Held, number
from fairturn.assemble.demo.scenario import Company
from fairturn.assemble.demo.staff import COLLEAGUES, LEFT, REPS, address
from fairturn.assemble.demo.there import Known

ASSIGNMENT: Final = ("rule", "pool", "reason", "assigned_at")


def seed(companies: Sequence[Company], there: Sequence[Known]) -> dict[str, object]:
    """With the properties that `fairturn crm setup --hubspot --create` makes."""
    staff = [(rep.name, rep.email) for rep in REPS] + [(name, address(name)) for name in COLLEAGUES]
    return {
        "owners": [
            *({"name": name, "email": email} for name, email in staff),
            {"name": LEFT, "email": address(LEFT), "archived": True},
        ],
        "properties": [
            {"object": "contacts", "name": "fairturn_id", "label": "Fairturn key", "hasUniqueValue": True},
            *({"object": "contacts", "name": f"fairturn_{field}", "label": f"Fairturn {field}"} | _kind(field)
              for field in ASSIGNMENT),
        ],
        "companies": [{"name": company.name, "domain": company.domain} for company in companies],
        "contacts": [_contact(one) for one in there],
    }  # fmt: skip


def _kind(field: str) -> dict[str, str]:
    return {"type": "datetime", "fieldType": "date"} if field.endswith("_at") else {}


def _contact(one: Known) -> dict[str, object]:
    who = one.who
    found: dict[str, object] = {
        "firstname": who.first, "lastname": who.last, "email": who.email, "owner": one.owner,
        "hs_lead_status": "NEW" if one.kind in ("free", "left") else "IN_PROGRESS",
        "lifecyclestage": "customer" if one.kind == "customer" else "lead",
    }  # fmt: skip
    if one.kind == "elsewhere":
        found |= {"email": f"old-{who.email}", "additional_emails": [who.email]}
    if who.company.name:
        found["company"] = who.company.domain
    return found | ({} if one.title is None else {"jobtitle": one.title})


def held(row: Mapping[str, Any]) -> Held | None:
    if row["_archived"]:
        return None
    more = str(row.get("hs_additional_emails") or "").split(";")
    emails = tuple(email.casefold() for email in (str(row.get("email") or ""), *more) if email)
    return Held(row["id"], emails, row.get("jobtitle"), number(row.get("score")), row.get("hubspot_owner_id") or None)


def settings(folder: Path, url: str, org: str) -> str:
    return TEXT.format(folder=folder, url=url, org=org)


TEXT: Final = """\
# --- The CRM: a simulated HubSpot on this machine -----------------------------------------------------------
# Whoever writes for the first time is asked about: is there a contact with this address already? An active owner
# keeps it; what belongs to nobody or to somebody who has left is given to a rep.
# Changes wait 2 s for company, then everything pending leaves: new contacts in one request, known ones in another.

[destinations.hubspot]
type = "hubspot"
url = "{url}"       # leave it out for HubSpot itself
org = "{org}"                         # the Hub ID: refuses to write to any other account
token = "file:{folder}/crm.token"     # of a private app
allow_private = true                  # the simulator is on this machine; leave it out for a real account
external_id = "fairturn_id"           # a unique property: by it a retry finds what the first try made
recycle_statuses = ["UNQUALIFIED"]    # a contact with this lead status is free, whoever owns it
lookup_linger = "2.5s"                # from question to question; more is fewer calls, and a longer wait for the first

# Property of the contact = lead field. On a contact that is there already, a property is written where it is empty,
# or still as we wrote it. `mode` says otherwise.
[destinations.hubspot.map]
email = "email"
firstname = "first_name"
lastname = {{ field = "last_name", default = "Unknown" }}
company = "company"
phone = "phone"
jobtitle = "title"                    # what a person has typed there stands
country = "country"
message = {{ field = "message", mode = "create_only" }}
score = {{ field = "score", mode = "always" }}
hs_lead_status = {{ value = "NEW", mode = "create_only" }}
lifecyclestage = {{ value = "lead", mode = "forward" }}
# What the assignment was, for lists and workflows:
fairturn_rule = {{ assignment = "rule" }}
fairturn_pool = {{ assignment = "pool" }}
fairturn_reason = {{ assignment = "reason" }}
fairturn_assigned_at = {{ assignment = "assigned_at" }}
"""

HUBSPOT: Final = Crm(
    name="hubspot",
    label="HubSpot",
    objects=("contacts",),
    org="portal",
    locks="",
    kinds={
        "rep": "contacts of a rep", "colleague": "of a colleague who takes no turns", "free": "of nobody",
        "left": "of somebody who has left", "elsewhere": "under another address", "customer": "as a customer",
    },
    texts={},
    secrets={"crm.token": "CRMSIM_HUBSPOT_TOKEN"},
    option="--hubspot-",
    controls="hubspot_control",
    held=held,
    seed=seed,
    queue=None,
    settings=settings,
)  # fmt: skip
