"""A HubSpot destination: how it is reached, and what HubSpot calls things."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from fairturn.config import Destination
from fairturn.errors import Fault
from fairturn.operate.addresses import url_problem
from fairturn.operate.loaded import Loaded

HOSTS: Final = ("api.hubapi.com", "api-eu1.hubapi.com", "api-na1.hubapi.com")
TRIO: Final = ("refresh_token", "client_id", "client_secret")
PROPERTY: Final = re.compile(r"[a-z][a-z0-9_]{0,99}", re.ASCII)
MOST: Final = 100  # inputs of one batch; HubSpot refuses 101
ANY_OF: Final = ("email", "firstname", "lastname")  # HubSpot refuses a contact with none of them
SALESFORCE_NAMES: Final = {
    "Email": "email", "FirstName": "firstname", "LastName": "lastname", "Company": "company", "Title": "jobtitle",
    "Phone": "phone", "MobilePhone": "mobilephone", "Website": "website", "Street": "address", "City": "city",
    "State": "state", "PostalCode": "zip", "Country": "country", "NumberOfEmployees": "numemployees",
    "Status": "hs_lead_status", "OwnerId": "hubspot_owner_id",
}  # fmt: skip
NOT_HERE: Final = {
    "contact_map": "HubSpot has contacts alone",
    "account_lookup": "HubSpot associates companies, and has no lookup fields",
    "api_version": "HubSpot's version is Fairturn's own matter",
}


def judge(loaded: Loaded, key: str, destination: Destination) -> Iterator[Fault]:
    yield from judge_login(loaded, key, destination)
    yield from judge_account(loaded, key, destination)
    yield from judge_limits(loaded, key, destination)
    yield from judge_properties(loaded, key, destination)


def judge_login(loaded: Loaded, key: str, destination: Destination) -> Iterator[Fault]:
    """A private app's token, or the three of an OAuth app."""
    given = [field for field in TRIO if getattr(destination, field) is not None]
    if destination.token is not None and given:
        message = f"there are two ways to log in: token and {given[0]}"
        yield loaded.fault(
            f"{key}.{given[0]}", message, "Keep the token of a private app, or the three of an OAuth app"
        )
    elif destination.token is None and given:
        for field in TRIO:
            if field not in given:
                remedy = (
                    f'Write {field} = "env:HUBSPOT_{field.upper()}", or a private app\'s token instead of the three'
                )
                yield loaded.fault(f"{key}.{field}", f"an OAuth app needs {field} too", remedy)
    elif destination.token is None and destination.mode == "live":
        remedy = 'Write token = "env:HUBSPOT_TOKEN", from a private app (Development, Legacy apps)'
        yield loaded.fault(f"{key}.token", "token is missing, so nobody can log in", remedy)


def judge_account(loaded: Loaded, key: str, destination: Destination) -> Iterator[Fault]:
    url = destination.url or ""
    remedy = 'Take the line out, or write "https://api.hubapi.com"'
    if problem := url_problem(url, allow_private=destination.allow_private):
        yield loaded.fault(f"{key}.url", problem[0], remedy)
    elif not destination.allow_private and (host := (urlsplit(url).hostname or "").lower()) not in HOSTS:
        yield loaded.fault(f"{key}.url", f"{host} is not HubSpot's API", remedy)
    if destination.org is None and destination.mode == "live":
        remedy = 'Pin it: org = "12345678", the Hub ID behind your account\'s name'
        yield loaded.warning(
            f"{key}.org", "no org is pinned, so a wrong token would write into another account", remedy
        )
    elif destination.org is not None and not re.fullmatch(r"\d{1,15}", destination.org, re.ASCII):
        yield loaded.fault(
            f"{key}.org", f'"{destination.org[:40]}" is no Hub ID', "It is a number; copy it from your account menu"
        )


def judge_limits(loaded: Loaded, key: str, destination: Destination) -> Iterator[Fault]:
    if destination.max_records > MOST:
        message = f"HubSpot takes {MOST} records in one request, not {destination.max_records}"
        yield loaded.fault(f"{key}.max_records", message, f"Write {MOST}, or take the line out")
    if destination.object != "contacts":
        message = f"{destination.object} are not written to HubSpot, contacts are"
        yield loaded.fault(f"{key}.object", message, 'Write object = "contacts", or take the line out')
    for field, why in NOT_HERE.items():
        if field in destination.model_fields_set and getattr(destination, field):
            yield loaded.fault(f"{key}.{field}", why, "Take it out")


def judge_properties(loaded: Loaded, key: str, destination: Destination) -> Iterator[Fault]:
    for field in ("external_id", "status_field"):
        name = getattr(destination, field)
        if name is not None and not PROPERTY.fullmatch(name):
            yield loaded.fault(f"{key}.{field}", f'"{name}" is no property name', spelt(name))
    for target in destination.map:
        place = f"{key}.map.{target}"
        if target in {"hubspot_owner_id", "hs_object_id"} or (target == destination.external_id and target != "email"):
            yield loaded.fault(place, f"{target} is written by Fairturn itself", "Take it out of the map")
        elif not PROPERTY.fullmatch(target):
            yield loaded.fault(place, f'"{target}" is no property name', spelt(target))
    wrong = {SALESFORCE_NAMES.get(target, "") for target in destination.map}  # told already, each on its line
    if not {*destination.map, *wrong} & {*ANY_OF}:
        message = "HubSpot refuses a contact without email, firstname and lastname, and the map has none of them"
        yield loaded.fault(f"{key}.map", message, 'Add email = "email"')


def spelt(name: str) -> str:
    if name in SALESFORCE_NAMES:
        return f'HubSpot calls it "{SALESFORCE_NAMES[name]}"'
    lower = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    head = f'Did you mean "{lower}"? ' if PROPERTY.fullmatch(lower) else ""
    return f"{head}Copy the internal name from Settings, Properties: small letters, digits and _"
