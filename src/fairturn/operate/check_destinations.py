"""Destinations: where leads are written, and whether they could be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from fairturn.config import Destination
from fairturn.decide.record_ids import is_record_id
from fairturn.errors import Fault
from fairturn.operate import check_existing, check_hubspot, check_mapping, check_salesforce
from fairturn.operate.loaded import Loaded

NO_USERS = ("00G", "00e", "00E", "00D", "00Q", "003", "001")  # queue, profile, role, org, lead, contact, account


def judge(loaded: Loaded) -> Iterator[Fault]:
    if not loaded.settings.destinations:
        remedy = 'Add one: [destinations.crm] type = "console" prints what it would write'
        yield loaded.warning("", "there is no destination, so nothing is written anywhere", remedy)
    for name, destination in loaded.settings.destinations.items():
        key = f"destinations.{name}"
        yield from check_mapping.judge(loaded, key, destination)
        yield from judge_window(loaded, key, destination)
        if destination.type == "salesforce":
            yield from check_salesforce.judge(loaded, key, destination)
        elif destination.type == "hubspot":
            yield from check_hubspot.judge(loaded, key, destination)
        if destination.type != "console":
            yield from judge_owners(loaded, name, destination)
    yield from check_existing.judge(loaded)
    yield from judge_database(loaded)
    yield from judge_own_urls(loaded)


def judge_window(loaded: Loaded, key: str, destination: Destination) -> Iterator[Fault]:
    if destination.window == "adaptive" and destination.linger > destination.max_wait:
        message = f"linger ({destination.linger:g} s) is longer than max_wait ({destination.max_wait:g} s)"
        yield loaded.fault(f"{key}.linger", message, "Make it shorter, or max_wait longer")
    if destination.window == "fixed" and destination.every < 0.1:
        yield loaded.fault(f"{key}.every", "a fixed window needs a length", 'Write every = "15s"')
    if destination.request_timeout < 1:
        message = f"a request would be given up after {destination.request_timeout:g} s"
        yield loaded.fault(f"{key}.request_timeout", message, 'Write "60s": a slow CRM takes 10 s for a lock alone')


def judge_owners(loaded: Loaded, name: str, destination: Destination) -> Iterator[Fault]:
    """Who may get leads needs a user there."""
    settings = loaded.settings
    taking = {rep for pool in settings.pools.values() for rep, weight in pool.members.items() if weight}
    taking |= {rule.owner for rule in settings.rules if rule.owner is not None}
    for rep_id, rep in settings.reps.items():
        record = rep.ids.get(name)
        if record is None and rep.email is None and rep_id in taking and destination.mode == "live":
            remedy = f'Add email = "...", as {name} has it, or ids = {{ {name} = "..." }}, or give weight 0'
            message = f'rep "{rep_id}" gets leads and has neither an e-mail nor a user in {name}'
            yield loaded.fault(f"reps.{rep_id}", message, remedy)
        elif record is None or destination.type != "salesforce":
            continue
        elif is_record_id(record) and record[:3] in NO_USERS:
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
