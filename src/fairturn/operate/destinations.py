"""Destinations: what waits for each, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fairturn.config import Settings
from fairturn.desk import Acts, Reads
from fairturn.views import By, DestinationStanding, Pause


@dataclass(frozen=True, slots=True)
class DestinationView:
    standing: DestinationStanding
    type: str | None  # None: no longer in the settings
    mode: str | None
    daily: int | None = None  # requests a day, by the settings

    @property
    def limit(self) -> int | None:
        """Requests a day; None = what the CRM says."""
        return self.standing.daily_calls or self.daily

    @property
    def state(self) -> str:
        """One word for what it does now: the same that decides whether it is sent to (case 130)."""
        if self.standing.pause is not None:
            return "paused"
        if self.type is None:
            return "removed"
        if not self.standing.served:
            return "stopped"
        if self.standing.blocked_until is not None:
            return "blocked"
        return "shadow" if self.mode == "shadow" else "open"

    @property
    def cause(self) -> str | None:
        """Why it is not sent to, as a sentence."""
        standing = self.standing
        match self.state:
            case "paused" if standing.pause is not None:
                return f"by {standing.pause.by}: {standing.pause.reason or 'no reason given'}"
            case "removed":
                return "it is no longer in the settings"
            case "stopped":
                return "no worker runs: fairturn serve"
            case "blocked":
                return standing.blocked_cause
            case "shadow":
                return "batches are recorded, nothing is sent"
        return None

    def as_json(self) -> dict[str, object]:
        s = self.standing
        return {
            "destination": s.id,
            "type": self.type,
            "mode": self.mode,
            "state": self.state,
            "cause": self.cause,
            "paused_at": s.pause.at if s.pause else None,
            "blocked_until": s.blocked_until,
            "org": s.org,
            "waiting": s.pending,
            "in_flight": s.in_flight,
            "failed": s.failed,
            "oldest_waiting": s.oldest_at,
            "last_answer": s.answered_at,
            "calls_24h": s.calls_day,
            "daily_limit": self.limit,
        }


async def destinations(reads: Reads, settings: Settings | None) -> Sequence[DestinationView]:
    found = []
    for standing in await reads.destinations():
        known = settings.destinations.get(standing.id) if settings else None
        if known is None:
            found.append(DestinationView(standing, None, None))
        else:
            found.append(DestinationView(standing, known.type, known.mode, known.daily_calls))
    return found


async def pause(acts: Acts, destination: str, by: By) -> Pause | None:
    """The pause that stood already; None = nothing more is sent, while leads go on being taken and assigned."""
    return await acts.pause_destination(destination, by)


async def limit(acts: Acts, destination: str, daily: int | None, by: By) -> int | None:
    """The limit of requests a day that stood before. As it runs low changes wait longer, bulk first; None = as set."""
    return await acts.limit_destination(destination, daily, by)


async def backfill(acts: Acts, destination: str, since: datetime | None, by: By) -> int:
    """Leads of before the destination was in the settings are written there too, with their owner, behind new ones.

    `since`: only those that came after it. How many; what is written or waits there already is left alone.
    """
    return await acts.backfill(destination, since, by)


async def resume(acts: Acts, destination: str, by: By) -> bool:
    """False: it was open. What waits is sent in order, oldest first within its priority."""
    return await acts.resume_destination(destination, by)
