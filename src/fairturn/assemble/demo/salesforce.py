"""The demo's Salesforce: who is there before the burst, and the part of the settings that is about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fairturn.assemble.demo.crm import Crm, Held, number
from fairturn.assemble.demo.scenario import Company
from fairturn.assemble.demo.staff import COLLEAGUES, LEFT, QUEUE, REPS, address
from fairturn.assemble.demo.there import Known

LOOKUP: Final = "Account__r.Fairturn_Key__c"
CUSTOMERS: Final = 40  # companies with a Contact who sends nothing
WORKED, OPEN = "Working - Contacted", "Open - Not Contacted"


def seed(companies: Sequence[Company], there: Sequence[Known]) -> dict[str, object]:
    """The org is a sandbox, so its users' addresses end in .invalid."""
    staff = [(rep.name, rep.email) for rep in REPS] + [(name, address(name)) for name in COLLEAGUES]
    contacts: list[dict[str, object]] = [
        {"LastName": "Customer", "Email": f"customer@{company.domain}", "Account": {"Fairturn_Key__c": company.domain}}
        for company in companies[:CUSTOMERS]
    ]
    return {
        "users": [
            *({"name": name, "email": f"{email}.invalid", "username": email} for name, email in staff),
            {"name": LEFT, "email": f"{address(LEFT)}.invalid", "active": False},
        ],
        "queues": [{"name": QUEUE}],
        "accounts": [
            {"Name": company.name, "Fairturn_Key__c": company.domain, "NumberOfEmployees": company.employees}
            for company in companies
        ],
        "leads": [_lead(one) for one in there if one.kind != "customer"],
        "contacts": [*contacts, *(_contact(one) for one in there if one.kind == "customer")],
    }


def _person(one: Known) -> dict[str, object]:
    found: dict[str, object] = {"FirstName": one.who.first, "LastName": one.who.last, "Email": one.who.email}
    return found if one.title is None else {**found, "Title": one.title}


def _lead(one: Known) -> dict[str, object]:
    own = {
        "Company": one.who.company.name or "Private",
        "Status": OPEN if one.kind in ("free", "left") else WORKED,
        "Owner": one.owner or QUEUE,
    }
    return _person(one) | own | ({"converted": True} if one.kind == "elsewhere" else {})


def _contact(one: Known) -> dict[str, object]:
    return _person(one) | {"Account": {"Fairturn_Key__c": one.who.company.domain}, "Owner": one.owner}


def held(row: Mapping[str, Any]) -> Held | None:
    if row["_deleted"]:
        return None
    emails = (str(row.get("Email")).casefold(),)
    return Held(row["Id"], emails, row.get("Title"), number(row.get("Score__c")), row.get("OwnerId"))


def settings(folder: Path, url: str, org: str) -> str:
    return TEXT.format(folder=folder, url=url, org=org, lookup=LOOKUP)


TEXT: Final = """\
# --- The CRM: a simulated Salesforce on this machine --------------------------------------------------------
# Whoever writes for the first time is asked about: is the person there already, as a Lead or a Contact? An active
# owner keeps them; what lies in a queue or belongs to somebody who has left is given to a rep.
# Changes wait 2 s for company, then everything pending leaves in one request; never two requests at once that
# touch one account.

[destinations.salesforce]
type = "salesforce"
url = "{url}"
org = "{org}"             # refuses to write to any other
sandbox = true                        # and to one that is none
client_id = "file:{folder}/crm.id"
client_secret = "file:{folder}/crm.secret"
allow_private = true                  # the simulator is on this machine; leave it out for a real org
external_id = "Fairturn_Id__c"        # by it a retry finds the record that the first try made
account_lookup = "{lookup}"   # a lookup of this org's own: a plain Lead knows no account
recycle_statuses = ["Recycled"]       # a record with this status is free, whoever owns it
lookup_linger = "1.75s"               # from question to question; more is fewer calls, and a longer wait for the first

# Field of the Lead = lead field. On a record that is there already, a field is written where it is empty, or still
# as we wrote it. `mode` says otherwise.
[destinations.salesforce.map]
FirstName = "first_name"
LastName = {{ field = "last_name", default = "Unknown" }}
Company = {{ field = "company", default = "Unknown" }}
Email = "email"
Phone = "phone"
Title = "title"                       # what a person has typed there stands
Country = "country"
NumberOfEmployees = "employees"
LeadSource = {{ field = "lead_source", mode = "create_only" }}
Description = "message"
Score__c = {{ field = "score", mode = "always" }}
Status = {{ value = "Open - Not Contacted", mode = "forward", order = ["Recycled", "Open - Not Contacted"] }}
# What the assignment was, for reports and flows:
Fairturn_Rule__c = {{ assignment = "rule" }}
Fairturn_Pool__c = {{ assignment = "pool" }}
Fairturn_Reason__c = {{ assignment = "reason" }}
Fairturn_Assigned_At__c = {{ assignment = "assigned_at" }}

# The same for people who are Contacts. Without it, Contacts get of the map what both objects have.
[destinations.salesforce.contact_map]
FirstName = "first_name"
LastName = "last_name"
Email = "email"
Phone = "phone"
Title = "title"
Score__c = {{ field = "score", mode = "always" }}
Fairturn_Rule__c = {{ assignment = "rule" }}
Fairturn_Reason__c = {{ assignment = "reason" }}
"""

SALESFORCE: Final = Crm(
    name="salesforce",
    label="Salesforce",
    objects=("Lead", "Contact"),
    org="org",
    locks=(
        "Each Lead is written with its company through a lookup of this org's own (Lead.Account__c), which locks the "
        "account meanwhile; a plain Lead locks none."
    ),
    kinds={
        "rep": "Leads of a rep", "colleague": "of a colleague who takes no turns", "free": "in a queue",
        "left": "of somebody who has left", "elsewhere": "converted", "customer": "as a Contact",
    },
    texts={"crm.id": "crmsim-client"},
    secrets={"crm.secret": "CRMSIM_CLIENT_SECRET"},
    option="--",
    controls="control",
    held=held,
    seed=seed,
    queue=QUEUE,
    settings=settings,
)  # fmt: skip
