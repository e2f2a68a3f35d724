"""Records put into the account as they stand: seeds may hold what the API would refuse, as real accounts do."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from crmsim.clock import stamp
from crmsim.hubspot import links
from crmsim.hubspot.portal import PLAIN, Author, Owner, Portal, Record
from crmsim.hubspot.searching import index_now
from crmsim.hubspot.values import instant, text_of

OWN = ("id", "owner", "company", "additional_emails", "created", "archived")
OWNER_KEYS = ("id", "name", "email", "first", "last", "user", "archived", "teams")


def owner(portal: Portal, entry: Mapping[str, Any], where: str = "owners") -> Owner:
    """An owner of a seed: `email`, `name` (or `first`, `last`), and `id`, `user`, `archived`, `teams` if wanted."""
    unknown = set(entry) - set(OWNER_KEYS)
    if unknown or not isinstance(entry.get("email"), str):
        raise ValueError(f"{where}: an owner has email and {', '.join(OWNER_KEYS)}; not {sorted(unknown)}")
    first, _, last = str(entry.get("name", "")).partition(" ")
    number = len(portal.owners)
    made = Owner(
        id=str(entry.get("id", 41_629_000 + number * 7)),
        email=entry["email"],
        first=str(entry.get("first", first)),
        last=str(entry.get("last", last)),
        user=int(entry.get("user", 1_296_000 + number * 3)),
        archived=bool(entry.get("archived", False)),
        born=instant(stamp().wall - 300 * 86_400),
        teams=tuple(entry.get("teams", ())),
    )
    if made.id in portal.owners or not made.id.isdigit():
        raise ValueError(f"{where}: owner id {made.id} exists already, or is no number")
    portal.owners[made.id] = made
    return made


def named_owner(portal: Portal, text: str) -> str:
    """An owner's id by id, e-mail or name, archived ones too. Raises ValueError."""
    for item in portal.owners.values():
        if text == item.id or text.casefold() in (item.email.casefold(), item.name.casefold()):
            return item.id
    raise ValueError(f"no owner with id, e-mail or name {text!r}")


def owner_or_words(portal: Portal, text: str) -> str:
    """Who did it: a known owner's id, or the words as they are."""
    try:
        return named_owner(portal, text)
    except ValueError:
        return text


def record(portal: Portal, name: str, entry: Mapping[str, Any], where: str = "entry") -> Record:
    """One record of a seed: properties by their names, and `owner`, `company`, `created`, `archived`, `id`."""
    kind, values = portal.kinds[name], {}
    for key, value in entry.items():
        if key in OWN:
            continue
        if key not in kind.properties:
            raise ValueError(f"{where}: {name} have no property {key}; add it under properties")
        values[key] = text_of(value)
    if "email" in values:
        values["email"] = values["email"].lower()
    if entry.get("owner") is not None:
        values["hubspot_owner_id"] = named_owner(portal, str(entry["owner"]))
    if entry.get("additional_emails"):
        values["hs_additional_emails"] = ";".join(str(mail).lower() for mail in entry["additional_emails"])
    held = portal.holder(kind, values, None)
    if held is not None:
        raise ValueError(f"{where}: {held[0]} is that of record {held[1].id} already")
    author = Author("seed", "seed", None, stamp())
    made = portal.insert(kind, values, author, _given(portal, entry, where))
    if entry.get("created"):
        made.born = datetime.fromisoformat(str(entry["created"])).timestamp()
        made.values["createdate"] = instant(made.born)
    if entry.get("company") is not None:
        company = named_company(portal, str(entry["company"]), where)
        links.connect(portal, made.id, company.id, PLAIN, author)
        index_now(company)
    if entry.get("archived"):
        portal.archive(made, author)
    index_now(made)
    return made


def _given(portal: Portal, entry: Mapping[str, Any], where: str) -> str | None:
    if "id" not in entry:
        return None
    text = str(entry["id"])
    if not text.isdigit() or text in portal.records:
        raise ValueError(f"{where}: id {text} exists already, or is no number")
    return text


def named_company(portal: Portal, text: str, where: str) -> Record:
    """A company by id, domain or name. Raises ValueError unless it is one."""
    found = [
        item
        for item in portal.live("companies")
        if text == item.id or text.casefold() in (item.values.get("domain"), item.values.get("name", "").casefold())
    ]
    if len(found) != 1:
        raise ValueError(f"{where}: {len(found)} companies with id, domain or name {text!r}")
    return found[0]
