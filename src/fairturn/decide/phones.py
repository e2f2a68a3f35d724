"""Phone numbers to E.164. What cannot be a number is kept as typed; a region is given, never guessed from an IP."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import phonenumbers

LONGEST: Final = 100  # characters; the library refuses beyond 250


def phone(text: str, home: str | None, source: str | None = None) -> tuple[str, str | None]:
    """("+14155550100", mark). For numbers without + (00 and 011 prefixes included) the region is the lead's country,
    `home`, or the one that the source is mostly filled in from; both are ISO alpha-2.

    The first region under which the number exists decides, else the first under which it is possible: ranges open
    faster than tables are updated, so possible is enough. An extension is kept: "+14155550100 ext. 12".
    """
    if len(text) > LONGEST:
        return text, "too long for a number, kept as typed"
    return read(text, home, source)


@lru_cache(maxsize=20_000)
def read(text: str, home: str | None, source: str | None) -> tuple[str, str | None]:
    regions = tuple(region for region in (home, source) if region) or (None,)
    found = [number for region in regions if (number := possible(text, region))]
    if not found:
        known = regions[0] or text.lstrip().startswith("+")
        return text, f"{'not a possible number' if known else 'no country known'}, kept as typed"
    best = found[0] if len(found) == 1 else next(filter(phonenumbers.is_valid_number, found), found[0])
    shown = phonenumbers.format_number(best, phonenumbers.PhoneNumberFormat.E164)
    return (f"{shown} ext. {best.extension}" if best.extension else shown), None


def possible(text: str, region: str | None) -> phonenumbers.PhoneNumber | None:
    try:
        number = phonenumbers.parse(text, region)
    except phonenumbers.NumberParseException:
        return None
    return number if phonenumbers.is_possible_number(number) else None


def is_region(code: str) -> bool:
    """A country whose numbers are known: DE, US, GB ..."""
    return code.upper() in phonenumbers.SUPPORTED_REGIONS
