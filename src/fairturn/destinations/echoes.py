"""Our own secrets in the CRM's words: should it echo them, they would be kept, shown and logged."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

import orjson


def spellings(secret: str) -> frozenset[bytes]:
    """As it is, as a URL has it, and as a JSON text has it, with and without the escaped slash of some writers."""
    inside = orjson.dumps(secret)[1:-1]
    return frozenset({secret.encode(), quote(secret, safe="").encode(), inside, inside.replace(b"/", b"\\/")})


def all_spellings(secrets: Iterable[str | None]) -> tuple[bytes, ...]:
    """Of each secret, the longest first: one may be part of another."""
    return tuple(sorted({form for text in secrets if text for form in spellings(text)}, key=len, reverse=True))


def masked(body: bytes, forms: Iterable[bytes]) -> bytes:
    for form in forms:
        body = body.replace(form, b"***")
    return body
