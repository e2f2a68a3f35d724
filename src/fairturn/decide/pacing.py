"""How fast a destination may be called: bursts by a token bucket, the day by a budget that stretches the windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from fairturn.model import Rate

Priority = Literal["high", "normal", "bulk"]

DAY = 86_400.0
LONGEST = 3_600.0  # seconds that a budget may hold a change back
OURS = 0.9  # of a limit that a CRM tells: the rest is for requests that cross ours, and for other programs
# The share of the day's calls that is left when a priority begins to wait longer. Bulk gives way first.
GIVES_WAY: Mapping[Priority, float] = {"high": 0.05, "normal": 0.20, "bulk": 0.50}


@dataclass(frozen=True, slots=True)
class Bucket:
    """Calls that may be made at once, refilled evenly. `at`: monotonic seconds of the last change."""

    capacity: float
    rate: float  # calls a second
    tokens: float
    at: float

    @classmethod
    def full(cls, capacity: float, rate: float, at: float) -> Bucket:
        return cls(capacity, rate, capacity, at)


def spend(bucket: Bucket, at: float, calls: int = 1) -> tuple[Bucket, float]:
    """The bucket after `calls`, and the seconds to wait before making them (0 = now)."""
    tokens = min(bucket.capacity, bucket.tokens + max(0.0, at - bucket.at) * bucket.rate)
    left = tokens - calls
    return replace(bucket, tokens=left, at=max(at, bucket.at)), max(0.0, -left / bucket.rate)


def wait_of(bucket: Bucket, at: float, calls: int = 1) -> float:
    """Seconds until `calls` could be made, without spending them."""
    return spend(bucket, at, calls)[1]


def resized(bucket: Bucket, told: Rate, at: float) -> Bucket:
    """The bucket for a limit as the CRM tells it, from what is left of it now.

    Half of our share may leave at once and half is refilled meanwhile, so that no stretch of `told.seconds` sees more
    than the share, wherever it begins.
    """
    if told.most < 1 or not 0.0 < told.seconds <= DAY:
        return bucket
    share = max(2.0, told.most * OURS)
    capacity, rate = share / 2.0, share / 2.0 / told.seconds
    now, _ = spend(bucket, at, 0)
    tokens = min(capacity, now.tokens)
    if told.left is not None:
        tokens = min(tokens, told.left - (told.most - share))
    return Bucket(capacity, rate, tokens, now.at)


def lingers(used: int, allowed: int | None, linger: float) -> Mapping[Priority, float]:
    """Seconds that each priority's changes wait, given the calls of the last 24 hours and what is allowed in them.

    Once less than its share (GIVES_WAY) is left, a priority's wait grows smoothly from `linger` towards the spacing
    that spreads the rest over a whole day. Salesforce's figure is approximate and shared by every integration of the
    org (api-usage in Sforce-Limit-Info), so it bends the pace and never decides alone.
    """
    if not allowed:
        return {}
    left = max(0, allowed - used)
    spacing = min(LONGEST, DAY / left) if left else LONGEST
    share = left / allowed
    return {
        priority: linger + (start - share) / start * max(0.0, spacing - linger)
        for priority, start in GIVES_WAY.items()
        if share < start
    }


def ceiling(failed: int, allowed: int) -> str | None:
    """Why the destination has to stop, if `failed` writes of the last hour are too many."""
    if failed < allowed:
        return None
    return (
        f"{failed} writes failed within an hour (max_failed = {allowed}). Nothing more is sent until somebody has "
        "looked at the failed writes and resumes the destination"
    )
