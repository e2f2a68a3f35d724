"""What is raced: sizes, concurrencies, reps with their weights, and who comes and goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

ROUTERS: Final = (
    "naive",
    "skip_locked",
    "skip_locked_retry",
    "for_update",
    "counter",
    "redis_worker",
    "fairturn",
    "fairturn_batch",
)
REPS: Final = tuple(f"rep-{n:02}" for n in range(1, 11))
EQUAL: Final = dict.fromkeys(REPS, 1)
UNEQUAL: Final = EQUAL | {REPS[0]: 3, REPS[1]: 2}
# Two leave and come back, one after the other, while leads come in.
CHANGES: Final = (("pause", REPS[2]), ("pause", REPS[6]), ("resume", REPS[2]), ("resume", REPS[6]))
LARGE: Final = 1000  # more requests than this only at the highest concurrency


@dataclass(frozen=True, slots=True)
class Cell:
    scenario: str  # equal | weights | members | pool_of_10
    requests: int
    concurrency: int
    weights: Mapping[str, int]
    pool: int  # connections of a baseline
    wave: int = 0  # requests that come at once
    once: bool = False  # one round is enough: what it shows is no matter of speed

    @property
    def changes(self) -> Sequence[tuple[str, str]]:
        return CHANGES if self.scenario == "members" else ()


def cells(
    requests: Sequence[int], concurrency: Sequence[int], scenarios: Sequence[str], pool: int | None
) -> list[Cell]:
    most = max(concurrency)
    some = min(concurrency, key=lambda c: abs(c - 50))
    found: list[Cell] = []
    if "equal" in scenarios:
        for c in concurrency:
            sizes = [n for n in sorted(requests) if n <= LARGE or c == most]
            found += [Cell("equal", n, c, EQUAL, pool or c) for n in sizes]
    if "pool_of_10" in scenarios:
        found.append(Cell("pool_of_10", min(LARGE, max(requests)), most, EQUAL, 10, once=True))
    if "weights" in scenarios:
        found.append(Cell("weights", min(LARGE, max(requests)), some, UNEQUAL, pool or some))
    if "members" in scenarios:
        found.append(Cell("members", min(3 * LARGE, max(requests)), some, EQUAL, pool or some, wave=some, once=True))
    return found
