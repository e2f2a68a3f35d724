"""The parts of a new user's settings that differ with the CRM: how reps are found, the destination and its map."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from fairturn.decide.record_ids import is_record_id, meant_as_id
from fairturn.decide.users import bare

Crm = Literal["console", "salesforce", "hubspot"]
Person = tuple[str, str, str | None]  # rep, name, address

CRMS: Final = {"salesforce": "Salesforce", "hubspot": "HubSpot"}
SALESFORCE_NAMES: Final = {
    "LastName": "last_name", "Company": "company", "FirstName": "first_name", "Email": "email", "Phone": "phone",
    "Title": "title", "Website": "website", "Street": "street", "City": "city", "State": "state",
    "PostalCode": "postal_code", "Country": "country", "NumberOfEmployees": "employees", "LeadSource": "lead_source",
    "Description": "message",
}  # fmt: skip
# Without `numemployees`: in HubSpot that is a list of ranges.
HUBSPOT_NAMES: Final = {
    "email": "email", "firstname": "first_name", "lastname": "last_name", "company": "company", "phone": "phone",
    "jobtitle": "title", "website": "website", "address": "street", "city": "city", "state": "state",
    "zip": "postal_code", "country": "country", "message": "message",
}  # fmt: skip
DEFAULTED: Final = frozenset({"LastName", "Company"})  # Salesforce refuses a Lead without them
LIMITS: Final = {"LastName": 80, "FirstName": 40, "Company": 255, "Title": 128, "Phone": 40}  # Salesforce's own


def rep_lines(reps: Sequence[Person], destination: Crm) -> Iterator[str]:
    """A CRM finds a rep by the address; where an export knows only the name, by that. Nobody is two reps."""
    if destination in CRMS:
        yield f"# {CRMS[destination]} finds them by their e-mail. Where it has another address for somebody, write that"
        yield f'# address, or the id that it has: ids = {{ {destination} = "..." }}'
    taken: set[str] = set()
    for rep, name, address in reps:
        yield from ("", f"[reps.{rep}]", f"name = {toml(name)}")
        known = bare(address or one_line(name)) or ""
        known = known[:15] if meant_as_id(known) else known
        if address and (destination not in CRMS or known not in taken):
            yield f"email = {toml(address)}"
        elif not address and destination in CRMS and known and known not in taken and may_name(name):
            yield f"ids = {{ {destination} = {toml(name)} }}"
        elif destination in CRMS:
            yield f'# email = "..."                     # as {CRMS[destination]} has it'
        taken.add(known)


def may_name(text: str) -> bool:
    """Not where an export's owner column holds the ids of queues, or of nobody."""
    return not meant_as_id(text) or (is_record_id(text) and text.startswith("005"))


def destination_part(destination: Crm) -> str:
    head = "\n" + ruler("Destinations: where leads are written") + "\n"
    if destination == "salesforce":
        return head + SALESFORCE.replace("{map}", mapping(SALESFORCE_NAMES))
    if destination == "hubspot":
        return head + HUBSPOT.replace("{map}", mapping(HUBSPOT_NAMES))
    return head + CONSOLE


def mapping(names: Mapping[str, str]) -> str:
    lines = []
    for target, field in names.items():
        extra = ', default = "Unknown"' if target in DEFAULTED else ""
        extra += f", max_length = {LIMITS[target]}" if target in LIMITS else ""
        lines.append(f"{target} = {{ field = {toml(field)}{extra} }}" if extra else f"{target} = {toml(field)}")
    return "\n".join(lines)


def competitors_part(destination: Crm) -> str:
    if destination == "console":
        return 'park = { crm = "Competitors" }      # written, under the name of a queue, and no rep\'s turn is used'
    if destination == "hubspot":
        return 'ignore = true                       # or park = { hubspot = "..." }, the address of a user'
    return 'ignore = true                       # or park = { salesforce = "Competitors" }, the name of a queue'


CONSOLE: Final = """\
# This one prints what it would write. For a CRM: fairturn init --destination salesforce, or hubspot

[destinations.crm]
type = "console"

[destinations.crm.map]
Email = "email"
FirstName = "first_name"
LastName = { field = "last_name", default = "Unknown" }
Company = { field = "company", default = "Unknown" }
Country = "country"
"""
SALESFORCE: Final = """\
# "shadow" does everything but send, and keeps what it would have sent. When it looks right, ask Salesforce whether it
# would take it, fairturn check --crm; then write mode = "live" and start again. `fairturn reconcile` compares.
#
# In Salesforce: the fields and the permission set of examples/salesforce, a user that may use the API alone, and an app
# with the client credentials flow.

[destinations.salesforce]
type = "salesforce"
mode = "shadow"
url = "https://acme.my.salesforce.com"              # your My Domain, from Setup
# org = "00D..."                                    # from Setup, Company Information: refuses to write to any other
client_id = "env:SALESFORCE_CLIENT_ID"
client_secret = "env:SALESFORCE_CLIENT_SECRET"
# People who are there already keep their owner, if that is an active user. These do not count as owners:
# parked_owners = ["Old Leads"]
# recycle_statuses = ["Recycled"]

# Field of the Lead = lead field. Salesforce refuses a Lead without LastName and Company, hence their defaults. On a
# record that is there already, a field is written where it is empty, or still as we wrote it.
[destinations.salesforce.map]
{map}
# Status = { value = "Open - Not Contacted", mode = "forward", order = ["Open - Not Contacted", "Working - Contacted"] }
#                                           # never backwards; values and steps as your org has them
# HasOptedOutOfEmail = { value = true, mode = "never_unset" }                                 # once true, always true
# Rating = { value = "Warm", mode = "create_only" }
# RecordTypeId = { record_type = "Inbound" }
#
# What the assignment was, for reports and flows; the fields are in examples/salesforce:
# Fairturn_Rule__c = { assignment = "rule" }
# Fairturn_Pool__c = { assignment = "pool" }
# Fairturn_Reason__c = { assignment = "reason" }
# Fairturn_Assignment_Id__c = { assignment = "id" }
# Fairturn_Received_At__c = { assignment = "received_at" }
# Fairturn_Assigned_At__c = { assignment = "assigned_at" }
"""
HUBSPOT: Final = """\
# "shadow" does everything but send, and keeps what it would have sent. When it looks right: `fairturn crm setup
# --hubspot` says which properties are missing, and the scopes; fairturn check --crm asks HubSpot whether it would take
# it; then write mode = "live" and start again. `fairturn reconcile` compares.

[destinations.hubspot]
type = "hubspot"
mode = "shadow"
# org = "12345678"                                  # the Hub ID: refuses to write to any other account
token = "env:HUBSPOT_TOKEN"                         # of a private app
# Contacts who are there already keep their owner, if that is an active user. These do not count as owners:
# parked_owners = ["old-leads@acme.com"]
# recycle_statuses = ["UNQUALIFIED"]

# Property of the contact = lead field. On a contact that is there already, a property is written where it is empty, or
# still as we wrote it.
[destinations.hubspot.map]
{map}
hs_lead_status = { value = "NEW", mode = "create_only" }
lifecyclestage = { value = "lead", mode = "forward" }
# hs_email_optout = { value = true, mode = "never_unset" }      # once true, always true
#
# What the assignment was, for lists and workflows; `fairturn crm setup --hubspot --create` makes the properties:
# fairturn_rule = { assignment = "rule" }
# fairturn_pool = { assignment = "pool" }
# fairturn_reason = { assignment = "reason" }
# fairturn_assignment_id = { assignment = "id" }
# fairturn_received_at = { assignment = "received_at" }
# fairturn_assigned_at = { assignment = "assigned_at" }
"""


def ruler(title: str) -> str:
    return f"# --- {title} ".ljust(118, "-")


def toml(text: str) -> str:
    """A TOML string; single quotes where that spares the escapes."""
    text = one_line(text)
    if '"' in text and "'" not in text and "\\" not in text:
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False)


def toml_list(texts: Sequence[str]) -> str:
    return f"[{', '.join(toml(text) for text in texts)}]"


def one_line(text: str) -> str:
    # What is not printable could end a comment or a string early.
    return "".join(sign if sign.isprintable() else " " for sign in text)
