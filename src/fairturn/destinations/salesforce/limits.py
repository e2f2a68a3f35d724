"""What Salesforce says of its limits: Sforce-Limit-Info and the two meanings of REQUEST_LIMIT_EXCEEDED."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

MAX_RECORDS: Final = 200  # records in one sObject Collections request
DAILY: Final = 900.0  # seconds; the daily limit is a rolling 24 h, so a probe every quarter of an hour finds room
CONCURRENT: Final = 5.0  # seconds; too many requests that ran 20 s or longer
PERSON: Final = 300.0  # seconds between tries of what only a person can mend: storage, API switched off, the login

# `api-usage=18/5000; per-app-api-usage=17/250(appName=x)`: only the first is the org's daily figure.
# https://developer.salesforce.com/docs/platform/api-rest/guide/headers-api-usage.html
USAGE: Final = re.compile(r"(?:^|[;,\s])api-usage=(\d{1,12})/(\d{1,12})")


def usage(header: str | None) -> tuple[int, int] | None:
    """(used, allowed) of the last 24 hours, for the whole org; approximate and not monotonic."""
    match = USAGE.search(header or "")
    return (int(match[1]), int(match[2])) if match else None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds. Salesforce itself sends none; a gateway before it may. Dates and nonsense are passed over."""
    text = headers.get("retry-after", "").strip()
    return min(float(text), 3_600.0) if text.isascii() and text.isdigit() and len(text) < 9 else None


def limit_pause(message: str) -> float:
    """Seconds to leave the org alone after REQUEST_LIMIT_EXCEEDED; only the message tells which limit it was."""
    if "totalrequests" in message.lower():
        return DAILY
    if "concurrentrequests" in message.lower():
        return CONCURRENT
    return 60.0
