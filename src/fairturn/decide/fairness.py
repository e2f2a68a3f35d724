"""The turn: who gets the next lead of a pool, as a pure fold over its state, exact in integers.

The rule is Tijdeman's chairman assignment (1980), centred on those present: while the set of members who share stands
still, nobody is ever further than 1 - 1/(2n-2) of a lead from the exact share, and no method can promise less.

A balance is share accrued minus turns taken, in units of 1/(U*W) of a lead, W being the total weight of those who
shared the last turn. The balances of a pool, absent members included, always sum to zero.

What lies outside the rotation is kept as credit, so that it cannot bend it. A turn given back is owed to its rep; an
owner who keeps a lead owes it. A settlement (one owed lead given, one debt paid) comes at most once per member in any n
leads of the pool, n being the members who share; never at two leads running, and an owed lead never to the rep of the
lead before, while another is eligible. Owed and debt of one rep cancel as they meet: the `kept` or `returned` row
closes the older one and opens nothing, so a rep never has both.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fairturn.decide.pool import GIVES, Credit, Entry, Fold, Kind, PoolFacts, Settled, Waiting
from fairturn.decide.rotation import Member, Rotation, Sharing, U, share_out

__all__ = [
    "GIVES",
    "Credit",
    "Entry",
    "Fold",
    "Kind",
    "Member",
    "PoolFacts",
    "Settled",
    "U",
    "Waiting",
    "after",
    "assign",
    "give_back",
    "join",
    "leave",
    "next_choices",
]

NO_MEMBERS = "the pool has no members"
NO_WEIGHT = "every weight is 0"
ALL_AWAY = "everyone in the pool is paused"
NO_MATCH = "no member matches the rule's filter"
MATCH_AWAY = "every member who matches the rule's filter is paused"
OR_WEIGHTLESS = " or has weight 0"
MATCH_NO_WEIGHT = "every member who matches the rule's filter has weight 0"


def assign(facts: PoolFacts, leads: Sequence[Waiting]) -> Fold:
    """Give each lead its rep, in the order they come. Leads that nobody can take are held and move nothing.

    k leads in one fold and k folds of one lead (through `after`) give the same.
    """
    books = _Books(facts)
    for waiting in leads:
        books.give(waiting)
    return books.fold()


def give_back(facts: PoolFacts, rep: str, lead: int, reason: str, *, owes: bool = True) -> Fold:
    """Take a lead back from its rep. The pool then owes the rep one, or one debt of the rep is cancelled.

    `owes=False` for a lead that took no turn (kept and not counted): a row, and nothing else. The same for a rep who
    has left the pool.
    """
    books = _Books(facts)
    books.take_back(rep, lead, reason, owes=owes)
    return books.fold()


def join(facts: PoolFacts, member: Member) -> Fold:
    """Add a member at balance 0: at par with the others, whatever came before. ValueError if the rep is a member."""
    if any(m.rep == member.rep for m in facts.members):
        raise ValueError(f"pool {facts.pool}: {member.rep} is a member already")
    books = _Books(replace(facts, members=(*facts.members, member), balances={**facts.balances, member.rep: 0}))
    books.write("joined", member.rep, None, "joined the pool", shares=(member,))
    return books.fold()


def leave(facts: PoolFacts, rep: str) -> Fold:
    """Remove a member: its balance goes to those who stay, by weight; its open credits end. ValueError if no member."""
    if all(m.rep != rep for m in facts.members):
        raise ValueError(f"pool {facts.pool}: {rep} is no member")
    stay = tuple(sorted((m for m in facts.members if m.rep != rep), key=_order))
    balances = share_out(facts.balances.get(rep, 0), stay, facts.balances)
    books = _Books(
        replace(
            facts,
            members=stay,
            balances=balances,
            credits=tuple(c for c in facts.credits if c.rep != rep),
            settled={r: given for r, given in facts.settled.items() if r != rep},
        )
    )
    entry = books.write("left", rep, None, "left the pool; the balance went to those who stay", shares=stay)
    books.closed += [Settled(c, entry.seq, "left") for c in facts.credits if c.rep == rep]
    return books.fold()


def next_choices(facts: PoolFacts, count: int, eligible: frozenset[str] | None = None) -> tuple[str, ...]:
    """The reps of the next `count` leads of that kind, should nothing change; none if such a lead would be held."""
    fold = assign(facts, [Waiting(lead=0, eligible=eligible)] * count)
    return tuple(entry.rep for entry in fold.entries if entry.kind in GIVES)


def after(facts: PoolFacts, fold: Fold) -> PoolFacts:
    """The facts that a fold leaves behind. A store does the same, and gives the opened credits their ids."""
    members = list(facts.members)
    for entry in fold.entries:
        if entry.kind == "left":
            members = [m for m in members if m.rep != entry.rep]
        elif entry.kind == "joined" and entry.shares is not None:
            members += entry.shares
    closed = {id(settled.credit) for settled in fold.settled_credits}
    return replace(
        facts,
        members=tuple(members),
        balances=fold.balances,
        total=fold.total,
        seq=fold.seq,
        credits=tuple(c for c in facts.credits if id(c) not in closed) + fold.opened,
        settled=fold.settled,
        sticky={**facts.sticky, **fold.sticky},
        given=fold.given,
        last=fold.last,
    )


def _order(member: Member) -> tuple[int, str]:
    return member.position, member.rep


@dataclass(frozen=True, slots=True)
class _Lane:
    """What leads of one filter have in common within a fold."""

    sharing: Sharing
    among: tuple[int, ...]  # places in `sharing`, heavier first
    reps: frozenset[str]
    eligible: tuple[str, ...] | None
    reason: str  # of a turn; of holding where `reps` is empty


class _Books:
    """A pool's state while a fold runs over it."""

    def __init__(self, facts: PoolFacts) -> None:
        self.facts = facts
        self.members = tuple(sorted(facts.members, key=_order))
        self.weight = {m.rep: m.weight for m in self.members}
        self.rotation = Rotation([m.rep for m in self.members], facts.balances, facts.total)
        self.everyone = Sharing.of(m for m in self.members if m.weight > 0 and m.rep in facts.present)
        self.lanes: dict[frozenset[str] | None, _Lane] = {}
        self.entries: list[Entry] = []
        self.held: list[tuple[int, str]] = []
        self.seq, self.given, self.last = facts.seq, facts.given, facts.last
        self.settled, self.sticky, self.fresh = dict(facts.settled), dict(facts.sticky), dict[int, str]()
        self.settled_at = max(self.settled.values(), default=0)
        self.owed: dict[str, deque[Credit]] = {}
        self.debts: dict[str, deque[Credit]] = {}
        self.order: dict[int, int] = {}
        self.opened: dict[int, Credit] = {}
        self.closed: list[Settled] = []
        for credit in facts.credits:
            self._book(credit)

    def give(self, waiting: Waiting) -> None:
        lane = self.lanes.get(waiting.eligible) or self._lane(waiting.eligible)
        owner = self.sticky.get(waiting.account) if waiting.account is not None else None
        if waiting.keep is not None:
            self._keep(waiting, waiting.keep, "its owner keeps it")
        elif owner is not None and owner in lane.reps:
            self._keep(waiting, owner, "an earlier lead of the same company is theirs")
        elif not lane.reps:
            self.held.append((waiting.lead, lane.reason))
        elif (creditor := self._creditor(lane)) is not None:
            credit = self.owed[creditor].popleft()
            entry = self.write("credit", creditor, waiting, "the pool owed them a lead for a turn given back")
            self._close(credit, entry.seq, "settled")
            self.settled[creditor] = self.settled_at = self.given
        else:
            self._turn(waiting, lane)

    def take_back(self, rep: str, lead: int, reason: str, *, owes: bool) -> None:
        owes = owes and rep in self.weight
        debts = self.debts.get(rep)
        entry = self.write("returned", rep, lead, reason, counts=owes)
        if owes and debts:
            self._close(debts.popleft(), entry.seq, "cancelled")
        elif owes:
            self._open(Credit(None, rep, "owed", entry.seq))

    def fold(self) -> Fold:
        return Fold(
            entries=tuple(self.entries),
            held=tuple(self.held),
            balances=self.rotation.balances(),
            total=self.rotation.total,
            seq=self.seq,
            opened=tuple(self.opened.values()),
            settled_credits=tuple(self.closed),
            settled=self.settled,
            sticky=self.fresh,
            given=self.given,
            last=self.last,
        )

    def write(
        self,
        kind: Kind,
        rep: str,
        to: Waiting | int | None,
        reason: str,
        *,
        shares: tuple[Member, ...] | None = None,
        eligible: tuple[str, ...] | None = None,
        counts: bool = True,
    ) -> Entry:
        """Add a row. With a waiting lead it is one that gives: the pool's clock moves and the account gets its rep."""
        self.seq += 1
        if isinstance(to, Waiting):
            self.given += 1
            self.last = rep
            if to.account is not None:
                self.sticky[to.account] = self.fresh[to.account] = rep
        lead = to.lead if isinstance(to, Waiting) else to
        entry = Entry(self.seq, kind, rep, lead, shares, eligible, reason, counts)
        self.entries.append(entry)
        return entry

    def _turn(self, waiting: Waiting, lane: _Lane) -> None:
        shares = lane.sharing.members
        rep = self.rotation.turn(lane.sharing, lane.among)
        debts = self.debts.get(rep)
        if debts and self._may_settle(rep, lane):
            why = "kept a lead outside the rotation and pays with this turn"
            entry = self.write("paid", rep, None, why, shares=shares, eligible=lane.eligible)
            self._close(debts.popleft(), entry.seq, "settled")
            self.settled[rep] = self.settled_at = self.given + 1
            rep = self.rotation.turn(lane.sharing, lane.among)
        self.write("turn", rep, waiting, lane.reason, shares=shares, eligible=lane.eligible)

    def _keep(self, waiting: Waiting, rep: str, reason: str) -> None:
        counts = waiting.counts and self.facts.counts_kept and self.weight.get(rep, 0) > 0
        entry = self.write("kept", rep, waiting, reason, counts=counts)
        if not counts:
            return
        if owed := self.owed.get(rep):
            self._close(owed.popleft(), entry.seq, "cancelled")
            return
        self._open(Credit(None, rep, "debt", entry.seq))
        debts = self.debts[rep]
        while len(debts) > self.facts.max_debt:
            why = f"kept more than {self.facts.max_debt} leads that are not paid for; one is forgiven"
            self._close(debts.pop(), self.write("forgiven", rep, None, why).seq, "forgiven")

    def _creditor(self, lane: _Lane) -> str | None:
        """Whom the pool owes this lead: of those it may be given to now, the one who waits longest."""
        alone = len(lane.reps) == 1
        ready = [
            rep
            for rep, owed in self.owed.items()
            if owed and rep in lane.reps and (alone or rep != self.last) and self._may_settle(rep, lane)
        ]
        return min(ready, key=lambda rep: self.order[id(self.owed[rep][0])], default=None)

    def _may_settle(self, rep: str, lane: _Lane) -> bool:
        settled = self.settled.get(rep, 0)
        rested = settled == 0 or self.given + 1 - settled >= len(self.everyone.members)
        return rested and (len(lane.reps) == 1 or self.settled_at == 0 or self.settled_at != self.given)

    def _book(self, credit: Credit) -> None:
        side = self.owed if credit.kind == "owed" else self.debts
        side.setdefault(credit.rep, deque()).append(credit)
        self.order[id(credit)] = len(self.order)

    def _open(self, credit: Credit) -> None:
        self._book(credit)
        self.opened[id(credit)] = credit

    def _close(self, credit: Credit, seq: int, how: Literal["settled", "cancelled", "forgiven"]) -> None:
        if self.opened.pop(id(credit), None) is None:
            self.closed.append(Settled(credit, seq, how))

    def _lane(self, eligible: frozenset[str] | None) -> _Lane:
        sharing, matching = self.everyone, None
        if eligible is not None and not eligible.issuperset(sharing.reps):
            chosen = [m for m in sharing.members if m.rep in eligible]
            if self.facts.filtered == "separate":
                sharing = Sharing.of(chosen)
            else:
                matching = tuple(m.rep for m in chosen)
        among = sharing.among(matching)
        reps = frozenset(sharing.reps if matching is None else matching)
        reason = "next in turn" if eligible is None else "next in turn of those who match the rule's filter"
        lane = _Lane(sharing, among, reps, matching, reason if reps else self._why_nobody(eligible))
        self.lanes[eligible] = lane
        return lane

    def _why_nobody(self, eligible: frozenset[str] | None) -> str:
        matching = self.members if eligible is None else [m for m in self.members if m.rep in eligible]
        if not self.members:
            return NO_MEMBERS
        if all(m.weight <= 0 for m in self.members):
            return NO_WEIGHT
        if not self.everyone.members:
            return ALL_AWAY + (OR_WEIGHTLESS if any(m.weight <= 0 for m in self.members) else "")
        if not matching:
            return NO_MATCH
        if all(m.weight <= 0 for m in matching):
            return MATCH_NO_WEIGHT
        return MATCH_AWAY + (OR_WEIGHTLESS if any(m.weight <= 0 for m in matching) else "")
