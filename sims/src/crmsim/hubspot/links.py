"""Associations: contacts and companies, seen from both ends."""

from dataclasses import dataclass
from typing import Any

from crmsim.hubspot.portal import MIRROR, PLAIN, PRIMARY, Author, Link, Portal
from crmsim.hubspot.properties import ObjectType

LABELS = {PRIMARY: "Primary", 2: "Primary"}
STARTS = {PRIMARY: "contacts", PLAIN: "contacts", 2: "companies", 280: "companies"}
DEFAULTS = {("contacts", "companies"): PLAIN, ("companies", "contacts"): 280}


@dataclass(frozen=True, slots=True)
class Wish:
    """An association that comes with a new record."""

    to: str
    type_id: int


def astray(portal: Portal, start: ObjectType, type_id: int) -> str | None:
    """What HubSpot says of a type that does not start from this object."""
    wanted = STARTS.get(type_id, start.name)
    if wanted == start.name:
        return None
    expected = portal.kinds[wanted].type_id
    return f"invalid from object type {start.type_id} for associations to be created. expected: {expected}"


def connect(portal: Portal, start: str, end: str, type_id: int, author: Author) -> None:
    """Add a type to a pair, from both ends; a contact's first company is its primary one."""
    start, end = portal.survivor(start), portal.survivor(end)
    types = {type_id}
    if type_id in MIRROR:
        contact, company = (start, end) if type_id in (PRIMARY, PLAIN) else (end, start)
        first = not any(link.type_id == PRIMARY for link in portal.links[contact])
        if first or type_id in (PRIMARY, 2):
            types = {PRIMARY if type_id in (PRIMARY, PLAIN) else 2, PLAIN if type_id in (PRIMARY, PLAIN) else 280}
            _set_primary(portal, contact, company, author)
    for kind in types:
        portal.links[start].add(Link(start, end, kind))
        portal.links[end].add(Link(end, start, MIRROR.get(kind, kind)))


def _set_primary(portal: Portal, contact: str, company: str, author: Author) -> None:
    old = [link for link in portal.links[contact] if link.type_id == PRIMARY and link.end != company]
    for link in old:
        portal.links[contact].discard(link)
        portal.links[link.end].discard(Link(link.end, contact, MIRROR[PRIMARY]))
    record = portal.records[contact]
    if record.values.get("associatedcompanyid") != company:
        portal.apply(record, {"associatedcompanyid": company}, author)


def disconnect(portal: Portal, start: str, end: str, author: Author) -> None:
    """All types of a pair, from both ends."""
    gone = {link for link in portal.links[start] | portal.links[end] if {link.start, link.end} == {start, end}}
    for link in gone:
        portal.links[link.start].discard(link)
        record = portal.records.get(link.start)
        if link.type_id == PRIMARY and record is not None:
            portal.apply(record, {"associatedcompanyid": ""}, author)


def ends(portal: Portal, start: str, kind: str) -> dict[str, list[int]]:
    """The records of a kind that one is associated with, each with its types."""
    found: dict[str, list[int]] = {}
    for link in sorted(portal.links[portal.survivor(start)], key=lambda link: (link.end, link.type_id)):
        record = portal.records.get(link.end)
        if record is not None and record.kind.name == kind and not record.archived:
            found.setdefault(link.end, []).append(link.type_id)
    return found


def labelled(type_id: int) -> dict[str, Any]:
    return {"category": "HUBSPOT_DEFINED", "typeId": type_id, "label": LABELS.get(type_id)}
