"""Reps, pools and the ways between pools."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from zoneinfo import ZoneInfo, available_timezones

from fairturn.config import Settings
from fairturn.decide.complaints import closest
from fairturn.decide.record_ids import is_record_id, long_form, may_own, meant_as_id
from fairturn.decide.users import bare
from fairturn.errors import Fault
from fairturn.operate.loaded import Loaded

QUEUE = "Write its name, or copy its id: a queue's begins with 00G, a user's with 005, 15 or 18 characters"


def judge(loaded: Loaded) -> Iterator[Fault]:
    yield from judge_organisation(loaded)
    yield from judge_rep_ids(loaded)
    yield from judge_emails(loaded)
    yield from judge_members(loaded)
    yield from judge_fallbacks(loaded)
    yield from judge_hold_owners(loaded)


def judge_organisation(loaded: Loaded) -> Iterator[Fault]:
    organisation, routing = loaded.settings.organisation, loaded.settings.routing
    yield from judge_zone(loaded, "organisation.timezone", organisation.timezone)
    lists = {
        "organisation.own_domains": organisation.own_domains,
        "organisation.competitors": organisation.competitors,
        "routing.free_domains": routing.free_domains,
        "routing.company_domains": routing.company_domains,
        **{f"routing.same_account.{number}": group for number, group in enumerate(routing.same_account, 1)},
    }
    for key, domains in lists.items():
        for number, domain in enumerate(domains, 1):
            if not is_domain(domain):
                remedy = f'Write it as "{domain_in(domain)}"'
                yield loaded.fault(f"{key}.{number}", f'"{domain[:60]}" is no domain', remedy)
    for domain in sorted({*organisation.own_domains} & {*organisation.competitors}):
        message = f'"{domain}" is one of your own domains and a competitor\'s'
        yield loaded.fault("organisation.competitors", message, "Take it out of one list")
    seen: dict[str, int] = {}
    for number, group in enumerate(routing.same_account, 1):
        for domain in group:
            if seen.setdefault(domain.lower(), number) != number:
                message = f'"{domain}" stands in two groups'
                remedy = "Make one group of them, or take it out of one"
                yield loaded.fault(f"routing.same_account.{number}", message, remedy)


def judge_zone(loaded: Loaded, key: str, name: str) -> Iterator[Fault]:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown names; paths; directories of the zone database
        places = [zone for zone in available_timezones() if "/" in zone]
        near = get_close_matches(name, places, n=1)
        remedy = f"Did you mean {near[0]}?" if near else 'Write a name such as "Europe/Berlin" or "UTC"'
        yield loaded.fault(key, f'there is no time zone "{name}"', remedy)


def is_domain(text: str) -> bool:
    labels = text.strip(".").split(".")
    return len(labels) > 1 and all(label and label.replace("-", "").isalnum() for label in labels)


def domain_in(text: str) -> str:
    """What somebody who wrote "https://www.acme.com/" or "@acme.com" meant."""
    bare = re.sub(r"^.*://|/.*$|^.*@", "", text).strip().lower().removeprefix("www.").strip("*.")
    return bare if is_domain(bare) else "acme.com"


def judge_rep_ids(loaded: Loaded) -> Iterator[Fault]:
    """Two reps with one CRM user would count twice against the turn (cases 99 and 121).

    Ids name a user by id, e-mail or name; where there are none, the rep's e-mail does.
    """
    settings = loaded.settings
    seen: dict[tuple[str, str], str] = {}
    for rep_id, rep in settings.reps.items():
        for name, record in rep.ids.items():
            key = f"reps.{rep_id}.ids.{name}"
            if name not in settings.destinations:
                remedy = closest(name, settings.destinations, "Destinations are")
                yield loaded.fault(key, f'there is no destination "{name}"', remedy)
                continue
            if not record.strip():
                yield loaded.fault(key, "the user is empty", "Write an id, an e-mail or a name, or take the entry out")
                continue
            copied = settings.destinations[name].type == "salesforce" and meant_as_id(record)
            if copied and not is_record_id(record):
                yield salesforce_fault(loaded, key, record)
                continue
            whole = long_form(record) if copied else bare(record) or record
            first = seen.setdefault((name, whole), rep_id)
            if first != rep_id:
                line = loaded.line_of(f"reps.{first}.ids.{name}")
                same = (
                    " (15 and 18 characters, the same record)"
                    if len(record) != len(settings.reps[first].ids[name])
                    else ""
                )
                message = f'reps "{first}" (line {line}) and "{rep_id}" are one user in {name}{same if copied else ""}'
                yield loaded.fault(key, message, "Keep one rep and take the other out of the pools, or correct the id")


def salesforce_fault(loaded: Loaded, key: str, record: str) -> Fault:
    message = f'"{record[:40]}" is no Salesforce id'
    if len(record) == 18 and record.isalnum() and record.isascii():
        return loaded.fault(
            key, f"{message}: its last three characters do not fit the rest", "Copy it again, case matters"
        )
    if len(record) in {16, 17}:
        return loaded.fault(key, f"{message}: it has {len(record)} characters", "Copy it whole: they have 15 or 18")
    remedy = "Copy the user's id from its address in Salesforce, \"0055g00000AbCdE\", or write the user's e-mail"
    return loaded.fault(key, message, remedy)


def judge_emails(loaded: Loaded) -> Iterator[Fault]:
    seen: dict[str, str] = {}
    for rep_id, rep in loaded.settings.reps.items():
        key = f"reps.{rep_id}.email"
        if rep.email is None:
            continue
        if rep.email.count("@") != 1 or not is_domain(rep.email.split("@")[1]):
            yield loaded.fault(key, f'"{rep.email}" is no address', 'Write it as "ann@acme.com", or leave it out')
        first = seen.setdefault(bare(rep.email) or "", rep_id)
        if first != rep_id:
            message = f'reps "{first}" and "{rep_id}" have the same address'
            if by_mail := one_user(loaded.settings, first, rep_id):
                yield loaded.fault(key, f"{message}, so they are one user in {by_mail}", "Keep one rep, or correct it")
            else:
                yield loaded.warning(key, message, "If they are one person, keep one: each takes turns of their own")


def one_user(settings: Settings, one: str, other: str) -> str | None:
    """The CRM in which the address alone says who either rep is."""
    for name, destination in settings.destinations.items():
        if destination.type != "console" and not any(settings.reps[rep].ids.get(name) for rep in (one, other)):
            return name
    return None


def judge_members(loaded: Loaded) -> Iterator[Fault]:
    settings = loaded.settings
    for pool_id, pool in settings.pools.items():
        for rep in pool.members:
            if rep not in settings.reps:
                remedy = closest(rep, settings.reps, f'Add it: [reps.{rep}] name = "..."; reps so far')
                yield loaded.fault(f"pools.{pool_id}.members.{rep}", f'there is no rep "{rep}"', remedy)
        key = f"pools.{pool_id}.members"
        if not pool.members:
            remedy = "Add one, members = { ann = 1 }, or take the pool out"
            yield loaded.fault(key, f'pool "{pool_id}" has no members, so its leads would be held for ever', remedy)
        elif not any(pool.members.values()):
            names = ", ".join(pool.members)
            remedy = "Give one of them a weight of 1 or more, or take the pool out"
            yield loaded.fault(
                key, f'every weight in pool "{pool_id}" is 0 ({names}), so nobody gets its leads', remedy
            )
    yield from judge_unused(loaded)


def judge_unused(loaded: Loaded) -> Iterator[Fault]:
    settings = loaded.settings
    used = {rule.pool for rule in settings.rules} | {pool.fallback for pool in settings.pools.values()}
    for pool_id in settings.pools:
        if pool_id not in used:
            remedy = f'Send leads there with a rule, pool = "{pool_id}", or take it out'
            yield loaded.warning(f"pools.{pool_id}", f'no rule leads to pool "{pool_id}"', remedy)


def judge_fallbacks(loaded: Loaded) -> Iterator[Fault]:
    settings = loaded.settings
    reported: set[str] = set()
    for pool_id, pool in settings.pools.items():
        if pool.fallback is None:
            continue
        key = f"pools.{pool_id}.fallback"
        if pool.fallback not in settings.pools:
            remedy = closest(pool.fallback, settings.pools, "Pools are")
            yield loaded.fault(key, f'there is no pool "{pool.fallback}"', remedy)
        elif (ring := ring_of(pool_id, settings)) and not reported & set(ring):
            reported |= set(ring)
            way = " -> ".join([*ring, ring[0]])
            yield loaded.fault(key, f"fallbacks run in a circle: {way}", "Let one of them have no fallback")


def ring_of(start: str, settings: Settings) -> tuple[str, ...]:
    """The pools that fall back to each other, from `start` on; empty when the way ends."""
    way = [start]
    while (following := settings.pools[way[-1]].fallback) in settings.pools:
        if following == start:
            return tuple(way)
        if following in way or following is None:
            return ()  # a ring further on, reported by its own members
        way.append(following)
    return ()


def judge_hold_owners(loaded: Loaded) -> Iterator[Fault]:
    settings = loaded.settings
    for pool_id, pool in settings.pools.items():
        for name, owner in pool.hold_owner.items():
            yield from judge_owner(loaded, f"pools.{pool_id}.hold_owner.{name}", name, owner)


def judge_owner(loaded: Loaded, key: str, destination: str, owner: str) -> Iterator[Fault]:
    """A queue or user of a destination."""
    known = loaded.settings.destinations
    if destination not in known:
        yield loaded.fault(
            key, f'there is no destination "{destination}"', closest(destination, known, "Destinations are")
        )
    elif not owner.strip():
        yield loaded.fault(key, "the name is empty", "Write the name of a queue or a user, or take the entry out")
    elif known[destination].type == "salesforce" and meant_as_id(owner) and not may_own(owner):
        yield loaded.fault(key, f'"{owner[:40]}" is no id of a queue or user in Salesforce', QUEUE)
