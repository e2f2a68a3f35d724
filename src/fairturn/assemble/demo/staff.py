"""Who works at the demo's company: the reps in their pools, and others whose records the CRM has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fairturn.assemble.demo.scenario import OWN


@dataclass(frozen=True, slots=True)
class DemoRep:
    id: str
    name: str
    pool: str
    weight: int

    @property
    def email(self) -> str:
        return f"{self.id}@{OWN}"


def _reps() -> tuple[DemoRep, ...]:
    people = (
        ("ada", "Ada Novak", "enterprise", 2), ("ben", "Ben Carter", "enterprise", 1),
        ("cleo", "Cleo Martin", "enterprise", 1),
        ("dana", "Dana Weiss", "emea", 3), ("emil", "Emil Larsson", "emea", 2), ("fay", "Fay Dupont", "emea", 2),
        ("gus", "Gus Romero", "americas", 4), ("hana", "Hana Lopez", "americas", 3),
        ("ivan", "Ivan Costa", "americas", 3), ("june", "June Parker", "americas", 1),
    )  # fmt: skip
    return tuple(DemoRep(*person) for person in people)


REPS: Final = _reps()
POOLS: Final[Mapping[str, str]] = {
    "enterprise": "Enterprise, worldwide",
    "emea": "Europe, Middle East, Africa",
    "americas": "Americas and the rest",
}
COLLEAGUES: Final = ("Nora Quist", "Omar Said")  # users of the CRM who take no turns
LEFT: Final = "Lou Former"  # whose user is inactive
QUEUE: Final = "Leads without an owner"


def address(name: str) -> str:
    """Of somebody who is no rep."""
    return f"{name.lower().replace(' ', '.')}@{OWN}"
