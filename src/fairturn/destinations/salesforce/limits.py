"""What Salesforce says of its limits: Sforce-Limit-Info and the two meanings of REQUEST_LIMIT_EXCEEDED."""

from __future__ import annotations

import re
from typing import Final

DAILY: Final = 900.0  # seconds; the daily limit is a rolling 24 h, so a probe every quarter of an hour finds room
CONCURRENT: Final = 5.0  # seconds; too many requests that ran 20 s or longer
PERSON: Final = 300.0  # seconds between tries of what only a person can mend: storage, API switched off, the login

# What says that the org's own automation could not swallow so many records in one transaction: (code, None = any; a
# part of the message). Fewer at once may go through. Anything else that a trigger or a flow says is about the record.
# https://developer.salesforce.com/docs/atlas.en-us.apexcode.meta/apexcode/apex_gov_limits.htm
AUTOMATION: Final[tuple[tuple[str | None, str], ...]] = (
    (None, "system.limitexception"),
    (None, "apex cpu time limit exceeded"),
    (None, "too many soql queries"),
    (None, "too many sosl queries"),
    (None, "too many query rows"),
    (None, "too many query locator rows"),
    (None, "too many dml"),
    (None, "too many future calls"),
    (None, "too many queueable jobs"),
    (None, "too many callouts"),
    (None, "too many email invocations"),
    (None, "too many batch retries in the presence of apex triggers and partial failures"),
    (None, "apex heap size too large"),
    (None, "number of iterations exceeded"),  # of a flow: 2,000 elements, of all its records together
    (None, "your request was running for too long"),
    ("CANNOT_EXECUTE_FLOW_TRIGGER", "limit_exceeded"),
    ("CANNOT_EXECUTE_FLOW_TRIGGER", "limit exceeded"),
    ("CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", "limit_exceeded"),
    ("REQUEST_RUNNING_TOO_LONG", ""),
    ("TXN_SECURITY_METERING_ERROR", ""),  # the policies of transaction security ran out of time together
)

# `api-usage=18/5000; per-app-api-usage=17/250(appName=x)`: only the first is the org's daily figure.
# https://developer.salesforce.com/docs/platform/api-rest/guide/headers-api-usage.html
USAGE: Final = re.compile(r"(?:^|[;,\s])api-usage=(\d{1,12})/(\d{1,12})")


def usage(header: str | None) -> tuple[int, int] | None:
    """(used, allowed) of the last 24 hours, for the whole org; approximate and not monotonic."""
    match = USAGE.search(header or "")
    return (int(match[1]), int(match[2])) if match else None


def limit_pause(message: str) -> float:
    """Seconds to leave the org alone after REQUEST_LIMIT_EXCEEDED; only the message tells which limit it was."""
    if "totalrequests" in message.lower():
        return DAILY
    if "concurrentrequests" in message.lower():
        return CONCURRENT
    return 60.0


def overloads(code: str, message: str) -> bool:
    """Whether a row failed because there were too many in its transaction, and not for what it holds."""
    text = message.lower()
    return any(only in (None, code) and part in text for only, part in AUTOMATION)
