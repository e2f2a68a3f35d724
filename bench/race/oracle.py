"""What happened, judged from the order in which leads got their reps. Pure: the same for every design.

A history is a list of steps; of one, `shares` says who took turns just then, rep -> weight. Leads that nobody got are
no steps: they are counted apart. A stretch is a run of steps over which the shares stand still, and W their sum.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import lcm


@dataclass(frozen=True, slots=True)
class Step:
    rep: str
    shares: Mapping[str, int]


def counts(history: Sequence[Step], reps: Sequence[str]) -> dict[str, int]:
    """Leads per rep, those without any included."""
    found = Counter(step.rep for step in history)
    return {rep: found[rep] for rep in reps}


def spread(found: Mapping[str, int]) -> int:
    """Leads of the rep with most, less those of the rep with fewest."""
    return max(found.values()) - min(found.values())


def repeats(history: Sequence[Step]) -> int:
    """Leads that a rep got within one rotation of a turn of theirs: one more than their weight among W in a row."""
    found = 0
    for shares, reps in _stretches(history):
        window: deque[str] = deque()
        held: Counter[str] = Counter()
        for rep in reps:
            if len(window) == sum(shares.values()):
                held[window.popleft()] -= 1
            window.append(rep)
            held[rep] += 1
            found += held[rep] > shares.get(rep, 0)
    return found


def duplicates_and_skips(history: Sequence[Step]) -> tuple[int, int]:
    """The article's two faults: "one rep gets several leads, the next is skipped".

    W leads after W leads, each such round by itself: a duplicate is a lead beyond a rep's weight in its round, a skip a
    lead that a rep lacks at the end of it. A last round that is not full has no skips.
    """
    duplicates = skips = 0
    for shares, reps in _stretches(history):
        size = sum(shares.values())
        for start in range(0, len(reps), size):
            part = reps[start : start + size]
            held = Counter(part)
            duplicates += sum(max(0, n - shares.get(rep, 0)) for rep, n in held.items())
            if len(part) == size:
                skips += sum(max(0, weight - held[rep]) for rep, weight in shares.items())
    return duplicates, skips


def max_deviation(history: Sequence[Step]) -> float:
    """The furthest that a rep who takes turns is from the exact share, after any lead; in leads.

    Within a stretch a rep is due w/W of each lead. What was carried into it (share accrued before, less leads got,
    centred on those present) may be worked off, so the distance is the one outside the span between the share since the
    stretch began and that share plus the balance carried in. Without a change of the set nothing is carried: it is the
    worst distance of any prefix from the exact share.
    """
    balances: dict[str, Fraction] = {}
    worst = Fraction(0)
    for shares, reps in _stretches(history):
        weight = sum(shares.values())
        unit = weight * lcm(1, *(balances.get(rep, Fraction(0)).denominator for rep in shares))
        now = {rep: int(balances.get(rep, Fraction(0)) * unit) for rep in shares}
        total = sum(now.values())
        carried = {rep: weight * now[rep] - total * shares[rep] for rep in shares}
        here = 0
        for rep in reps:
            for other, share in shares.items():
                now[other] += share * unit // weight
            if rep in now:
                now[rep] -= unit
            else:  # somebody who takes no turns just now: a share of that lead is missing from everybody's
                balances[rep] = balances.get(rep, Fraction(0)) - 1
            total = sum(now.values())
            for other, share in shares.items():
                beta = weight * now[other] - total * share
                here = max(here, min(0, carried[other]) - beta, beta - max(0, carried[other]))
        worst = max(worst, Fraction(here, unit * weight))
        balances |= {rep: Fraction(units, unit) for rep, units in now.items()}
    return float(worst)


def _stretches(history: Sequence[Step]) -> Iterator[tuple[Mapping[str, int], list[str]]]:
    for shares, steps in groupby(history, key=lambda step: step.shares):
        yield shares, [step.rep for step in steps]
