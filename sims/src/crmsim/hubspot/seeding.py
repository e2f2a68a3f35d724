"""What the account holds before a run: owners, properties, companies, contacts, people by the hundred, further apps."""

from collections.abc import Mapping
from typing import Any

from crmsim.clock import stamp
from crmsim.hubspot import crowd, planting, properties
from crmsim.hubspot.portal import Portal
from crmsim.hubspot.tokens import App, Tokens
from crmsim.hubspot.values import instant

SECTIONS = ("owners", "properties", "companies", "contacts", "people", "apps")


def seed(portal: Portal, tokens: Tokens, document: Mapping[str, Any]) -> dict[str, Any]:
    """Add to the account; answers with the ids by section. Raises ValueError that names the entry."""
    unknown = set(document) - set(SECTIONS)
    if unknown:
        raise ValueError(f"unknown sections {sorted(unknown)}; a seed has {', '.join(SECTIONS)}")
    for place, entry in enumerate(document.get("properties", ())):
        _property(portal, entry, f"properties[{place}]")
    out: dict[str, Any] = {}
    made = [planting.owner(portal, entry, f"owners[{n}]") for n, entry in enumerate(document.get("owners", ()))]
    out["owners"] = [{"id": item.id, "name": item.name, "email": item.email} for item in made]
    for section in ("companies", "contacts"):
        entries = document.get(section, ())
        out[section] = [
            planting.record(portal, section, entry, f"{section}[{n}]").id for n, entry in enumerate(entries)
        ]
    for place, entry in enumerate(document.get("apps", ())):
        app = _app(tokens, entry, f"apps[{place}]")
        out.setdefault("apps", []).append({"id": app.id, "name": app.name})
    if "people" in document:
        out["people"] = crowd.gather(portal, document["people"])
    return out


def _app(tokens: Tokens, entry: Mapping[str, Any], where: str) -> App:
    """`{"token": "pat-…", "name": "…", "scopes": ["crm.objects.contacts.read", …]}`; without `scopes`: all."""
    missing = {"token", "name"} - set(entry)
    if missing:
        raise ValueError(f"{where}: {', '.join(sorted(missing))} is missing")
    scopes = entry.get("scopes")
    if scopes is not None and not (isinstance(scopes, list) and all(isinstance(one, str) for one in scopes)):
        raise ValueError(f"{where}: scopes must be a list of texts")
    return tokens.add_private(str(entry["token"]), str(entry["name"]), None if scopes is None else frozenset(scopes))


def _property(portal: Portal, entry: Mapping[str, Any], where: str) -> None:
    kind = portal.kind(str(entry.get("object", "")))
    if kind is None:
        raise ValueError(f"{where}: no object {entry.get('object')!r}")
    usual = {"label": entry.get("name"), "type": "string", "fieldType": "text", "groupName": next(iter(kind.groups))}
    try:
        kind.add(properties.made(usual | dict(entry), instant(stamp().wall)))
    except ValueError as missing:
        raise ValueError(f"{where}: {missing} is missing") from None
