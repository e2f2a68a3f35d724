"""Reps: who takes turns now, who does not, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairturn.config import Settings
from fairturn.desk import Acts, Reads
from fairturn.views import By, Pause, RepStanding

REFUSED = "fairturn"  # who pauses a rep whom the CRM refuses as an owner


@dataclass(frozen=True, slots=True)
class RepView:
    id: str
    name: str
    pools: Mapping[str, int]  # pool -> weight, as the settings in force say
    pause: Pause | None
    leads_day: int

    def as_json(self) -> dict[str, object]:
        return {
            "rep": self.id,
            "name": self.name,
            "paused": self.pause is not None,
            "reason": self.pause.reason if self.pause else None,
            "paused_by": self.pause.by if self.pause else None,
            "paused_at": self.pause.at if self.pause else None,
            "pools": dict(self.pools),
            "leads_24h": self.leads_day,
        }


def mending(views: Sequence[RepView]) -> str | None:
    """What to do about those whom the CRM refused; a rep whom a person paused needs nothing."""
    refused = [view.id for view in views if view.pause and view.pause.by == REFUSED]
    if not refused:
        return None
    return (
        "Whom the CRM refuses: mend the user there, or correct the rep's ids in the settings and restart; then "
        f"`fairturn reps resume {' '.join(refused)}`."
    )


async def reps(reads: Reads, settings: Settings | None) -> Sequence[RepView]:
    """Everybody in force. Who left the settings is listed only while still in a pool, or paused."""
    views = []
    for standing in await reads.reps():
        known = settings.reps.get(standing.id) if settings else None
        if settings and known is None and not standing.pools and standing.pause is None:
            continue
        views.append(_view(standing, known.name if known else standing.id, settings))
    return views


def _view(standing: RepStanding, name: str, settings: Settings | None) -> RepView:
    pools = {
        pool: settings.pools[pool].members.get(standing.id, 0) if settings and pool in settings.pools else 0
        for pool in standing.pools
    }
    return RepView(standing.id, name, pools, standing.pause, standing.leads_day)


async def pause(acts: Acts, rep: str, by: By) -> Pause | None:
    """The pause that stood already, left as it is; None = from now on no turn goes to the rep."""
    return await acts.pause_rep(rep, by)


async def resume(acts: Acts, reps: Sequence[str], by: By) -> frozenset[str]:
    """Those who were paused. They come back together, so that held leads are shared among all of them.

    Their balance stood still meanwhile, so no flood of leads follows.
    """
    return await acts.resume_reps(reps, by)
