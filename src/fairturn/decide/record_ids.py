"""Salesforce record ids: 15 characters whose letter case matters, or the same with a suffix of 3 that carries the case.

https://help.salesforce.com/s/articleView?id=000385585 (15 to 18). Ids are compared in the long form only, and never
regardless of case: `...GNy` and `...GNY` are two records (case 99).
"""

from __future__ import annotations

import re
from typing import Final

ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"
RECORD_ID: Final = re.compile(r"[A-Za-z0-9]{15}(?:[A-Za-z0-9]{3})?", re.ASCII)
COPIED: Final = re.compile(r"0[A-Za-z0-9]{9,30}", re.ASCII)  # ids of standard objects begin with 0


def suffix(short: str) -> str:
    """The three characters behind a 15-character id: one bit per capital letter, five letters per character."""
    bits = [
        sum(1 << place for place, letter in enumerate(short[at : at + 5]) if "A" <= letter <= "Z") for at in (0, 5, 10)
    ]
    return "".join(ALPHABET[bit] for bit in bits)


def is_record_id(text: str) -> bool:
    """15 characters, or 18 whose suffix fits; 16 and 17 are cut or mistyped."""
    return bool(RECORD_ID.fullmatch(text)) and (len(text) == 15 or suffix(text[:15]) == text[15:].upper())


def meant_as_id(text: str) -> bool:
    """Whether somebody copied an id, if perhaps a wrong or a cut one; otherwise the text is a name or an address."""
    return bool(COPIED.fullmatch(text))


def may_own(text: str) -> bool:
    """The id of a queue or a user."""
    return is_record_id(text) and text[:3] in {"00G", "005"}


def long_form(text: str) -> str:
    """The 18-character form of an id. Raises ValueError for what is none."""
    if not is_record_id(text):
        msg = f"{text[:40]!r} is no Salesforce id: those have 15 characters, or 18 with their suffix"
        raise ValueError(msg)
    return text[:15] + suffix(text[:15])
