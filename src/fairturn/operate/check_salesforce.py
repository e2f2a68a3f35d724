"""A Salesforce destination: how it is reached, and what Salesforce calls things."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from fairturn.config import Destination
from fairturn.decide.record_ids import is_record_id
from fairturn.errors import Fault
from fairturn.operate.addresses import url_problem
from fairturn.operate.loaded import Loaded

API_NAME: Final = r"[A-Za-z][A-Za-z0-9_]*"
LOOKUP: Final = re.compile(rf"(?:{API_NAME}__r|Account)\.{API_NAME}__c")  # one of your own, or the standard one
REQUIRED: Final = {"LastName": ("last_name", "Unknown"), "Company": ("company", "Unknown")}
OBJECTS: Final = ("Lead", "Contact", "Account")
# Standard fields of a Lead that a Contact calls otherwise; None: it has nothing of the kind (recorded describes).
ON_CONTACT: Final[dict[str, str | None]] = {
    **{name: f"Mailing{name}" for name in ("Street", "City", "State", "PostalCode", "Country", "StateCode")},
    "CountryCode": "MailingCountryCode",
    **dict.fromkeys(("Company", "Status", "Website", "Industry", "Rating", "NumberOfEmployees", "AnnualRevenue")),
}
ON_LEAD: Final = {other: name for name, other in ON_CONTACT.items() if other}


def judge(loaded: Loaded, key: str, destination: Destination) -> Iterator[Fault]:
    live = destination.mode == "live"
    for field, remedy in (
        ("url", 'Write your My Domain: url = "https://acme.my.salesforce.com"'),
        ("client_id", 'Write client_id = "env:SALESFORCE_CLIENT_ID", from the connected app'),
        ("client_secret", 'Write client_secret = "env:SALESFORCE_CLIENT_SECRET", from the connected app'),
    ):
        if getattr(destination, field) is None and live:
            yield loaded.fault(f"{key}.{field}", f"{field} is missing, so nobody can log in", remedy)
    if destination.url is not None:
        yield from judge_url(loaded, f"{key}.url", destination)
    if destination.org is None and live:
        remedy = 'Pin it: org = "00D...", from Setup, Company Information'
        yield loaded.warning(f"{key}.org", "no org is pinned, so a wrong login would write into another org", remedy)
    elif destination.org is not None and not (is_record_id(destination.org) and destination.org.startswith("00D")):
        remedy = "It begins with 00D and has 15 characters, or 18, of which the last three check the rest: copy it"
        yield loaded.fault(f"{key}.org", f'"{destination.org[:40]}" is no org id', remedy)
    for field in ("token", "refresh_token"):
        if getattr(destination, field) is not None:
            message = f"{field} is HubSpot's; Salesforce is reached with client_id and client_secret"
            yield loaded.fault(f"{key}.{field}", message, "Take it out")
    yield from judge_names(loaded, key, destination)
    yield from judge_targets(loaded, key, destination)
    yield from judge_required(loaded, key, destination)


def judge_url(loaded: Loaded, key: str, destination: Destination) -> Iterator[Fault]:
    url = destination.url or ""
    if problem := url_problem(url, allow_private=destination.allow_private):
        yield loaded.fault(key, *problem)
        return
    host = (urlsplit(url).hostname or "").lower()
    if host in {"login.salesforce.com", "test.salesforce.com"}:
        message = f"{host} refuses logins by client credentials"
        yield loaded.fault(key, message, 'Write your My Domain: "https://acme.my.salesforce.com"')
    elif host.endswith((".lightning.force.com", ".salesforce-setup.com")):
        name = host.split(".")[0]
        yield loaded.fault(key, f"{host} serves pages, not the API", f'Write "https://{name}.my.salesforce.com"')
    elif host.endswith(".sandbox.my.salesforce.com") and destination.sandbox is False:
        message = f"{host} is a sandbox, and sandbox = false says that it has to be production"
        yield loaded.fault(key, message, "Write production's My Domain, or sandbox = true")


def judge_names(loaded: Loaded, key: str, destination: Destination) -> Iterator[Fault]:
    if not re.fullmatch(r"\d{2}\.0", destination.api_version):
        remedy = f'Write it as "{destination.api_version.strip("vV")[:2]}.0"'
        yield loaded.fault(f"{key}.api_version", f'"{destination.api_version}" is no version of the API', remedy)
    if destination.object not in OBJECTS:
        remedy = 'Write "Lead"; "Contact" or "Account" where you mean those'
        yield loaded.fault(f"{key}.object", f"{destination.object} is nothing that leads are written as", remedy)
    for field in ("object", "external_id"):
        name = getattr(destination, field)
        if not re.fullmatch(API_NAME, name):
            yield loaded.fault(f"{key}.{field}", f'"{name}" is no API name', "Copy it from Setup, Object Manager")
    if not destination.external_id.endswith("__c"):
        message = f"{destination.external_id} is no field of your own"
        remedy = 'Make a text field on the object, unique and external id, and name it: "Fairturn_Id__c"'
        yield loaded.fault(f"{key}.external_id", message, remedy)
    lookup = destination.account_lookup
    if lookup is not None and not LOOKUP.fullmatch(lookup):
        remedy = (
            'Write the relationship and the external id of the account behind it: "Account__r.Fairturn_Key__c" for a '
            'lookup of your own (Account__c), "Account.Fairturn_Key__c" for the account of a Contact'
        )
        yield loaded.fault(f"{key}.account_lookup", f'"{lookup}" is no lookup by external id', remedy)
    elif lookup is not None and lookup.startswith("Account.") and destination.object == "Lead":
        remedy = 'Make a lookup field of your own on Lead, Account__c, and write "Account__r.Fairturn_Key__c"'
        yield loaded.fault(f"{key}.account_lookup", "a Lead has no account by itself", remedy)
    status = destination.status_field
    if status is not None and not re.fullmatch(API_NAME, status):
        yield loaded.fault(f"{key}.status_field", f'"{status}" is no API name', "Copy it from Setup, Object Manager")


def judge_targets(loaded: Loaded, key: str, destination: Destination) -> Iterator[Fault]:
    if destination.contact_map and destination.object != "Lead":
        message = f"contact_map is for people who are Contacts where Leads are written; here {destination.object}s are"
        yield loaded.fault(f"{key}.contact_map", message, "Move its lines into map")
    for part, sobject, mapping in (
        ("map", destination.object, destination.map),
        ("contact_map", "Contact", destination.contact_map),
    ):
        for target in mapping:
            place = f"{key}.{part}.{target}"
            if target in {"Id", "OwnerId", destination.external_id}:
                yield loaded.fault(place, f"{target} is written by Fairturn itself", "Take it out of the map")
            elif not re.fullmatch(rf"{API_NAME}(?:\.{API_NAME})?", target):
                remedy = "Copy it from Setup, Object Manager: LastName, Region__c"
                yield loaded.fault(place, f'"{target}" is no API name', remedy)
            else:
                yield from judge_target(loaded, place, target, sobject)


def judge_target(loaded: Loaded, place: str, target: str, sobject: str) -> Iterator[Fault]:
    """Standard fields that the other object has."""
    if sobject == "Contact" and target in ON_CONTACT:
        other = ON_CONTACT[target]
        remedy = f"Write {other}" if other else "Take it out, or name a field of your own"
        yield loaded.fault(place, f"a Contact has no field {target}", remedy)
    elif sobject == "Lead" and target in ON_LEAD:
        yield loaded.fault(place, f"a Lead has no field {target}", f"Write {ON_LEAD[target]}")
    elif sobject == "Lead" and target == "AccountId":
        remedy = 'Use a lookup of your own: account_lookup = "Account__r.Fairturn_Key__c"'
        yield loaded.fault(place, "a Lead has no account by itself", remedy)


def judge_required(loaded: Loaded, key: str, destination: Destination) -> Iterator[Fault]:
    """Salesforce refuses a Lead without LastName and Company, a Contact without LastName."""
    required = {"Lead": ("LastName", "Company"), "Contact": ("LastName",)}.get(destination.object, ())
    for target in required:
        field, default = REQUIRED[target]
        way = destination.map.get(target)
        write = f'{target} = {{ field = "{field}", default = "{default}" }}'
        if way is None:
            message = f"Salesforce refuses a {destination.object} without {target}, and the map has none"
            yield loaded.fault(f"{key}.map", message, f"Add {write}")
        elif isinstance(way, str) or (way.value is None and way.field and not (way.default or "").strip()):
            message = f"a {destination.object} without {target} would be refused"
            yield loaded.warning(f"{key}.map.{target}", message, f"Give it a default: {write}")
