"""Who did what, when and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairturn.desk import Reads
from fairturn.views import HistoryLine

NAMED = 10  # of a list; --json has them all


async def history(reads: Reads, subject: str | None = None, limit: int = 50) -> Sequence[HistoryLine]:
    """Newest first. `subject`: one thing (`rep ann`), or all of a kind (`rep`)."""
    return await reads.history(subject, limit)


def in_words(detail: Mapping[str, object]) -> str:
    """What is kept beside an act, for reading: what says nothing is left out; --json has it as it is stored."""
    said = dict(detail)
    was, since, by = said.pop("was", None), said.pop("paused_at", None), said.pop("paused_by", None)
    words = [_entry(name, value) for name, value in said.items() if value not in (None, False, {})]
    if since:
        moment = str(since)[:16].replace("T", " ")
        words.insert(0, f"paused since {moment} UTC by {by}: {was or 'no reason given'}")
    return "; ".join(words)


def _entry(name: str, value: object) -> str:
    label = name.replace("_", " ")
    if value is True:
        return label
    if isinstance(value, Mapping):
        return f"{label}: {', '.join(f'{key} {one}' for key, one in value.items())}"
    if isinstance(value, int) and label.endswith("s"):  # a count stands before its noun, a lead's number behind it
        return f"{value:,} {label.removesuffix('s') if value == 1 else label}"
    if isinstance(value, list):
        more = f" and {len(value) - NAMED:,} more" if len(value) > NAMED else ""
        return f"{label.removesuffix('s') if len(value) == 1 else label} {', '.join(map(str, value[:NAMED]))}{more}"
    return f"{label} {value}"


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
