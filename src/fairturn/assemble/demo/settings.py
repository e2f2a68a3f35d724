"""The settings that the demo runs on: the file that a newcomer reads next, so it explains itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fairturn.assemble.demo.scenario import OWN, RIVAL, Company
from fairturn.decide.record_ids import long_form

DESTINATION: Final = "salesforce"
SOURCES: Final = ("website", "enrichment", "scoring")


@dataclass(frozen=True, slots=True)
class DemoRep:
    id: str
    name: str
    pool: str
    weight: int
    user: str  # of the simulated org, 15 characters


def _reps() -> tuple[DemoRep, ...]:
    people = (
        ("ada", "Ada Novak", "enterprise", 2), ("ben", "Ben Carter", "enterprise", 1),
        ("cleo", "Cleo Martin", "enterprise", 1),
        ("dana", "Dana Weiss", "emea", 3), ("emil", "Emil Larsson", "emea", 2), ("fay", "Fay Dupont", "emea", 2),
        ("gus", "Gus Romero", "americas", 4), ("hana", "Hana Lopez", "americas", 3),
        ("ivan", "Ivan Costa", "americas", 3), ("june", "June Parker", "americas", 1),
    )  # fmt: skip
    return tuple(DemoRep(*person, user=f"005de0000000{n:03}") for n, person in enumerate(people, 1))


REPS: Final = _reps()
POOLS: Final[Mapping[str, str]] = {
    "enterprise": "Enterprise, worldwide",
    "emea": "Europe, Middle East, Africa",
    "americas": "Americas and the rest",
}
STICKY: Final = {
    "enterprise": 'account_sticky = "30d"                # people of one company go to one rep, who pays a turn for it'
}
ROTATES: Final = "account_sticky = 0                    # every lead takes a turn, whoever has its company"
QUEUE: Final = "00Gde0000000001"
LOOKUP: Final = "Account__r.Fairturn_Key__c"


def org_seed(companies: tuple[Company, ...]) -> dict[str, object]:
    """What the simulated org holds before the burst. It is not empty: accounts are there, and people in them."""
    return {
        "users": [
            {"id": rep.user, "name": rep.name, "email": f"{rep.id}@{OWN}"} for rep in REPS
        ],
        "queues": [{"id": QUEUE, "name": "Leads without an owner"}],
        "accounts": [
            {"Name": company.name, "Fairturn_Key__c": company.domain, "NumberOfEmployees": company.employees}
            for company in companies
        ],
        "contacts": [
            {"LastName": "Customer", "Email": f"customer@{company.domain}",
             "Account": {"Fairturn_Key__c": company.domain}}
            for company in companies[:40]
        ],
    }  # fmt: skip


def render(folder: Path, *, crm_url: str, org: str, port: int) -> str:
    """The text of fairturn.toml. Secrets lie beside it, in files of their own: website.secret and so on."""
    reps = "\n".join(
        f'[reps.{rep.id}]\nname = "{rep.name}"\nids = {{ {DESTINATION} = "{long_form(rep.user)}" }}\n' for rep in REPS
    )
    pools = "\n".join(
        f'[pools.{pool}]\nname = "{name}"\nmembers = {{ {_members(pool)} }}\n'
        f'hold_owner = {{ {DESTINATION} = "{long_form(QUEUE)}" }}\n{STICKY.get(pool, ROTATES)}\n'
        for pool, name in POOLS.items()
    )
    return TEXT.format(
        folder=folder, crm_url=crm_url, org=org, port=port, reps=reps, pools=pools,
        own=OWN, rival=RIVAL, destination=DESTINATION, lookup=LOOKUP,
    )  # fmt: skip


def _members(pool: str) -> str:
    return ", ".join(f"{rep.id} = {rep.weight}" for rep in REPS if rep.pool == pool)


TEXT: Final = """\
# The settings of `fairturn demo`. A real file looks just like this one, with your sources, people and CRM.
# `fairturn check --config` this file tells what is wrong with a change; `fairturn init` writes one for you.

data = "{folder}/data"                # Fairturn's own PostgreSQL; database_url would name one of yours

[organisation]
name = "Acme Software"
own_domains = ["{own}"]       # colleagues who try out the form
competitors = ["{rival}"]

[server]
host = "127.0.0.1"
port = {port}

# --- Sources: three systems tell something about a lead -----------------------------------------------------
# Each has an address of its own, POST /in/website and so on, and proves who it is. Secrets lie in files or in the
# environment, never here.

[sources.website]                     # the form on the site: it starts leads
format = "form"
dedupe = "submission_id"              # a submission that is delivered twice is one event
map.email = "fields.email"
map.first_name = "fields.first_name"
map.last_name = "fields.last_name"
map.company = "fields.company"
map.employees = "fields.company_size"
map.phone = "fields.phone"
map.country = "fields.country"
map.message = "fields.message"
map.campaign = "utm.campaign"
constants = {{ lead_source = "Web" }}

[sources.website.verify]
type = "hmac"                         # the sender signs each body with the secret
header = "X-Signature"
format = "prefix"
prefix = "sha256="
secrets = ["file:{folder}/website.secret"]

[sources.enrichment]                  # adds to a lead, and starts none: what comes before the form waits for it
starts = false
verify = {{ type = "shared_secret", name = "X-Fairturn-Secret", secrets = ["file:{folder}/enrichment.secret"] }}
dedupe = "id"
map.email = "person.email"
map.title = "person.job_title"
map.employees = "company.employees"

[sources.scoring]
starts = false
verify = {{ type = "shared_secret", where = "bearer", secrets = ["file:{folder}/scoring.secret"] }}
dedupe = "event"
map.email = "email"
map.score = "score"

# --- Reps, and the pools in which they take turns -----------------------------------------------------------
# The number is a weight: whoever has 2 gets two leads for every one of a colleague with 1. While nobody can take a
# lead, it is held, and the CRM shows it under hold_owner.

{reps}
{pools}
# --- Rules: the first that matches decides ------------------------------------------------------------------

[[rules]]
id = "junk"                           # colleagues, competitors, test@example.com, ten-minute mailboxes: no turn is used
when = 'lead.domain_kind != "other" || lead.email_kind == "disposable"'
ignore = true

[[rules]]
id = "large-companies"
when = 'lead.employees >= 500'
pool = "enterprise"

[[rules]]
id = "europe"
when = 'lead.country in ["DE", "AT", "CH", "FR", "ES", "GB"]'
pool = "emea"

[[rules]]
id = "everyone-else"
when = "true"
pool = "americas"

# --- The CRM: a simulated Salesforce on this machine --------------------------------------------------------
# Changes wait 2 s for company, then everything pending leaves in one request; never two requests at once that
# touch one account.

[destinations.{destination}]
type = "salesforce"
url = "{crm_url}"
org = "{org}"             # refuses to write to any other
client_id = "file:{folder}/crm.id"
client_secret = "file:{folder}/crm.secret"
allow_private = true                  # the simulator is on this machine; leave it out for a real org
external_id = "Fairturn_Id__c"        # by it a retry finds the record that the first try made
account_lookup = "{lookup}"   # a lookup of this org's own: a plain Lead knows no account

[destinations.{destination}.map]
FirstName = "first_name"
LastName = {{ field = "last_name", default = "Unknown" }}
Company = {{ field = "company", default = "Unknown" }}
Email = "email"
Phone = "phone"
Title = "title"
Country = "country"
NumberOfEmployees = "employees"
LeadSource = "lead_source"
Description = "message"
Score__c = "score"
"""
