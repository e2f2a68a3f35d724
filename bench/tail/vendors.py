"""What the measurement must know of each CRM: who is there before, what a request costs, and how its evidence reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bench.tail.burst import Burst
from fairturn.assemble.demo.scenario import OWN

REPS: Final = ("Ada Novak", "Ben Carter", "Cleo Martin", "Dana Weiss")
COLLEAGUE: Final = "Nora Quist"  # a user who takes no turns
QUEUE: Final = "Leads without an owner"
OWNERS: Final = (*REPS, COLLEAGUE, None)  # of those who are there, in turn; None: a queue, or nobody
TOKEN: Final = "pat-na1-bench"  # noqa: S105  of a simulator that lives for one run
SECRET: Final = "bench"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Vendor:
    name: str
    label: str
    people: str  # the simulator's name of the object that leads are
    email: str
    fields: Mapping[str, str]  # of the burst -> the CRM's
    control: str  # where the simulator says that its control endpoints are
    org: str
    most: int  # records of one request
    seed: Callable[[Burst], dict[str, Any]]
    locks: str


def address(name: str) -> str:
    return f"{name.split(maxsplit=1)[0].lower()}@{OWN}"


def salesforce_seed(plan: Burst) -> dict[str, Any]:
    return {
        "users": [
            {"name": name, "email": f"{address(name)}.invalid", "username": address(name)}
            for name in (*REPS, COLLEAGUE)
        ],
        "queues": [{"name": QUEUE}],
        "accounts": [{"Name": one.name, "Fairturn_Key__c": one.domain} for one in plan.companies],
        "leads": [
            {
                "FirstName": who.first,
                "LastName": who.last,
                "Email": who.email,
                "Company": who.company.name or "Private",
                "Status": "Working - Contacted" if owner else "Open - Not Contacted",
                "Owner": owner or QUEUE,
                **({"Account__r": {"Fairturn_Key__c": who.company.domain}} if who.company.name else {}),
            }
            for who, owner in known(plan)
        ],
    }


def hubspot_seed(plan: Burst) -> dict[str, Any]:
    return {
        "owners": [{"name": name, "email": address(name)} for name in (*REPS, COLLEAGUE)],
        "properties": [
            {"object": "contacts", "name": "fairturn_id", "label": "Fairturn key", "hasUniqueValue": True},
        ],
        "companies": [{"name": one.name, "domain": one.domain} for one in plan.companies],
        "contacts": [
            {"firstname": who.first, "lastname": who.last, "email": who.email, "owner": owner}
            for who, owner in known(plan)
        ],
    }


def known(plan: Burst) -> list[tuple[Any, str | None]]:
    """(person, owner's name) of those who are there."""
    return [(plan.people[number], OWNERS[place % len(OWNERS)]) for place, number in enumerate(sorted(plan.there))]


SALESFORCE: Final = Vendor(
    name="salesforce",
    label="Salesforce",
    people="Lead",
    email="Email",
    fields={"message": "Description", "title": "Title", "score": "Score__c"},
    control="control",
    org="org",
    most=200,
    seed=salesforce_seed,
    locks="A Lead is written with its company by a lookup of the org's own, which locks the account until the commit, "
    "as a Contact does; whoever waits longer than 10 s for it is refused (UNABLE_TO_LOCK_ROW).",
)
HUBSPOT: Final = Vendor(
    name="hubspot",
    label="HubSpot",
    people="contacts",
    email="email",
    fields={"message": "message", "title": "jobtitle", "score": "score"},
    control="hubspot_control",
    org="portal",
    most=100,
    seed=hubspot_seed,
    locks="HubSpot locks nothing; it takes 5 searches a second and 190 calls in ten, and answers 429 to more.",
)
VENDORS: Final = {one.name: one for one in (SALESFORCE, HUBSPOT)}
