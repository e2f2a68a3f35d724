"""Phone numbers to E.164. What cannot be a number is kept as typed; a region is given, never guessed from an IP."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import phonenumbers

LONGEST: Final = 100  # characters; the library refuses beyond 250


@lru_cache(maxsize=20_000)
def phone(text: str, region: str | None) -> tuple[str, str | None]:
    """(+14155550100, mark). `region` is an ISO alpha-2 country for numbers without +; also 00 and 011 prefixes need it.

    Possible is enough: ranges open faster than tables are updated, so a number that no table knows is not refused. An
    extension is kept: "+14155550100 ext. 12".
    """
    if len(text) > LONGEST:
        return text, "too long for a number, kept as typed"
    try:
        found = phonenumbers.parse(text, region)
        if not phonenumbers.is_possible_number(found):
            return text, "not a possible number, kept as typed"
    except phonenumbers.NumberParseException:
        why = "not a number" if region or text.lstrip().startswith("+") else "no country known"
        return text, f"{why}, kept as typed"
    shown = phonenumbers.format_number(found, phonenumbers.PhoneNumberFormat.E164)
    return (f"{shown} ext. {found.extension}" if found.extension else shown), None


def is_region(code: str) -> bool:
    """A country whose numbers are known: DE, US, GB ..."""
    return code.upper() in phonenumbers.SUPPORTED_REGIONS
