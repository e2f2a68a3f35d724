"""Events that made no lead: the list that a person sees, and another try once a mapping is mended."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from fairturn.errors import NotFound
from fairturn.views import By, EventLine

STATES = {"aside": "quarantined", "waiting": "waiting", "expired": "expired"}
ID = re.compile(r"[0-9a-f]{32}")


class Asides(Protocol):
    """Events that made no lead."""

    async def events(self, states: Sequence[str], source: str | None, limit: int) -> Sequence[EventLine]:
        """Newest first."""

    async def again(self, events: Sequence[bytes] | None, source: str | None, by: By) -> int:
        """Those set aside are to be routed again (None = all of them). Returns how many; others are not touched."""


async def events(asides: Asides, state: str, source: str | None = None, limit: int = 100) -> Sequence[EventLine]:
    """`state`: aside, waiting or expired. What is waiting or expired are signals of people not yet known."""
    return await asides.events([STATES[state]], source, limit)


async def again(asides: Asides, ids: Sequence[str] | None, source: str | None, by: By) -> int:
    """Raises NotFound for what is no event's id."""
    for one in ids or ():
        if not ID.fullmatch(one):
            raise NotFound("event", one)
    return await asides.again([bytes.fromhex(one) for one in ids] if ids else None, source, by)


def as_json(line: EventLine) -> dict[str, object]:
    state = next((word for word, stored in STATES.items() if stored == line.state), line.state)
    return {
        "event": line.id,
        "source": line.source,
        "received_at": line.received_at,
        "state": state,
        "problem": line.problem,
    }
