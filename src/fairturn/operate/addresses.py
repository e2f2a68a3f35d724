"""Whether a URL of the settings may be called: no internal address by accident or on purpose (case 122).

This looks at the text. What a name resolves to is checked where the connection is made, with the address pinned.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

NUMBER: Final = re.compile(r"0[xX][0-9a-fA-F]+|\d+", re.ASCII)
INTERNAL: Final = (".localhost", ".local", ".internal", ".localdomain", ".home.arpa")


def url_problem(url: str, *, allow_private: bool) -> tuple[str, str] | None:
    """What is wrong with the URL and what to write instead; None = it may be called."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "this is no URL", WRITE
    if not url.isascii() or re.search(r"[\s\\]", url):
        return "this is no URL", f"{WRITE}, without blanks or special characters"
    if parts.scheme not in {"http", "https"}:
        return f"{parts.scheme or 'no scheme'} is not called", WRITE
    if parts.username is not None or parts.password is not None:
        return "a name or password stands in the URL", "Take out what stands before the @"
    if not host:
        return "the host is missing", WRITE
    if parts.query or parts.fragment or parts.path.rstrip("/"):
        return "only the host is wanted here", f"Write {parts.scheme}://{host}" + (f":{port}" if port else "")
    return None if allow_private else exposed(parts.scheme, host)


def exposed(scheme: str, host: str) -> tuple[str, str] | None:
    if problem := internal(host):
        return problem
    return None if scheme == "https" else ("the secret would travel unencrypted", f"Write https://{host}")


WRITE: Final = 'Write your My Domain: "https://acme.my.salesforce.com"'
ALLOW: Final = "Write the CRM's own name; only for a simulator or proxy of yours, add allow_private = true"


def internal(host: str) -> tuple[str, str] | None:
    name = host.rstrip(".").lower()
    address = numeric(name)
    if address is not None:
        if not address.is_global or address.is_multicast:
            return f"{host} is an address within a network ({address})", ALLOW
        return f"{host} is a bare address", ALLOW
    if name == "localhost" or name.endswith(INTERNAL) or "." not in name:
        return f"{host} is a name within a network", ALLOW
    return None


def numeric(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host is, also as resolvers take it: 127.1, 0x7f000001, 2130706433, 0177.0.0.1."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return short_form(host)
    mapped = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
    return mapped or address


def short_form(host: str) -> ipaddress.IPv4Address | None:
    """inet_aton's forms. What looks like one and is none counts as 0.0.0.0: no name is all digits at its end."""
    pieces = host.split(".")
    if len(pieces) > 4 or not all(NUMBER.fullmatch(piece) for piece in pieces):
        return None
    try:
        numbers = [int(piece, base(piece)) for piece in pieces]
    except ValueError:  # 08: no octal number, though some read it so
        return ipaddress.IPv4Address(0)
    total = numbers[-1] + sum(number << (24 - 8 * place) for place, number in enumerate(numbers[:-1]))
    return ipaddress.IPv4Address(total if total < 2**32 else 0)


def base(piece: str) -> int:
    if piece[:2].lower() == "0x":
        return 16
    return 8 if piece.startswith("0") and piece != "0" else 10
