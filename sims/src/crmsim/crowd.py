"""People whom a CRM knows already, by the hundred: how many of each kind a seed wishes for, and in which order."""

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

FIRST = ("Ada", "Ben", "Cem", "Dora", "Eli", "Fay", "Gus", "Hana", "Ivo", "Jia", "Kofi", "Lea")
LAST = ("Abel", "Brandt", "Costa", "Dahl", "Engel", "Fischer", "Garcia", "Hahn", "Ito", "Jansen", "Kaya", "Lund")


@dataclass(frozen=True, slots=True)
class Crowd:
    """`kinds`: the kind of each person, shuffled by the wish's `seed`; `dice` goes on from there."""

    numbers: Mapping[str, int]
    kinds: list[str]
    dice: random.Random


def crowd(wish: Mapping[str, Any], known: Collection[str], others: Collection[str]) -> Crowd:
    """`count` beyond the `known` kinds is filled with `owned`. Raises ValueError for a wish that cannot be met."""
    if not isinstance(wish, Mapping):
        raise ValueError(f"people is an object: numbers of {', '.join(known)}")
    unknown = set(wish) - {*known, *others}
    if unknown:
        raise ValueError(f"people: unknown keys {sorted(unknown)}; kinds are {', '.join(known)}")
    numbers = {kind: int(wish.get(kind, 0)) for kind in known}
    count = int(wish.get("count", sum(numbers.values())))
    spare = count - sum(numbers.values())
    if spare < 0:
        raise ValueError(f"people: count {count} is less than its kinds together")
    numbers["owned"] += spare
    kinds = [kind for kind, number in numbers.items() for _ in range(number)]
    dice = random.Random(f"people:{wish.get('seed', 0)}")
    dice.shuffle(kinds)
    return Crowd(numbers, kinds, dice)
