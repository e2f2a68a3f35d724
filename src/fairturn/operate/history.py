"""Who did what, when and why."""

from __future__ import annotations

from collections.abc import Sequence

from fairturn.model import HistoryLine
from fairturn.ports import Reads


async def history(reads: Reads, subject: str | None = None, limit: int = 50) -> Sequence[HistoryLine]:
    """Newest first. `subject`: one thing (`rep ann`), or all of a kind (`rep`)."""
    return await reads.history(subject, limit)


def as_json(line: HistoryLine) -> dict[str, object]:
    return {
        "id": line.id,
        "at": line.at,
        "actor": line.actor,
        "act": line.verb,
        "on": line.subject,
        "reason": line.reason,
        "detail": line.detail,
    }
