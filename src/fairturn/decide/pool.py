"""The nouns of a pool's turns: what a fold is given, what it writes down, what it leaves behind."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from fairturn.decide.rotation import Member
from fairturn.quick import quick

Kind = Literal["turn", "credit", "kept", "returned", "paid", "forgiven", "joined", "left"]
GIVES: frozenset[Kind] = frozenset({"turn", "credit", "kept"})
"""The kinds by which a lead gets a rep."""


@dataclass(frozen=True, slots=True)
class Credit:
    """One lead outside the rotation that is still to be settled."""

    id: int | None  # the stored row; None = opened in this very fold
    rep: str
    kind: Literal["owed", "debt"]  # owed: the pool owes the rep a lead; debt: the rep kept a lead that counts
    seq: int = 0  # the entry that opened it


@dataclass(frozen=True, slots=True)
class Settled:
    """A credit that was open before the fold and no longer is."""

    credit: Credit
    seq: int  # the entry that closed it
    how: Literal["settled", "cancelled", "forgiven", "left"]  # cancelled: by its opposite; left: its rep did


@quick(frozen=True, slots=True)
class Waiting:
    """A lead that waits for its rep."""

    lead: int
    eligible: frozenset[str] | None = None  # None = whoever shares
    account: int | None = None  # leads of one account go to one rep; None = not sticky
    keep: str | None = None  # an owner who keeps the lead whatever the rotation says, member and present or not
    counts: bool = True  # a kept lead opens a debt (of a member of weight > 0)


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """All that a turn depends on, as it stands under the pool's lock.

    `fairness.after` says what a store must make of it once a fold is written.
    """

    pool: str
    members: tuple[Member, ...]
    present: frozenset[str]  # on shift, not paused, below caps
    balances: Mapping[str, int]  # of all members, absent ones too; sum 0
    total: int  # weight of those who shared the last turn; 0 before the first
    seq: int  # of the pool's last entry; 0 before the first
    credits: tuple[Credit, ...] = ()  # open, oldest first
    settled: Mapping[str, int] = field(default_factory=dict)  # rep -> `given` as its last settlement left it
    sticky: Mapping[int, str] = field(default_factory=dict)  # account -> rep of its latest lead
    filtered: Literal["whole", "separate"] = "whole"  # whom a filtered lead counts against: all who share, the eligible
    max_debt: int = 3
    counts_kept: bool = True
    given: int = 0  # leads given so far (entries of the kinds in GIVES); the clock of `settled`
    last: str | None = None  # who got the last of them


@quick(frozen=True, slots=True)
class Entry:
    """One row of the pool's record. Sequence numbers have no gaps."""

    seq: int
    kind: Kind
    rep: str
    lead: int | None  # of turn, credit, kept, returned
    shares: tuple[Member, ...] | None  # turn, paid: who shared; joined: the member; left: those who shared its balance
    eligible: tuple[str, ...] | None  # turn, paid: a part of `shares`; None = all of them
    reason: str
    counts: bool = True  # False: a kept or returned lead that leaves credit alone


@dataclass(frozen=True, slots=True)
class Fold:
    """What a fold made of the facts: rows to add, and the state to write in place of the old."""

    entries: tuple[Entry, ...]
    held: tuple[tuple[int, str], ...]  # (lead, why nobody can take it now)
    balances: dict[str, int]
    total: int
    seq: int
    opened: tuple[Credit, ...]  # opened in this fold and still open, oldest first
    settled_credits: tuple[Settled, ...]  # open before this fold and closed by it
    settled: dict[str, int]
    sticky: dict[int, str]  # what this fold set
    given: int
    last: str | None
