"""What an e-mail address says of a person and a company. Nothing is ever rejected here: what does not validate is kept.

Three forms of one address:
- as it came: in the event's raw bytes;
- shown: without blanks, mailto:, display name and trailing dot, in lower case (Salesforce and HubSpot both store it so,
  and answer so; sent as typed, every other spelling would be one more write). Tags and dots are kept: mail goes there;
- normalised: what identifies the lead. The domain in ASCII; googlemail.com is gmail.com and its dots mean nothing; a
  +tag is dropped at providers that document it (mailboxes.TAGGED) and kept elsewhere, as ops+anna@acme.com and
  ops+ben@acme.com may be two people, and two leads merged by mistake cannot be told apart again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final, Literal

from email_validator import EmailNotValidError, validate_email
from publicsuffixlist import PublicSuffixList

from fairturn.config import Organisation, Routing
from fairturn.decide import mailboxes
from fairturn.decide.typed import BLANK, clean
from fairturn.model import FieldValue
from fairturn.quick import quick

EmailKind = Literal["work", "free", "disposable", "relay", "invalid", "none"]
DomainKind = Literal["own", "competitor", "test", "other"]

REMEMBERED: Final = 20_000  # addresses; a burst's events repeat them, and parsing one costs some 60 µs
LONGEST: Final = 1000  # characters of what may be an address; RFC 5321 allows 254
SEVERAL: Final = re.compile(r"[;,\s]+")
# Local parts of whom no letter depends on the host: the library takes every one of them as it is.
PLAIN_LOCAL: Final = re.compile(r"(?=.{1,64}\Z)[a-z0-9_+-]+(?:\.[a-z0-9_+-]+)*", re.ASCII | re.IGNORECASE)
# As nearly all are: no blank, no name, no bracket around it, nothing to clean.
BARE: Final = re.compile(r"[a-z0-9_.+-]+@[a-z0-9.-]*[a-z0-9]", re.ASCII | re.IGNORECASE)
SHORT: Final = 240  # characters of ASCII: below it no limit of the whole address is passed, stand-in included
HOST: Final = re.compile(
    r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9-]*[a-z-][a-z0-9-]*", re.ASCII
)


@quick(frozen=True, slots=True)
class EmailFacts:
    normalised: str | None  # identifies the lead; None = there is no address, or a placeholder such as n/a
    shown: str  # what the CRM gets; "" = none
    host: str | None  # the full domain in ASCII, for aliases and own domains
    domain: str | None  # registrable domain in ASCII: eu.acme.co.uk -> acme.co.uk; None for co.uk, IPs, nonsense
    kind: EmailKind
    domain_kind: DomainKind
    mark: str | None = None  # what a person should know about it


NO_ADDRESS: Final = EmailFacts(None, "", None, None, "none", "other")
AddressReader = Callable[[str | None], EmailFacts]


def email_facts(text: str | None, organisation: Organisation, routing: Routing) -> EmailFacts:
    """Facts of an address as typed or as stored. Never raises; None and blank give kind "none"."""
    return address_reader(organisation, routing)(text)


@lru_cache(maxsize=2)
def address_reader(organisation: Organisation, routing: Routing) -> AddressReader:
    """The same for many addresses under one settings: to look those up takes 4 us, as long as to read an address."""
    remembered = lru_cache(maxsize=REMEMBERED)(partial(facts_of, lists=domain_lists(organisation, routing)))

    def read(text: str | None) -> EmailFacts:
        return remembered(text[:LONGEST]) if text else NO_ADDRESS

    return read


def facts_of(text: str, lists: DomainLists) -> EmailFacts:
    bare, mark = (text, None) if BARE.fullmatch(text) else bare_address(text)
    if not bare:
        return NO_ADDRESS
    found = parsed(bare)
    if found is None:
        return not_valid(bare, lists)
    nobody = found.local in mailboxes.NOBODY
    domain = registrable(found.host)
    return EmailFacts(
        normalised=None if nobody else identity(found.local, found.host),
        shown=f"{found.local}@{found.host_shown}",
        host=found.host,
        domain=domain,
        kind=lists.mail(found.host, domain),
        domain_kind=lists.relation(found.host, domain, found.local),
        mark="nobody's address" if nobody else mark,
    )


def derived(facts: EmailFacts) -> dict[str, FieldValue]:
    """The fields that rules may read and mappings may not set (config.DERIVED_FIELDS)."""
    return {"email_domain": facts.domain, "email_kind": facts.kind, "domain_kind": facts.domain_kind}


def bare_address(text: str) -> tuple[str, str | None]:
    """`"Fred" <mailto:Fred@x.test.>` -> fred@x.test, in the sender's letter case; of several addresses the first."""
    bare = clean(text)
    if not bare.isascii() and any("\uff01" <= char <= "\uff5e" for char in bare):
        bare = unicodedata.normalize("NFKC", bare)  # full-width forms look the same and are typed by mistake
    named = bare.rstrip(" .,;")
    if named.endswith(">") and "<" in named:
        bare = named[named.rfind("<") + 1 : -1].strip()
    if bare[:7].lower() == "mailto:":
        bare = bare[7:].partition("?")[0]
    bare = trimmed(bare)
    if bare.count("@") > 1 and (found := [part for part in map(trimmed, SEVERAL.split(bare)) if "@" in part])[1:]:
        return found[0], "several addresses, the first taken"
    return bare, None


def trimmed(bare: str) -> str:
    return bare.lstrip(BLANK + "\"'<>").rstrip(BLANK + "\"'<>.,;:")


@quick(frozen=True, slots=True)
class Parsed:
    local: str  # lower case
    host: str  # ASCII
    host_shown: str  # Unicode, whichever way it was written


def parsed(bare: str) -> Parsed | None:
    """None when it does not validate. No DNS: a name server must not decide how long a webhook waits."""
    local, _, host = bare.rpartition("@")
    if len(bare) <= SHORT and bare.isascii() and PLAIN_LOCAL.fullmatch(local):
        known = known_host(host)
        return Parsed(local.lower(), *known) if known else None
    return validated(bare)


@lru_cache(maxsize=REMEMBERED)
def known_host(host: str) -> tuple[str, str] | None:
    """In ASCII and in Unicode. With a plain local part the host alone decides, and a burst's leads share theirs."""
    found = validated(f"x@{host}")
    return (found.host, found.host_shown) if found else None


def validated(bare: str) -> Parsed | None:
    # The library refuses names under .test or .local as undeliverable; that is none of identity's business.
    stand_in = ".com" if bare.rpartition(".")[2].lower() in mailboxes.SPECIAL_USE else ""
    try:
        found = validate_email(bare + stand_in, check_deliverability=False, allow_smtputf8=True)
    except EmailNotValidError:
        return None
    host = found.ascii_domain.lower().removesuffix(stand_in)
    if not HOST.fullmatch(host) or "\ufffd" in found.local_part:  # letters lost on the way: whose is it?
        return None
    return Parsed(found.local_part.lower(), host, found.domain.lower().removesuffix(stand_in))


def identity(local: str, host: str) -> str:
    if host == "googlemail.com":
        host = "gmail.com"
    if host in mailboxes.TAGGED:
        local = local.partition("+")[0] or local
    if host == "gmail.com":
        local = local.replace(".", "") or local
    return f"{local}@{host}"


def not_valid(bare: str, lists: DomainLists) -> EmailFacts:
    """Kept and marked, and still what the lead is known by; but its domain makes no account."""
    local, at, host = bare.lower().rpartition("@")
    host_or_none = host if at and HOST.fullmatch(host) else None
    domain = registrable(host_or_none) if host_or_none else None
    nothing = mailboxes.is_nothing(bare)
    return EmailFacts(
        normalised=None if nothing else " ".join(bare.casefold().split()),
        shown=bare,
        host=host_or_none,
        domain=domain,
        kind="invalid",
        domain_kind=lists.relation(host_or_none, domain, local) if host_or_none else "other",
        mark="a placeholder, not an address" if nothing else "not a valid address",
    )


@lru_cache(maxsize=1)
def suffixes() -> PublicSuffixList:
    """With the private rules: two shops at myshopify.com are two companies."""
    return PublicSuffixList()


@lru_cache(maxsize=REMEMBERED)
def registrable(host: str) -> str | None:
    """eu.acme.co.uk -> acme.co.uk. None for what is nobody's own (co.uk, github.io). An IP address never gets here."""
    return suffixes().privatesuffix(host)


@dataclass(frozen=True, slots=True)
class DomainLists:
    """The built-in lists as this organisation corrects them. A listed domain covers the names below it."""

    free: frozenset[str]
    company: frozenset[str]
    own: frozenset[str]
    competitors: frozenset[str]

    def mail(self, host: str, domain: str | None) -> EmailKind:
        if within(host, domain, self.company):
            return "work"
        if within(host, domain, mailboxes.RELAYS):
            return "relay"
        if within(host, domain, self.free):
            return "free"
        if within(host, domain, mailboxes.disposable()):
            return "disposable"
        return "free" if within(host, domain, mailboxes.free()) else "work"

    def relation(self, host: str, domain: str | None, local: str) -> DomainKind:
        if below(host, self.own):
            return "own"
        if below(host, self.competitors):
            return "competitor"
        if below(host, mailboxes.RESERVED) or (local.startswith("test") and domain in mailboxes.TRIED_OUT):
            return "test"
        return "other"


@lru_cache(maxsize=8)
def domain_lists(organisation: Organisation, routing: Routing) -> DomainLists:
    return DomainLists(
        free=named(routing.free_domains),
        company=named(routing.company_domains),
        own=named(organisation.own_domains),
        competitors=named(organisation.competitors),
    )


def named(domains: tuple[str, ...]) -> frozenset[str]:
    return frozenset(filter(None, map(ascii_host, domains)))


def ascii_host(domain: str) -> str | None:
    """The settings' spelling of a domain (Acme.com, @acme.com, münchen.de) in the form that facts have."""
    bare = domain.strip().lower().lstrip("@*.").rstrip(".")
    found = parsed(f"x@{bare}")
    return found.host if found else bare or None


def within(host: str, domain: str | None, listed: frozenset[str]) -> bool:
    return host in listed or domain in listed


def below(host: str, listed: frozenset[str]) -> bool:
    """Is this host, or any name above it, listed?"""
    if not listed:
        return False
    while host not in listed:
        _, dot, host = host.partition(".")
        if not dot:
            return False
    return True
