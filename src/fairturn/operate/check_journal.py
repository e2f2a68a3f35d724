"""Where webhooks are kept before the answer: PostgreSQL, or a Valkey before it."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import SplitResult, urlsplit

from fairturn.errors import Fault
from fairturn.operate.loaded import Loaded

SCHEMES = ("redis", "rediss", "valkey", "valkeys", "unix")
FORM = "Write redis://host:6379/0, rediss:// where it speaks TLS, or unix:///path"
NAMED = 'Write valkey_url = "env:VALKEY_URL", and set that variable to redis://host:6379/0'


def judge(loaded: Loaded) -> Iterator[Fault]:
    settings = loaded.settings
    url = settings.valkey_url
    if url is None:
        if settings.journal == "valkey":
            yield loaded.fault("journal", "the journal is Valkey, and nothing says where that is", NAMED)
        elif settings.valkey_stream != "fairturn":
            yield loaded.warning("valkey_stream", "a stream is named, and no Valkey", NAMED)
        return
    if url.startswith(("env:", "file:")):
        return
    parts = parted(url)
    if problem := problem_of(url):
        yield loaded.fault("valkey_url", problem, FORM)
    elif parts is not None and (parts.password is not None or "password=" in parts.query):
        yield loaded.fault("valkey_url", "a password must not stand in the settings", NAMED)


def problem_of(url: str) -> str | None:
    """What is wrong with an address, without repeating it: a password may be in it."""
    parts = parted(url)
    if parts is None or parts.scheme not in SCHEMES:
        return "this is no address of a Valkey or Redis"
    if parts.scheme == "unix":
        return None if parts.path else "no path of a socket stands in the address"
    return None if parts.hostname else "no host stands in the address"


def parted(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  raises where it is none
    except ValueError:
        return None
    return parts
