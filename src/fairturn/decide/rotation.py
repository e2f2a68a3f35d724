"""The arithmetic of a turn: balances, who is ready, who is chosen. `fairness` builds on it, `auditing` repeats it.

Notation: w a weight, W the weight of those who share, n their number, m = 2n - 2, b a balance in units of 1/(U*W) of a
lead, beta = W*b - s*w the balance centred on those who share (s = the sum of theirs). In beta one lead is U*W*W.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

U = 232_792_560
"""lcm(1..22): where every total weight divides it, changes of the set are exact too, not only a set that stands."""

SHORT = 64  # weight of those who share, up to which a batch comes back to where it was


@dataclass(frozen=True, slots=True)
class Member:
    """A rep in a pool."""

    rep: str
    weight: int  # whole, 0 to 10,000; 0 never gets a lead
    position: int  # the pool's stable order, which breaks ties; never the order of the text


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who shares a turn, made ready for choosing.

    Places run heavier first, then by position, so that the first of equals is the right one.
    """

    members: tuple[Member, ...]  # by position, as recorded
    reps: tuple[str, ...]  # by place
    weights: tuple[int, ...]  # by place
    total: int  # W
    lead: int  # U*W*W
    steps: tuple[int, ...]  # what each accrues in a turn: U*W*w
    m: int

    @classmethod
    def of(cls, members: Iterable[Member]) -> "Sharing":
        """Members of weight > 0, given by position."""
        members = tuple(members)
        places = sorted(members, key=lambda member: -member.weight)
        total = sum(member.weight for member in members)
        return cls(
            members=members,
            reps=tuple(member.rep for member in places),
            weights=tuple(member.weight for member in places),
            total=total,
            lead=U * total * total,
            steps=tuple(U * total * member.weight for member in places),
            m=2 * len(members) - 2,
        )

    def among(self, reps: Iterable[str] | None) -> tuple[int, ...]:
        """The places of these reps; of all for None."""
        if reps is None:
            return tuple(range(len(self.reps)))
        chosen = frozenset(reps)
        return tuple(place for place, rep in enumerate(self.reps) if rep in chosen)


class Rotation:
    """A pool's balances while turns are taken. While a set stands, only its centred balances move."""

    def __init__(self, reps: Sequence[str], balances: Mapping[str, int], total: int) -> None:
        """`reps` by position: all members of the pool."""
        self.total = total
        self._balance = {rep: balances.get(rep, 0) for rep in reps}
        self._sharing: Sharing | None = None
        self._sum = 0
        self._beta: list[int] = []
        self._taken: dict[tuple[object, ...], tuple[int, tuple[int, ...]]] = {}  # turns of the set that stands

    def turn(self, sharing: Sharing, among: tuple[int, ...]) -> str:
        """One turn: all who share accrue, one of `among` (not empty) is chosen and pays.

        While a set stands its balances come back to where they were, every W turns if nobody filters.
        """
        if sharing is not self._sharing:
            self.enter(sharing)
        before = (among, *self._beta) if sharing.total <= SHORT else None
        if before is not None and (known := self._taken.get(before)) is not None:
            place, beta = known
            self._beta = [*beta]
            return sharing.reps[place]
        self.accrue(sharing)
        place = self.choice(among)
        self.pay(place)
        if before is not None:
            self._taken[before] = place, tuple(self._beta)
        return sharing.reps[place]

    def accrue(self, sharing: Sharing) -> None:
        """Everyone who shares gets their part of one lead."""
        if sharing is not self._sharing:
            self.enter(sharing)
        self._beta = [beta + step for beta, step in zip(self._beta, sharing.steps, strict=True)]

    def choice(self, among: Sequence[int]) -> int:
        """The place whose turn it is: of those ready, the one with the least time left; an overdue one at once."""
        sharing, beta = self._shared(), self._beta
        m, lead, weights = sharing.m, sharing.lead, sharing.weights
        if m == 0:
            return 0
        full = (m - 1) * lead
        best, best_left, best_weight = -1, 0, 1
        for place in among:
            scaled = m * beta[place]
            if scaled < lead:
                continue
            left = full - scaled
            if left <= 0:
                return place
            if best < 0 or left * best_weight < best_left * weights[place]:
                best, best_left, best_weight = place, left, weights[place]
        # Without a filter somebody is always ready: the centred balances sum to one lead, and 1/n >= 1/(2n-2).
        return best if best >= 0 else max(among, key=beta.__getitem__)

    def pay(self, place: int) -> None:
        """The one at this place of the set that accrued last pays one lead."""
        self._beta[place] -= self._shared().lead

    def enter(self, sharing: Sharing) -> None:
        """Let another set share from now on. Where its weight differs, every balance of the pool changes its unit."""
        self._rest()
        if self.total not in (0, sharing.total):
            self._rescale(sharing.total)
        self.total = sharing.total
        self._sharing = sharing
        self._taken.clear()
        self._sum = sum(self._balance[rep] for rep in sharing.reps)
        self._beta = [
            sharing.total * self._balance[rep] - self._sum * weight
            for rep, weight in zip(sharing.reps, sharing.weights, strict=True)
        ]

    def centred(self) -> list[int]:
        """Of those who share now, by place; one lead is `Sharing.lead`."""
        return self._beta

    def balances(self) -> dict[str, int]:
        """Of all members, in units of 1/(U*`total`) of a lead."""
        self._rest()
        return dict(self._balance)

    def _shared(self) -> Sharing:
        if self._sharing is None:
            raise ValueError("no set shares yet: accrue first")
        return self._sharing

    def _rest(self) -> None:
        if self._sharing is None:
            return
        sharing, self._sharing = self._sharing, None
        for rep, weight, beta in zip(sharing.reps, sharing.weights, self._beta, strict=True):
            self._balance[rep] = (beta + self._sum * weight) // sharing.total  # exact

    def _rescale(self, total: int) -> None:
        """By floors of running totals, so that the sum stays what it was: 0."""
        running = floor = 0
        for rep, balance in self._balance.items():
            running += balance
            before, floor = floor, running * total // self.total
            self._balance[rep] = floor - before


def share_out(balance: int, stay: Sequence[Member], balances: Mapping[str, int]) -> dict[str, int]:
    """The balances of those who stay (by position), with a leaver's divided among them by weight, exactly.

    Equally where every weight is 0. With nobody left there is nothing to divide: a lone member's balance is 0.
    """
    weights = [member.weight for member in stay]
    if not any(weights):
        weights = [1] * len(stay)
    total, running, floor, result = sum(weights), 0, 0, {}
    for member, weight in zip(stay, weights, strict=True):
        running += weight
        before, floor = floor, balance * running // total
        result[member.rep] = balances.get(member.rep, 0) + floor - before
    return result
