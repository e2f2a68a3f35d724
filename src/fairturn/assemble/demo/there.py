"""Who of the burst is in the CRM before it, and what has become of their records after it.

A CRM is seldom empty: some of those who fill in a form are worked on by a rep or by somebody else, some lie about, some
are customers.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from fairturn.assemble.demo.crm import Held
from fairturn.assemble.demo.scenario import Address, Person, Scenario
from fairturn.assemble.demo.staff import COLLEAGUES, LEFT, REPS

# rep: theirs · colleague: of somebody who takes no turns · free: in a queue, or of nobody · left: of an inactive user ·
# elsewhere: under another record (a converted Lead) or another address · customer
Kind = Literal["rep", "colleague", "free", "left", "elsewhere", "customer"]
ORDER: Final[tuple[Kind, ...]] = (
    "rep", "free", "colleague", "left", "elsewhere", "customer", "rep", "free", "rep", "left",
    "colleague", "rep", "free", "elsewhere", "rep", "customer", "left", "free", "rep", "colleague",
)  # fmt: skip
SHARE: Final = 0.2  # of the leads
STAYS: Final[frozenset[Kind]] = frozenset({"rep", "colleague", "elsewhere", "customer"})  # whose owner keeps the lead
BY_HAND: Final = 0.5  # of the records have a title that somebody typed
TYPED: Final = "Procurement Director"
EUROPE: Final = ("Germany", "Austria", "France", "Spain", "United Kingdom")
LARGE: Final = 500  # employees


@dataclass(frozen=True, slots=True)
class Known:
    """Somebody whom the CRM has. owner: a name; None: a queue, or nobody. title: None where nobody typed one."""

    who: Address
    kind: Kind
    owner: str | None
    title: str | None


@dataclass(frozen=True, slots=True)
class There:
    """What became of them, as the simulator tells."""

    people: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)
    owners_kept: int = 0
    assigned: int = 0  # records that were free, and have got an owner
    owners_taken: int = 0  # from somebody active
    new_records: int = 0
    written_over: int = 0  # titles that somebody had typed

    @property
    def ok(self) -> bool:
        return not (self.owners_taken or self.new_records or self.written_over)

    def as_json(self) -> dict[str, object]:
        return {
            "people": self.people,
            "kinds": dict(self.kinds),
            "owners_kept": self.owners_kept,
            "assigned": self.assigned,
            "owners_taken": self.owners_taken,
            "new_records": self.new_records,
            "written_over": self.written_over,
        }


def known(plan: Scenario, seed: int, share: float = SHARE) -> tuple[Known, ...]:
    """The same seed gives the same people; the burst is the same with and without them."""
    dice = random.Random(f"there:{seed}")
    chosen = dice.sample(plan.addresses, round(len(plan.addresses) * share))
    return tuple(_known(dice, who, ORDER[number % len(ORDER)]) for number, who in enumerate(chosen))


def _known(dice: random.Random, who: Address, kind: Kind) -> Known:
    if not who.company.name and kind in ("elsewhere", "customer"):
        kind = "rep"  # a customer is one as a company
    title = TYPED if dice.random() < BY_HAND else None
    reps = [rep.name for rep in REPS if rep.pool == territory(who)]
    owner = {
        "free": None,
        "left": LEFT,
        "colleague": dice.choice(COLLEAGUES),
        "customer": dice.choice(COLLEAGUES),
    }.get(kind, dice.choice(reps))
    return Known(who, kind, owner, title)


def territory(who: Address) -> str:
    """The pool to which the rules send such a lead: whoever owns it sells there."""
    if who.company.employees >= LARGE:
        return "enterprise"
    return "emea" if who.company.country in EUROPE else "americas"


def told(people: Iterable[Person], there: Sequence[Known]) -> list[Person]:
    """What the records must say in the end: what somebody typed stands, whatever our events said of it."""
    typed = {one.who.email for one in there if one.title is not None}
    return [replace(person, title=None) if person.email in typed else person for person in people]


def compared(
    there: Sequence[Known],
    before: Mapping[str, Sequence[Held]],
    after: Mapping[str, Sequence[Held]],
    taken: int,
) -> There:
    """before, after: e-mail -> records. taken: owners that the simulator saw taken from somebody active."""
    kept = assigned = added = over = 0
    for one in there:
        old = {record.id: record for record in before.get(one.who.email, ())}
        now = {record.id: record for record in after.get(one.who.email, ())}
        added += len(now.keys() - old.keys())
        same = all(key in now and now[key].owner == record.owner for key, record in old.items())
        kept += same and one.kind in STAYS
        assigned += not same and one.kind not in STAYS
        over += one.title is not None and any(key in now and now[key].title != one.title for key in old)
    kinds = Counter(one.kind for one in there)
    return There(len(there), {kind: kinds[kind] for kind in dict.fromkeys(ORDER)}, kept, assigned, taken, added, over)
