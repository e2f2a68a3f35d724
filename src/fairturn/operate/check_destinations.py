"""Destinations: where leads are written, and whether they could be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from fairturn.config import DERIVED_FIELDS, Destination, MapTo
from fairturn.decide.complaints import closest
from fairturn.decide.record_ids import is_record_id
from fairturn.errors import Fault
from fairturn.operate.addresses import url_problem
from fairturn.operate.check_people import is_user_id
from fairturn.operate.check_sources import known_fields
from fairturn.operate.loaded import Loaded

API_NAME = r"[A-Za-z][A-Za-z0-9_]*"
LOOKUP = re.compile(rf"(?:{API_NAME}__r|Account)\.{API_NAME}__c")  # one of your own, or the standard one
REQUIRED = {"LastName": ("last_name", "Unknown"), "Company": ("company", "Unknown")}


def judge(loaded: Loaded) -> Iterator[Fault]:
    if not loaded.settings.destinations:
        remedy = 'Add one: [destinations.crm] type = "console" prints what it would write'
        yield loaded.warning("", "there is no destination, so nothing is written anywhere", remedy)
    for name, destination in loaded.settings.destinations.items():
        key = f"destinations.{name}"
        yield from judge_map(loaded, key, destination)
        yield from judge_window(loaded, key, destination)
        if destination.type == "salesforce":
            yield from judge_salesforce(loaded, key, destination)
            yield from judge_owners(loaded, name, destination)
    yield from judge_database(loaded)
    yield from judge_own_urls(loaded)


def judge_map(loaded: Loaded, key: str, destination: Destination) -> Iterator[Fault]:
    fields = {**known_fields(loaded.settings), **DERIVED_FIELDS}
    for target, way in destination.map.items():
        place = f"{key}.map.{target}"
        lead_field = way if isinstance(way, str) else way.field
        if isinstance(way, MapTo) and (way.field is None) == (way.value is None):
            problem = "neither a field nor a value" if way.field is None else "both a field and a value"
            yield loaded.fault(place, f"{target} has {problem}", 'Write { field = "company" } or { value = "Web" }')
        if lead_field is not None and lead_field not in fields:
            remedy = closest(lead_field, fields, "Fields are")
            yield loaded.fault(place, f'there is no lead field "{lead_field}"', remedy)


def judge_window(loaded: Loaded, key: str, destination: Destination) -> Iterator[Fault]:
    if destination.window == "adaptive" and destination.linger > destination.max_wait:
        message = f"linger ({destination.linger:g} s) is longer than max_wait ({destination.max_wait:g} s)"
        yield loaded.fault(f"{key}.linger", message, "Make it shorter, or max_wait longer")
    if destination.window == "fixed" and destination.every < 0.1:
        yield loaded.fault(f"{key}.every", "a fixed window needs a length", 'Write every = "15s"')
    if destination.request_timeout < 1:
        message = f"a request would be given up after {destination.request_timeout:g} s"
        yield loaded.fault(f"{key}.request_timeout", message, 'Write "60s": a slow CRM takes 10 s for a lock alone')


def judge_salesforce(loaded: Loaded, key: str, destination: Destination) -> Iterator[Fault]:
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
        yield loaded.fault(
            f"{key}.org", f'"{destination.org[:40]}" is no org id', "It begins with 00D and has 15 or 18 characters"
        )
    yield from judge_names(loaded, key, destination)
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


def judge_names(loaded: Loaded, key: str, destination: Destination) -> Iterator[Fault]:
    if not re.fullmatch(r"\d{2}\.0", destination.api_version):
        remedy = f'Write it as "{destination.api_version.strip("vV")[:2]}.0"'
        yield loaded.fault(f"{key}.api_version", f'"{destination.api_version}" is no version of the API', remedy)
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
    for target in destination.map:
        place = f"{key}.map.{target}"
        if target in {"OwnerId", destination.external_id}:
            yield loaded.fault(place, f"{target} is written by Fairturn itself", "Take it out of the map")
        elif not re.fullmatch(rf"{API_NAME}(?:\.{API_NAME})?", target):
            yield loaded.fault(
                place, f'"{target}" is no API name', "Copy it from Setup, Object Manager: LastName, Region__c"
            )


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
        elif isinstance(way, str) or (way.value is None and not (way.default or "").strip()):
            message = f"a {destination.object} without {target} would be refused"
            yield loaded.warning(f"{key}.map.{target}", message, f"Give it a default: {write}")


def judge_owners(loaded: Loaded, name: str, destination: Destination) -> Iterator[Fault]:
    """Who may get leads needs a user there."""
    settings = loaded.settings
    taking = {rep for pool in settings.pools.values() for rep, weight in pool.members.items() if weight}
    taking |= {rule.owner for rule in settings.rules if rule.owner is not None}
    for rep_id, rep in settings.reps.items():
        record = rep.ids.get(name)
        if record is None and rep_id in taking and destination.mode == "live":
            remedy = f'Add ids = {{ {name} = "005..." }}, the user\'s id there, or give weight 0'
            yield loaded.fault(f"reps.{rep_id}", f'rep "{rep_id}" gets leads and has no user in {name}', remedy)
        elif record is not None and is_record_id(record) and not is_user_id(record):
            message = f'"{record}" is no user: those begin with 005'
            yield loaded.fault(
                f"reps.{rep_id}.ids.{name}", message, "Copy the id of the user, not of the profile or queue"
            )


def judge_database(loaded: Loaded) -> Iterator[Fault]:
    url = loaded.settings.database_url
    if url is None or url.startswith(("env:", "file:")):
        if url is not None and loaded.settings.data is not None:
            message = "data is where Fairturn's own PostgreSQL lives, and database_url names another"
            yield loaded.warning("data", message, "Take one of them out")
        return
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in {"postgres", "postgresql"}:
        yield loaded.fault(
            "database_url", "this is no address of a PostgreSQL", 'Write "env:DATABASE_URL", and set that variable'
        )
    elif parts.password is not None or "password=" in parts.query:
        yield loaded.fault(
            "database_url",
            "a password must not stand in the settings",
            'Write "env:DATABASE_URL", and set that variable',
        )


def judge_own_urls(loaded: Loaded) -> Iterator[Fault]:
    url = loaded.settings.server.public_url
    if url is not None and not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", url):
        yield loaded.fault("server.public_url", f'"{url[:60]}" is no URL', 'Write it as "https://leads.acme.com"')
