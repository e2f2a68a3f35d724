"""When an event happened, from what senders write. Never the server's zone; what can be read two ways is not read."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# A count since 1970 tells its unit by its size: seconds reach 1e11 in the year 5138, milliseconds were there in 1973.
UNITS: Final = ((10**11, 1_000_000), (10**14, 1_000), (10**17, 1))
COUNT: Final = re.compile(r"[+-]?\d{9,20}(?:\.\d{1,9})?", re.ASCII)
SLASHED: Final = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})", re.ASCII)
TWO_WAYS: Final = re.compile(r"\d{1,2}[/.\-]\d{1,2}[/.\-]\d{2,4}\b", re.ASCII)
ZONE: Final = re.compile(r"\s*(?:UTC|GMT|Z)$|\s+(?=[+-]\d{2}:?\d{2}$)", re.ASCII | re.IGNORECASE)
MAIL: Final = re.compile(
    r"(?:[A-Za-z]{3},\s*)?(\d{1,2}) ([A-Za-z]{3}) (\d{4}) (\d{2}):(\d{2})(?::(\d{2}))? ?(GMT|UTC|Z|[+-]\d{4})", re.ASCII
)
MONTHS: Final = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


class Unreadable(Exception):
    """This is not one instant; the text says why."""


def instant(value: object, zone: tzinfo) -> datetime:
    """A moment in UTC. Raises Unreadable.

    ISO 8601 (also with a blank for T, with slashes, with " UTC" or a blank before the offset), a mail header's date, or
    a count since 1970 in seconds, milliseconds or microseconds, told apart by size. Text without a zone is in `zone`;
    of an hour that a clock change repeats, the first. `02/03/2026` is refused, and so is `13/03/2026`: the sender's
    next date would be read the other way round.
    """
    if isinstance(value, bool) or value is None:
        raise Unreadable("not a time")
    if isinstance(value, int | float | Decimal):
        return counted(value)
    if not isinstance(value, str) or len(value) > 100:
        raise Unreadable("not a time")
    text = value.strip()
    if COUNT.fullmatch(text):
        return counted(Decimal(text))
    return written(text, zone)


def counted(value: float | Decimal) -> datetime:
    try:
        exact = value if isinstance(value, Decimal) else Decimal(value)
        for limit, factor in UNITS:
            if abs(exact) < limit:
                return EPOCH + timedelta(microseconds=int(exact * factor))
    except (ArithmeticError, ValueError):
        pass
    raise Unreadable("no such moment")


def written(text: str, zone: tzinfo) -> datetime:
    if TWO_WAYS.match(text):
        raise Unreadable("day and month can be read two ways; send ISO 8601, such as 2026-03-02T10:00:00Z")
    try:
        if match := MAIL.fullmatch(text):
            moment = from_mail(match)
        else:
            text = SLASHED.sub(lambda date: f"{date[1]}-{date[2]:0>2}-{date[3]:0>2}", text, count=1)
            named = ZONE.search(text)
            if named and not named[0].isspace():
                text = text[: named.start()] + "+00:00"
            elif named:
                text = text[: named.start()] + text[named.end() :]
            moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Unreadable("not a time; send ISO 8601, such as 2026-03-02T10:00:00Z") from None


def from_mail(match: re.Match[str]) -> datetime:
    day, month, year, hour, minute, second, offset = match.groups()
    place = MONTHS.index(month.lower()) + 1
    zone = offset if offset[0] in "+-" else "+00:00"
    return datetime.fromisoformat(f"{year}-{place:02}-{int(day):02}T{hour}:{minute}:{second or '00'}{zone}")


def iso(moment: datetime) -> str:
    """The one form in which lead fields hold times: UTC, seconds, a fraction only where there is one."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
