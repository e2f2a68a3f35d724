"""Whether a record says anything new. A change that changes nothing is no call to the CRM."""

from __future__ import annotations

from collections.abc import Mapping


def differs(record: Mapping[str, object], confirmed: Mapping[str, object] | None) -> bool:
    """Would this record, as it would be sent, change the one that the CRM last confirmed? Unknown counts as yes.

    Only what is sent is compared. Blank is the same as null, 7 the same as 7.0 (but not as "7" or true), and an address
    the same in any letter case: that is how CRMs give them back.
    """
    if confirmed is None:
        return True
    return any(seen(value) != seen(confirmed.get(name)) for name, value in record.items())


def seen(value: object) -> object:
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, str) and "@" in value and " " not in value:
        return value.casefold()
    return value
