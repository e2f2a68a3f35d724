"""Which events are one lead, and which leads are one account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from types import MappingProxyType
from typing import Final

from fairturn.config import Routing, Settings
from fairturn.decide.addresses import EmailFacts, ascii_host
from fairturn.decide.mailboxes import is_nothing
from fairturn.decide.mapping import Mapped
from fairturn.model import FieldValue, Key
from fairturn.quick import quick

SHOWN: Final = 500  # characters of a key's value that are kept for display
ACCOUNT_KEY: Final = 255  # characters of an account's key; a domain has at most 253
NO_ALIASES: Final[Mapping[str, str]] = MappingProxyType({})


def digest(kind: str, value: str) -> bytes:
    """16 bytes of (kind, value), each with its length before it, so that ("a", "bc") is not ("ab", "c")."""
    parts = (kind.encode("utf-8", "replace"), value.encode("utf-8", "replace"))
    return blake2b(b"".join(len(part).to_bytes(8, "big") + part for part in parts), digest_size=16).digest()


def key(kind: str, value: str) -> Key:
    return Key(digest(kind, value), kind, value[:SHOWN])


def email_key(facts: EmailFacts) -> Key | None:
    """What `fairturn why jane@acme.com` looks up, too."""
    return key("email", facts.normalised) if facts.normalised else None


def keys_of(source_id: str, mapped: Mapped, facts: EmailFacts, event_id: bytes | None = None) -> tuple[Key, ...]:
    """Everything in the event that identifies its lead. `facts` are those of mapped.values["email"].

    An event that names nobody is a lead of its own: with `event_id` it is known by that, so that a second take of the
    same event finds the same lead.
    """
    keys = [email_key(facts)]
    keys += [key(f"{source_id}:{name}", value) for name, value in mapped.ids.items()]
    record = mapped.values.get("crm_lead_id")
    if isinstance(record, str) and not is_nothing(record):
        keys.append(key("crm:lead", record_key(record)))
    found = tuple(dict.fromkeys(one for one in keys if one))
    if found or event_id is None:
        return found
    return (key("event", event_id.hex()),)


def record_key(record: str) -> str:
    """Salesforce writes one id in 15 characters, where letter case counts, or in 18, where the last three repeat it."""
    return record[:15] if len(record) == 18 and record == record[:15] + case_suffix(record[:15]) else record


def case_suffix(short: str) -> str:
    """Salesforce's three characters: for each five of the id, a letter whose bits say which of them are capitals."""
    if not (short.isascii() and short.isalnum()):
        return ""
    bits = (sum(char.isupper() << place for place, char in enumerate(short[at : at + 5])) for at in (0, 5, 10))
    return "".join("ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"[number] for number in bits)


def account_keys(values: Mapping[str, FieldValue], facts: EmailFacts, settings: Settings) -> tuple[str, ...]:
    """What the lead's company is known by: the CRM's account if the event knows it, then the domain of a work address.

    `crm:001...`, `domain:acme.com`; empty when the lead stands alone: free, relay and disposable mail is no company,
    nor is a public suffix (co.uk). Domains that routing.same_account lists together are the first of them.
    """
    keys = []
    record = values.get("crm_account_id")
    if isinstance(record, str) and not is_nothing(record):
        keys.append(f"crm:{record_key(record)}")
    if facts.kind == "work" and facts.domain and facts.host:
        aliases = same_account(settings.routing) if settings.routing.same_account else NO_ALIASES
        keys.append(f"domain:{aliases.get(facts.host) or aliases.get(facts.domain) or facts.domain}")
    return tuple(bounded(one) for one in keys)


@lru_cache(maxsize=8)
def same_account(routing: Routing) -> Mapping[str, str]:
    """Domain -> the domain that stands for its company."""
    found: dict[str, str] = {}
    for domains in routing.same_account:
        hosts = [host for host in map(ascii_host, domains) if host]
        known = next((found[host] for host in hosts if host in found), None)  # two lists that overlap are one company
        for host in hosts:
            found.setdefault(host, known or hosts[0])
    return found


def bounded(name: str) -> str:
    """Unchanged up to 255 characters; beyond, its head and a hash, so that two long keys stay two."""
    return name if len(name) <= ACCOUNT_KEY else f"{name[:200]}#{digest('account', name).hex()}"


@quick(frozen=True, slots=True)
class Group:
    """Events that are one lead."""

    events: tuple[int, ...]  # places in the batch, ascending
    leads: tuple[int, ...]  # leads that their keys are bound to, ascending: the first is the oldest; none = a new lead
    keys: tuple[Key, ...]  # all of their keys, each once


def group(events: Sequence[tuple[Key, ...]], bound: Mapping[bytes, int]) -> list[Group]:
    """One group per lead, in the order of their first events. Events meet over a key, or over a lead both keys lead to.

    Linear in the number of keys; the result depends on the order of events only in the order of what it lists.
    """
    parent = list(range(len(events)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    first: dict[bytes | int, int] = {}  # key digest or lead id -> the first event that led to it
    for place, keys in enumerate(events):
        for one in keys:
            lead = bound.get(one.digest)
            for meeting in (one.digest,) if lead is None else (one.digest, lead):
                earlier = first.setdefault(meeting, place)
                if earlier == place:
                    continue
                here, there = root(place), root(earlier)
                if here != there:  # the smaller place is the root: groups stand where their first event stands
                    parent[max(here, there)] = min(here, there)
    members: dict[int, list[int]] = {}
    for place in range(len(events)):
        members.setdefault(root(place), []).append(place)
    return [gathered(places, events, bound) for places in members.values()]


def gathered(places: Sequence[int], events: Sequence[tuple[Key, ...]], bound: Mapping[bytes, int]) -> Group:
    if len(places) == 1 and len(events[places[0]]) == 1:  # one event with one key, as most are
        [one] = mine = events[places[0]]
        lead = bound.get(one.digest)
        return Group(tuple(places), () if lead is None else (lead,), mine)
    keys = {one.digest: one for place in places for one in events[place]}
    leads = sorted({lead for found in keys if (lead := bound.get(found)) is not None})
    return Group(tuple(places), tuple(leads), tuple(keys.values()))
