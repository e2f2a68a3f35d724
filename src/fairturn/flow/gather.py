"""Choosing a batch: what is pending, what the window lets go, what the ledger then hands out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from fairturn.config import Destination as Settings
from fairturn.decide import breaker
from fairturn.decide.batching import Window, ripe
from fairturn.decide.pacing import Priority, lingers
from fairturn.decide.sizing import Size, start
from fairturn.model import Batch
from fairturn.ports import Ledger

# leads that leave, and all that wait with them -> whether they may
Before = Callable[[Sequence[int], Sequence[int]], Awaitable[bool]]
CONTENDED = 0.25  # seconds until the next look, when rows that were ripe could not be had


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls of the last 24 hours, and how many there may be. `allowed` None: nobody has told us a limit."""

    used: int = 0
    allowed: int | None = None


def limits_of(settings: Settings, sizes: Mapping[str, Size]) -> Mapping[str | None, int]:
    """Records of each object that one request may carry, as learnt; None = the destination's own object."""
    own = sizes.get(settings.object, start(settings.max_records)).records
    return {name: size.records for name, size in sizes.items()} | {None: own, settings.object: own}


def window_of(
    settings: Settings, failures: int, usages: tuple[Usage, ...], sizes: Mapping[str, Size] | None = None
) -> Window:
    """The configured window, as outage and budget allow it now. Of several budgets the tightest counts.

    sizes: what was learnt of the org; None: nothing is to be learnt there.
    """
    held: dict[Priority, float] = {}
    for usage in usages:
        stretched: Mapping[Priority, float] = lingers(usage.used, usage.allowed, settings.linger)
        held |= {priority: max(wait, held.get(priority, 0.0)) for priority, wait in stretched.items()}
    return Window(
        kind=settings.window,
        linger=settings.linger,
        max_wait=settings.max_wait,
        every=settings.every,
        max_slots=breaker.slots(failures, settings.max_slots),
        max_records=breaker.probe(failures, settings.max_records),
        limits={} if sizes is None else limits_of(settings, sizes),
        lingers=held,
        own=settings.object,
    )


@dataclass(frozen=True, slots=True)
class Gathered:
    """`batch` leaves now; without one, the next look is due in `rest` seconds (None: only when something happens)."""

    batch: Batch | None
    rest: float | None


async def gather(
    ledger: Ledger,
    destination: str,
    holder: UUID,
    window: Window,
    *,
    in_flight: int,
    timeout: float,
    before: Before | None = None,
) -> Gathered:
    """take -> decide -> take for good. in_flight: requests of this process; those of a dead one hold no slot, though
    their accounts stay busy until their deadline. timeout: seconds until the rows may be taken again. before: what is
    done first about the leads that leave.
    """
    if in_flight >= window.max_slots:
        return Gathered(None, None)
    pending = await ledger.pending(destination, window.max_records * (window.max_slots + 1))
    departure = ripe(replace(pending, in_flight=in_flight), window, pending.now)
    if departure.leads:
        if before is not None and not await before(departure.leads, [row.lead for row in pending.rows]):
            return Gathered(None, 0.0)
        batch = await ledger.take(destination, holder, departure.leads, timeout)
        return Gathered(batch, None if batch else CONTENDED)
    if departure.next_at is None:
        return Gathered(None, None)
    return Gathered(None, max(0.0, (departure.next_at - pending.now).total_seconds()))
