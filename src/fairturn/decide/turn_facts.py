"""A turn as it was or as it would be: where each member stood, and why it was or was not theirs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from fairturn.decide.rotation import Member, Rotation, Sharing, U


@dataclass(frozen=True, slots=True)
class Seat:
    """One who shared a turn."""

    rep: str
    may: bool  # the rule's filter let them
    chosen: bool
    ready: bool  # had a lead coming; nobody is given one before that while another is ready
    due: float  # leads they had coming, their share of this one included and those who are away left out


def in_leads(balance: int, total: int) -> float:
    """A balance in units of 1/(U*total) of a lead, as leads: above 0 the pool owes the rep, below 0 they are ahead."""
    return balance / (U * total) if total else 0.0


def ready_from(sharers: int) -> float:
    """How much of a lead one of so many must have coming to be given one: fairness.py says why."""
    return 1 / (2 * sharers - 2) if sharers > 1 else 0.0


def seats(
    shares: Mapping[str, int],
    eligible: Collection[str] | None,
    balances: Mapping[str, int],
    total: int,
    chosen: str | None,
) -> list[Seat]:
    """The turn that these members shared (rep -> weight, in the pool's order), from the balances before it."""
    sharing = Sharing.of(Member(rep, weight, place) for place, (rep, weight) in enumerate(shares.items()))
    if not sharing.members:
        return []
    order = list(dict.fromkeys((*balances, *shares)))
    rotation = Rotation(order, balances, total)
    rotation.accrue(sharing)
    among = set(sharing.among(eligible))
    alone = len(sharing.members) == 1
    return [
        Seat(rep, place in among, rep == chosen, alone or sharing.m * beta >= sharing.lead, beta / sharing.lead)
        for place, (rep, beta) in enumerate(zip(sharing.reps, rotation.centred(), strict=True))
    ]
