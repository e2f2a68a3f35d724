"""Ids as an answer names them: 15 or 18 characters, kept in the long form.

Stricter than that we are with what people type (decide/record_ids.py); the CRM's own word on its ids is taken.
"""

from __future__ import annotations

import re
from typing import Final

from fairturn.decide.record_ids import long_form

ID: Final = re.compile(r"[A-Za-z0-9]{15}(?:[A-Za-z0-9]{3})?", re.ASCII)


def answered_id(value: object) -> str | None:
    """The 18-character form, or None for what is no id."""
    if not isinstance(value, str) or not ID.fullmatch(value):
        return None
    return long_form(value) if len(value) == 15 else value


def same_id(one: str, other: str) -> bool:
    """The first 15 characters are the id, letter case included; the rest is a checksum of it (case 99)."""
    return one[:15] == other[:15]
