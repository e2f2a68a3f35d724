"""What people do in the account by hand: move owners, edit, archive, merge; once, or every few seconds."""

import random
from collections.abc import AsyncIterator, Mapping
from typing import Any

from crmsim.clock import stamp
from crmsim.hubspot import planting
from crmsim.hubspot.portal import Author, Portal, Record, Version
from crmsim.hubspot.searching import remember
from crmsim.hubspot.state import Hubspot
from crmsim.hubspot.values import fold, text_of
from crmsim.second_writer import KEYS, Habit


def record(portal: Portal, body: Mapping[str, Any]) -> Record:
    """The one record that `id`, `email` or `key` (`{"field": …, "value": …}`) names. Raises ValueError."""
    kind = portal.kind(str(body.get("object", "contacts")))
    if kind is None:
        raise ValueError(f"no object {body.get('object')!r}")
    if "id" in body:
        found = portal.get(kind, str(body["id"]))
        matches = [found] if found is not None else []
    else:
        key = body.get("key") or {"field": "email", "value": body.get("email")}
        name, wanted = str(key["field"]), text_of(key.get("value"))
        by_key = portal.find(kind, name, wanted) if name in kind.unique else None
        folded = fold(kind, name, wanted)
        same = [item for item in portal.live(kind.name) if fold(kind, name, item.values.get(name, "")) == folded]
        matches = [by_key] if by_key is not None else same if wanted else []
    if len(matches) != 1:
        raise ValueError(f"{len(matches)} records of {kind.name} match; name one by id, email or key")
    return matches[0]


def author(portal: Portal, body: Mapping[str, Any]) -> Author:
    return Author(planting.owner_or_words(portal, str(body.get("by", "a person"))), "hand", None, stamp())


def edit(sim: Hubspot, item: Record, fields: Mapping[str, Any], by: Author) -> Version:
    """Any property, read-only ones too. Raises ValueError for one that is not there, or a key that is taken."""
    unknown = set(fields) - set(item.kind.properties)
    if unknown:
        raise ValueError(f"{item.kind.name} have no properties {sorted(unknown)}")
    values = {name: text_of(value) for name, value in fields.items()}
    held = sim.portal.holder(item.kind, values, item)
    if held is not None:
        raise ValueError(f"{held[0]} is that of record {held[1].id} already")
    version = sim.portal.apply(item, values, by)
    remember(sim, item)
    told(sim, [version])
    return version


def told(sim: Hubspot, made: list[Version]) -> None:
    """Leave evidence of what no request carried."""
    if made:
        sim.evidence.write_line({"commit": None, "versions": [version.json() for version in made]})
    sim.evidence.bell.ring()


def habit(portal: Portal, body: Mapping[str, Any]) -> Habit:
    """Raises ValueError that names what is wrong."""
    unknown, every = set(body) - set(KEYS), float(body.get("every", 0))
    kind = portal.kind(str(body.get("object", "contacts")))
    if unknown or every <= 0 or kind is None or not (body.get("to") or body.get("fields")):
        raise ValueError(f"a second writer has every > 0 (seconds), and to (owners) or fields; its keys are {KEYS}")
    fields = {name: text_of(value) for name, value in dict(body.get("fields", {})).items()}
    if set(fields) - set(kind.properties):
        raise ValueError(f"{kind.name} have no properties {sorted(set(fields) - set(kind.properties))}")
    times = body.get("times")
    return Habit(
        every, int(body.get("records", 1)), None if times is None else int(times), kind.name,
        frozenset([*map(str, body.get("ids", ())), *(str(one).casefold() for one in body.get("emails", ()))]),
        tuple(planting.named_owner(portal, str(one)) for one in body.get("to", ())), fields,
        planting.owner_or_words(portal, str(body.get("by", "a second writer"))), int(body.get("seed", 0)),
    )  # fmt: skip


async def turn(sim: Hubspot, wanted: Habit, dice: random.Random) -> AsyncIterator[bool]:
    some = [
        item
        for item in sim.portal.live(wanted.object)
        if not wanted.named or item.id in wanted.named or (item.email or "") in wanted.named
    ]
    by, made = Author(wanted.by, "hand", None, stamp()), []
    for item in dice.sample(some, min(wanted.records, len(some))):
        others = [one for one in wanted.owners if one != item.values.get("hubspot_owner_id")]
        values = dict(wanted.fields) | ({"hubspot_owner_id": dice.choice(others)} if others else {})
        if any(item.values.get(name, "") != value for name, value in values.items()):
            made.append(sim.portal.apply(item, values, by))
            remember(sim, item)
    told(sim, made)
    for _ in made:
        yield True
