"""What HubSpot says of its limits: a rolling ten seconds per app, a day per account, five searches a second.

https://developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fairturn.destinations.http import LONGEST_PAUSE, retry_after
from fairturn.model import Rate

MAX_RECORDS: Final = 100  # inputs of one batch
ROLLING: Final = 10.0  # seconds; TEN_SECONDLY_ROLLING
SECONDLY: Final = 1.0  # searches, and what older accounts were told
DAILY: Final = (
    900.0  # seconds; the day ends at midnight of the account's zone: a probe each quarter of an hour finds it
)
LOCKED: Final = 2.0  # seconds; HubSpot's locks last as long
MIGRATION: Final = 600.0  # seconds; 477 says how long, up to a day
PERSON: Final = 300.0  # seconds between tries of what only a person can mend: scopes, the token, the unique property
DAY: Final = 86_400.0  # seconds of a Retry-After that is believed of a migration or a day's end
HEADER: Final = "x-hubspot-ratelimit-"


def rate(headers: Mapping[str, str]) -> Rate | None:
    """The app's own burst; searches carry none. `-Secondly` is deprecated and means nothing."""
    most = _number(headers, "max")
    milliseconds = _number(headers, "interval-milliseconds")
    if not most or not milliseconds:
        return None
    return Rate(most, milliseconds / 1000.0, _number(headers, "remaining"))


def quota(headers: Mapping[str, str]) -> tuple[int, int] | None:
    """(used, allowed) of the day, for the whole account. Not told to OAuth apps."""
    most, left = _number(headers, "daily"), _number(headers, "daily-remaining")
    return None if not most or left is None else (max(0, most - left), most)


def limit_pause(policy: str, message: str, headers: Mapping[str, str]) -> float:
    """Seconds to leave the account alone after a 429. Search names no policy: its message tells."""
    words = f"{policy} {message}".casefold()
    if "daily" in words:
        return retry_after(headers, DAY) or DAILY
    if (told := retry_after(headers)) is not None:
        return max(told, SECONDLY)
    if "ten_secondly" in words:
        found = rate(headers)
        return ROLLING if found is None else min(max(found.seconds, SECONDLY), LONGEST_PAUSE)
    return SECONDLY if "secondly" in words else ROLLING


def _number(headers: Mapping[str, str], name: str) -> int | None:
    text = headers.get(HEADER + name, "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 13 else None
