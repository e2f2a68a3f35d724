"""Requests that fail as a whole block the destination: longer each time, and one probe tells when it is back."""

from __future__ import annotations

FIRST = 1.0  # seconds
LONGEST = 60.0
DAY = 86_400.0  # beyond it nobody can have meant it, and a probe costs one call


def pause(failures: int, dice: float, asked: float | None = None) -> float:
    """Seconds that nobody sends after the `failures`-th failed request in a row (1 = the first). dice: 0 <= dice < 1.

    At least what the CRM asked for; otherwise 1, 2, 4 ... 60 s, less up to half by the dice, so that several
    destinations behind one gateway do not come back in step.
    """
    own = min(LONGEST, FIRST * 2.0 ** min(max(failures, 1) - 1, 16)) * (1.0 - dice / 2.0)
    return min(max(asked, own), DAY) if asked is not None and asked > 0.0 else own  # a NaN is not above 0


def slots(failures: int, max_slots: int) -> int:
    """Requests that may be open at once: a single probe until one has been answered."""
    return 1 if failures > 0 else max_slots


def probe(failures: int, max_records: int) -> int:
    """Records in one request. After three failures in a row requests get smaller: if one record is what the CRM breaks
    on, the others get through without it.
    """
    return max(1, max_records >> max(0, failures - 2))
