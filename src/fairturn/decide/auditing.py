"""The audit of a pool: its entries taken one by one, every balance and every turn computed again from them alone.

`max_deviation` is measured over stretches in which the set that shares stands still. A stretch begins with balances
carried into it (centred on those who share), so a rep's leads in it should lie between the exact share since it began
and that share plus the balance carried in; the deviation is the distance outside that span, in leads. Turns under a
filter promise nothing of the kind, and may leave balances that take a while to work off; those turns are counted only.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fairturn.decide.pool import GIVES, Entry, PoolFacts
from fairturn.decide.rotation import Member, Rotation, Sharing, share_out

SETS_KEPT = 4_096  # a pool with "separate" filters may have 2^n sets; a member set of ten takes 2 KB


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a replay starts: the state after entry `seq`. The default is a pool before its first entry."""

    seq: int = 0
    members: tuple[Member, ...] = ()
    balances: Mapping[str, int] = field(default_factory=dict)  # in units of 1/(U*total) of a lead
    total: int = 0
    credit: Mapping[str, int] = field(default_factory=dict)  # rep -> leads owed to them (+) or by them (-)
    filtered: bool = False  # an entry up to here had a filter


@dataclass(frozen=True, slots=True)
class PoolAudit:
    """What the entries of a pool add up to."""

    pool: str
    assignments: int  # leads that got a rep
    gaps: int  # sequence numbers that are missing (a difference too: what follows cannot be recomputed)
    recomputed: bool  # every turn and every balance is the one that the facts give
    first_difference: str | None  # a sentence with its sequence number, where not
    max_deviation: float  # leads; below 1 by promise
    credit: dict[str, int]  # rep -> leads owed to them (+) or by them (-); without zeros
    balances: dict[str, int]  # of all members, in units of 1/(U*W) of a lead
    unmeasured: int = 0  # turns under a filter, or while what filters left behind was over half a lead

    @property
    def ok(self) -> bool:
        return self.gaps == 0 and self.recomputed and self.max_deviation < 1


def replay(
    pool: str, rows: Iterable[Entry], *, start: Checkpoint | None = None, stored: PoolFacts | None = None
) -> PoolAudit:
    """Audit the entries of one pool, in order of sequence; `stored` is then compared with the state they lead to."""
    run = Replay(pool, start)
    for entry in rows:
        run.take(entry)
    return run.audit(stored)


class Replay:
    """A replay under way, for rows that come from a cursor. Memory does not grow with the rows."""

    def __init__(self, pool: str, start: Checkpoint | None = None) -> None:
        start = start or Checkpoint()
        self.pool = pool
        self.seq = start.seq
        self.assignments = self.gaps = 0
        self.credit = Counter(start.credit)
        self.first_difference: str | None = None
        self.deviation = _Deviation(ever_filtered=start.filtered)
        self._members = {member.rep: member for member in start.members}
        self._sets: dict[tuple[Member, ...], Sharing] = {}
        self._shares: tuple[Member, ...] | None = None
        self._sharing: Sharing | None = None
        self._rotation = self._rotate(start.balances, start.total)

    def take(self, entry: Entry) -> None:
        if entry.seq > self.seq + 1:
            self.gaps += entry.seq - self.seq - 1
            self._differs(entry, f"it follows seq {self.seq}; what was between them is missing")
        elif entry.seq <= self.seq:
            self._differs(entry, f"it stands after seq {self.seq}")
        self.seq = max(self.seq, entry.seq)
        self.assignments += entry.kind in GIVES
        match entry.kind:
            case "turn":
                self._turn(entry)
            case "paid":
                self._turn(entry)
                self._settle(entry, 1)
            case "credit":
                self._settle(entry, -1)
            case "kept":
                self.credit[entry.rep] -= entry.counts
            case "returned":
                self.credit[entry.rep] += entry.counts
            case "forgiven":
                self._settle(entry, 1)
            case "joined":
                self._join(entry)
            case "left":
                self._leave(entry)

    def audit(self, stored: PoolFacts | None = None) -> PoolAudit:
        """The findings so far."""
        balances = self._rotation.balances()
        if stored is not None:
            self._compare(stored, balances)
        if off := sum(balances.values()):
            self._note(f"the balances sum to {off}, not 0")
        return PoolAudit(
            pool=self.pool,
            assignments=self.assignments,
            gaps=self.gaps,
            recomputed=self.first_difference is None,
            first_difference=self.first_difference,
            max_deviation=self.deviation.worst_so_far(self._rotation.centred()),
            credit={rep: leads for rep, leads in sorted(self.credit.items()) if leads},
            balances=balances,
            unmeasured=self.deviation.unmeasured,
        )

    def _turn(self, entry: Entry) -> None:
        if not entry.shares:
            self._differs(entry, "there is no record of who shared the turn")
            return
        sharing = self._share(entry.shares)
        if sharing is not self._sharing:
            self._change_set(sharing)
        rotation = self._rotation
        rotation.accrue(sharing)
        among = sharing.among(entry.eligible)
        place = rotation.choice(among) if among else -1
        if place < 0 or sharing.reps[place] != entry.rep:
            given = sharing.reps[place] if place >= 0 else "nobody"
            self._differs(entry, f"the {entry.kind} is {entry.rep}'s, where the facts give {given}")
            place = sharing.reps.index(entry.rep) if entry.rep in sharing.reps else max(place, 0)
        rotation.pay(place)
        self.deviation.turn(place, rotation.centred(), filtered=entry.eligible is not None)

    def _share(self, shares: tuple[Member, ...]) -> Sharing:
        if shares is self._shares and self._sharing is not None:
            return self._sharing
        sharing = self._sets.get(shares)
        if sharing is None:
            if len(self._sets) >= SETS_KEPT:
                self._sets.clear()
            sharing = self._sets[shares] = Sharing.of(shares)
        self._shares = shares
        return sharing

    def _change_set(self, sharing: Sharing) -> None:
        """Begin a stretch. Members may appear here first, or with another weight: a weight changes without a row."""
        self._end_stretch()
        known = self._members
        moved = any(m.rep not in known or known[m.rep].position != m.position for m in sharing.members)
        known.update((member.rep, member) for member in sharing.members)
        if moved:
            self._rotation = self._rotate(self._rotation.balances(), self._rotation.total)
        self._rotation.enter(sharing)
        self._sharing = sharing
        self.deviation.begin(sharing, self._rotation.centred())

    def _end_stretch(self) -> None:
        self.deviation.end(self._rotation.centred())
        self._sharing = None

    def _rotate(self, balances: Mapping[str, int], total: int) -> Rotation:
        order = sorted(self._members.values(), key=lambda member: (member.position, member.rep))
        return Rotation([member.rep for member in order], balances, total)

    def _join(self, entry: Entry) -> None:
        if entry.rep in self._members:
            self._differs(entry, f"{entry.rep} joined, and was a member already")
            return
        self._end_stretch()
        self._members.update((member.rep, member) for member in entry.shares or ())
        self._rotation = self._rotate(self._rotation.balances(), self._rotation.total)

    def _leave(self, entry: Entry) -> None:
        self._end_stretch()
        self.credit.pop(entry.rep, None)
        if self._members.pop(entry.rep, None) is None:
            self._differs(entry, f"{entry.rep} left, and was no member")
            return
        if entry.shares is None:
            self._differs(entry, "there is no record of who shared the balance left behind")
        stay = tuple(self._members.values()) if entry.shares is None else entry.shares
        self._members.update((member.rep, member) for member in stay)
        balances = self._rotation.balances()
        left = balances.pop(entry.rep, 0)
        self._rotation = self._rotate(balances | share_out(left, stay, balances), self._rotation.total)

    def _settle(self, entry: Entry, sign: int) -> None:
        if self.credit[entry.rep] * sign >= 0:
            words = "the pool owed them no lead" if sign < 0 else "they owed no lead"
            self._differs(entry, f"a {entry.kind} row for {entry.rep}, but {words}")
        self.credit[entry.rep] += sign

    def _compare(self, stored: PoolFacts, balances: Mapping[str, int]) -> None:
        credit: Counter[str] = Counter()
        for row in stored.credits:
            credit[row.rep] += 1 if row.kind == "owed" else -1
        if stored.seq != self.seq:
            self._note(f"seq {self.seq} is the last entry, but the pool stands at {stored.seq}")
        if stored.total != self._rotation.total:
            self._note(f"the pool's total weight is {stored.total}, the entries give {self._rotation.total}")
        for rep in sorted({*stored.balances, *balances}):
            here, there = balances.get(rep, 0), stored.balances.get(rep, 0)
            if here != there:
                self._note(f"the balance of {rep} is {there}, the entries give {here} (seq {self.seq})")
        for rep in sorted({*credit, *self.credit}):
            if credit[rep] != self.credit[rep]:
                self._note(f"the open credit of {rep} is {credit[rep]}, the entries give {self.credit[rep]}")

    def _differs(self, entry: Entry, words: str) -> None:
        self._note(f"seq {entry.seq}: {words}")

    def _note(self, sentence: str) -> None:
        self.first_difference = self.first_difference or sentence


class _Deviation:
    """The largest distance outside the span: a rep is furthest behind just before a turn, furthest ahead just after."""

    def __init__(self, *, ever_filtered: bool = False) -> None:
        self.unmeasured = 0
        self._worst = 0.0
        self._here = 0  # of this stretch, in units of a lead of its set
        self._sharing: Sharing | None = None
        self._low: list[int] = []
        self._high: list[int] = []
        self._ever_filtered = ever_filtered
        self._measuring = True

    def begin(self, sharing: Sharing, carried: list[int]) -> None:
        self._sharing = sharing
        self._here = 0
        self._low = [min(0, beta) for beta in carried]
        self._high = [max(0, beta) for beta in carried]
        self._measuring = not self._ever_filtered or self._within_half_a_lead(carried)

    def turn(self, place: int, centred: list[int], *, filtered: bool) -> None:
        sharing = self._set()
        if filtered:
            if self._measuring:
                before = [beta - step for beta, step in zip(centred, sharing.steps, strict=True)]
                before[place] += sharing.lead
                self._wait(before)
                self._bank()
            self._ever_filtered, self._measuring = True, False
        if not self._measuring:
            self.unmeasured += 1
            if not filtered and self._within_half_a_lead(centred):
                self.begin(sharing, centred)
            return
        paid = centred[place]
        waited = paid + sharing.lead - sharing.steps[place]
        self._here = max(self._here, self._low[place] - paid, waited - self._high[place])

    def end(self, centred: list[int]) -> None:
        """The set changes: those still waiting are as far behind as they will be."""
        if self._sharing is not None:
            self._wait(centred)
            self._bank()
            self._sharing = None

    def worst_so_far(self, centred: list[int]) -> float:
        if self._sharing is not None:
            self._wait(centred)
            self._bank()
        return self._worst

    def _wait(self, centred: list[int]) -> None:
        if self._measuring:
            self._here = max(self._here, *(beta - high for beta, high in zip(centred, self._high, strict=True)))

    def _bank(self) -> None:
        self._worst = max(self._worst, self._here / self._set().lead)
        self._here = 0

    def _within_half_a_lead(self, centred: list[int]) -> bool:
        """From such balances the rule keeps every rep within the span (tried: up to 0.75; from 0.9 on not always)."""
        lead = self._set().lead
        return all(-lead <= 2 * beta <= lead for beta in centred)

    def _set(self) -> Sharing:
        if self._sharing is None:
            raise ValueError("no stretch has begun")
        return self._sharing
