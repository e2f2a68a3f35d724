"""A record as an answer shows it."""

from collections.abc import Iterable
from typing import Any

from crmsim.hubspot import links
from crmsim.hubspot.portal import Portal, Record, Values
from crmsim.hubspot.values import instant


def record(item: Record, names: Iterable[str], values: Values | None = None, *, strict: bool = False) -> dict[str, Any]:
    """`names` of properties, unset ones as null (those that do not exist are left out, as HubSpot does)."""
    held = item.values if values is None else values
    shown = {name: held.get(name) for name in sorted(set(names)) if name in item.kind.properties}
    body: dict[str, Any] = {
        "id": item.id,
        "properties": {name: value for name, value in shown.items() if value is not None or not strict},
        "createdAt": instant(item.born),
        "updatedAt": instant(item.changed),
        "archived": item.archived,
    }
    if item.archived_at is not None:
        body["archivedAt"] = instant(item.archived_at)
    return body


def whole(item: Record) -> dict[str, Any]:
    """With everything that is set: the answer to a create."""
    return record(item, item.values, strict=True)


def asked(item: Record, names: list[str]) -> list[str]:
    """The properties of an answer: the object's defaults, or those asked for and the system's three."""
    return [*names, "createdate", "hs_object_id", item.kind.modified] if names else list(item.kind.default)


def with_links(portal: Portal, body: dict[str, Any], item: Record, kinds: list[str]) -> dict[str, Any]:
    """`associations` in v3's shape: a key per kind that has any."""
    found: dict[str, Any] = {}
    for wanted in kinds:
        kind = portal.kind(wanted)
        ends = links.ends(portal, item.id, kind.name) if kind is not None else {}
        rows = [
            {"id": end, "type": f"{item.kind.singular.lower()}_to_{kind.singular.lower()}{suffix}"}
            for end in ends
            for suffix in ("", "_unlabeled")
            if kind is not None
        ]
        if rows and kind is not None:
            found[kind.name] = {"results": rows}
    return body | {"associations": found} if found else body
