"""The turn while nothing lies outside the rotation: bounds, exactness, and the cases on assignment."""

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import gcd

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.decide.fairness import (
    Fold,
    Member,
    PoolFacts,
    U,
    Waiting,
    after,
    assign,
    join,
    leave,
    next_choices,
)

weights_of_pools = st.lists(st.integers(1, 100), min_size=2, max_size=40)


def pool(*weights: int, present: str | None = None, **more) -> PoolFacts:
    """Members A, B, C ... (r26, r27 ... beyond the alphabet), all present unless said."""
    reps = [chr(65 + i) if i < 26 else f"r{i}" for i in range(len(weights))]
    return PoolFacts(
        pool="emea",
        members=tuple(Member(rep, weight, i) for i, (rep, weight) in enumerate(zip(reps, weights, strict=True))),
        present=frozenset(reps if present is None else present),
        balances=dict.fromkeys(reps, 0),
        total=0,
        seq=0,
        **more,
    )


def leads(count: int, first: int = 1, **more) -> list[Waiting]:
    return [Waiting(lead, **more) for lead in range(first, first + count)]


def reps_of(fold: Fold) -> str:
    return "".join(entry.rep for entry in fold.entries if entry.kind in {"turn", "credit", "kept"})


def take(facts: PoolFacts, count: int, **more) -> tuple[str, PoolFacts]:
    fold = assign(facts, leads(count, **more))
    return reps_of(fold), after(facts, fold)


def furthest(weights: list[int], picks: list[int]) -> Fraction:
    """Largest distance of any member from the exact share at any prefix, counted apart from our balances."""
    total, counts, worst = sum(weights), [0] * len(weights), 0
    for turn, pick in enumerate(picks, 1):
        counts[pick] += 1
        worst = max(worst, *(abs(turn * w - c * total) for w, c in zip(weights, counts, strict=True)))
    return Fraction(worst, total)


def exact_picks(weights: list[int], count: int) -> list[int]:
    """Tijdeman's rule as the paper has it, in fractions, for a set that stands still."""
    n, total = len(weights), sum(weights)
    share = [Fraction(w, total) for w in weights]
    slack = Fraction(1, 2 * n - 2)
    taken, picks = [0] * n, []
    for turn in range(1, count + 1):
        lag = [turn * share[i] - taken[i] for i in range(n)]
        ready = [i for i in range(n) if lag[i] >= slack]
        pick = min(ready, key=lambda i: (max(Fraction(0), 1 - slack - lag[i]) / share[i], -weights[i], i))
        taken[pick] += 1
        picks.append(pick)
    return picks


def picks_of(fold: Fold, facts: PoolFacts) -> list[int]:
    place = {member.rep: i for i, member in enumerate(facts.members)}
    return [place[entry.rep] for entry in fold.entries]


@settings(max_examples=150, deadline=None)
@given(weights_of_pools)
def test_no_prefix_is_a_whole_lead_off(weights):
    facts = pool(*weights)
    fold = assign(facts, leads(min(2 * sum(weights), 600)))
    assert furthest(weights, picks_of(fold, facts)) <= 1 - Fraction(1, 2 * len(weights) - 2)


def test_the_bound_holds_in_thousands_of_pools():
    dice = random.Random(20)
    for _ in range(2_500):
        weights = [dice.randint(1, dice.choice([1, 3, 100])) for _ in range(dice.choice([2, 3, 4, 6, 10, 40]))]
        facts = pool(*weights)
        fold = assign(facts, leads(6 * len(weights) + 5))
        worst = furthest(weights, picks_of(fold, facts))
        assert worst <= 1 - Fraction(1, 2 * len(weights) - 2), weights


def test_a_full_period_comes_out_even():
    """After W leads every count is the weight and every balance 0: nothing was rounded."""
    dice = random.Random(5)
    for _ in range(60):
        weights = [dice.randint(1, 30) for _ in range(dice.randint(2, 12))]
        facts = pool(*weights)
        fold = assign(facts, leads(sum(weights) // gcd(*weights)))
        counts = Counter(picks_of(fold, facts))
        assert [counts[i] * gcd(*weights) for i in range(len(weights))] == weights
        assert not any(fold.balances.values())


@settings(max_examples=80, deadline=None)
@given(weights_of_pools)
def test_every_pick_is_the_one_of_exact_fractions(weights):
    facts = pool(*weights)
    count = 4 * len(weights) + 3
    assert picks_of(assign(facts, leads(count)), facts) == exact_picks(weights, count)


class ExactPool:
    """The rule over a set that changes, in fractions of a lead that are never rounded."""

    def __init__(self, members):
        self.members = members
        self.lag = {member.rep: Fraction(0) for member in members}

    def pick(self, present, eligible):
        sharing = [m for m in self.members if m.weight and m.rep in present]
        total, n = sum(m.weight for m in sharing), len(sharing)
        carried = sum(self.lag[m.rep] for m in sharing)
        for m in sharing:
            self.lag[m.rep] += Fraction(m.weight, total)
        lag = {m.rep: self.lag[m.rep] - carried * Fraction(m.weight, total) for m in sharing}
        able = [m for m in sharing if m.rep in eligible]
        slack = Fraction(1, 2 * n - 2) if n > 1 else -(10**9)
        ready = [m for m in able if lag[m.rep] >= slack]
        if ready:
            chosen = min(
                ready, key=lambda m: (max(Fraction(0), 1 - slack - lag[m.rep]) / m.weight, -m.weight, m.position)
            )
        else:
            chosen = min(able, key=lambda m: (-lag[m.rep], -m.weight, m.position))
        self.lag[chosen.rep] -= 1
        return chosen.rep


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 22), st.randoms(use_true_random=False))
def test_pauses_and_filters_pick_what_exact_fractions_do(size, dice):
    """Every total up to 22 divides U, so rescaling is exact too: equal weights, any pauses, any filters."""
    facts = pool(*[1] * size)
    exact = ExactPool(facts.members)
    reps = [member.rep for member in facts.members]
    for _ in range(30):
        facts = replace(facts, present=frozenset(dice.sample(reps, dice.randint(1, size))))
        for lead in range(dice.randint(1, size)):
            eligible = frozenset(dice.sample(reps, dice.randint(1, size))) if dice.random() < 0.3 else frozenset(reps)
            if not eligible & facts.present:
                continue
            fold = assign(facts, [Waiting(lead, eligible)])
            assert reps_of(fold) == exact.pick(facts.present, eligible)
            facts = after(facts, fold)
    assert {rep: Fraction(b, U * facts.total) for rep, b in facts.balances.items()} == exact.lag


def test_rounding_never_reaches_a_whole_unit_per_change_of_the_set():
    """With weights that do not divide U, balances stay within one unit a change of what fractions give."""
    dice = random.Random(8)
    facts = pool(*[dice.randint(1, 97) for _ in range(12)])
    exact = ExactPool(facts.members)
    reps = [member.rep for member in facts.members]
    for changes in range(1, 200):
        facts = replace(facts, present=frozenset(dice.sample(reps, dice.randint(2, 12))))
        fold = assign(facts, leads(5))
        assert [entry.rep for entry in fold.entries] == [exact.pick(facts.present, facts.present) for _ in range(5)]
        facts = after(facts, fold)
        off = max(abs(Fraction(b, U * facts.total) - exact.lag[rep]) for rep, b in facts.balances.items())
        assert off <= Fraction(changes, U)
        assert sum(facts.balances.values()) == 0


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ((1, 1, 1, 1), "ABCDABCD"),
        ((5, 1, 1), "AABAACA"),
        ((3, 2, 1), "ABACBA"),
        ((2, 0, 2), "ACAC"),
        ((7,), "AAA"),
    ],
)
def test_small_pools_by_hand(weights, expected):
    assert "".join(next_choices(pool(*weights), len(expected))) == expected


@pytest.mark.parametrize("size", [2, 3, 10, 23, 40])
def test_equal_weights_are_plain_round_robin(size):
    facts = pool(*[7] * size)
    assert picks_of(assign(facts, leads(3 * size)), facts) == [*range(size)] * 3


@pytest.mark.parametrize(
    "weights", [(1, 2, 7), (33, 33, 34), (1, 1, 1), (21, 11), (100, *[1] * 50), (10_000, 1, 9_999)]
)
def test_odd_weights_over_ten_thousand_leads(weights):
    """Cases 7 and 8: the bound holds at every prefix, whatever the weights."""
    facts = pool(*weights)
    picks = picks_of(assign(facts, leads(10_000 if len(weights) < 10 else 1_500)), facts)
    assert furthest(list(weights), picks) <= 1 - Fraction(1, 2 * len(weights) - 2)


def test_case_2_one_request_and_six_give_the_same():
    once, _ = take(pool(1, 1, 1), 6)
    facts, singly = pool(1, 1, 1), ""
    for _ in range(6):
        rep, facts = take(facts, 1)
        singly += rep
    assert once == singly == "ABCABC"


def test_case_3_a_new_batch_goes_on_where_the_last_one_ended():
    first, facts = take(pool(1, 1, 1), 4)
    second, _ = take(facts, 2)
    assert (first, second) == ("ABCA", "BC")


def test_case_4_a_rep_added_midway_enters_at_par():
    _, facts = take(pool(1, 1), 80)
    facts = after(facts, join(facts, Member("N", 1, 9)))
    facts = replace(facts, present=facts.present | {"N"})
    reps, _ = take(facts, 45)
    assert Counter(reps) == {"A": 15, "B": 15, "N": 15}


def test_case_4_a_rep_back_from_long_leave_is_not_flooded():
    _, facts = take(pool(1, 1, 1), 3)
    _, facts = take(replace(facts, present=frozenset("AB")), 80)
    reps, _ = take(replace(facts, present=frozenset("ABC")), 45)
    assert Counter(reps)["C"] == 15


def test_case_6_zero_weights():
    held = assign(pool(0, 0), leads(2))
    assert held.held == ((1, "every weight is 0"), (2, "every weight is 0"))
    assert not held.entries
    off_shift = assign(pool(0, 2, present="A"), leads(1))
    assert off_shift.held[0][1].startswith("everyone in the pool is paused")
    assert take(pool(0, 2), 5)[0] == "BBBBB"
    named = assign(pool(0, 2), leads(1, eligible=frozenset("A")))
    assert named.held == ((1, "every member who matches the rule's filter has weight 0"),)


def test_case_8_weighted_rotation_does_not_come_in_bursts():
    reps, _ = take(pool(21, 11), 32)
    assert reps.index("B") <= 2
    assert "BB" not in reps
    assert "AAA" not in reps
    assert Counter(take(pool(3, 2, 1), 60)[0]) == {"A": 30, "B": 20, "C": 10}


def test_case_9_the_order_of_rows_does_not_matter():
    facts = pool(1, 1, 1)
    shuffled = replace(facts, members=facts.members[::-1], balances=dict.fromkeys("CBA", 0))
    first, facts = take(shuffled, 3)
    again, _ = take(replace(facts, members=facts.members[1:] + facts.members[:1]), 3)
    assert (first, again) == ("ABC", "ABC")


def test_case_14_removing_the_last_used_rep():
    first, facts = take(pool(1, 1, 1, 1), 2)
    facts = after(facts, leave(facts, "B"))
    then, facts = take(facts, 1)
    facts = after(facts, join(facts, Member("B", 1, 1)))
    last, _ = take(facts, 4)
    assert (first, then) == ("AB", "C")
    assert last[0] == "D"
    assert sorted(last) == ["A", "B", "C", "D"]


@pytest.mark.parametrize(
    ("facts", "eligible", "reason"),
    [
        (pool(), None, "the pool has no members"),
        (pool(1, 1, present=""), None, "everyone in the pool is paused"),
        (pool(1, 0, present="B"), None, "everyone in the pool is paused or has weight 0"),
        (pool(1, 1), frozenset("Z"), "no member matches the rule's filter"),
        (pool(1, 1, present="A"), frozenset("B"), "every member who matches the rule's filter is paused"),
    ],
)
@pytest.mark.parametrize("filtered", ["whole", "separate"])
def test_case_16_nobody_is_eligible(facts, eligible, reason, filtered):
    fold = assign(replace(facts, filtered=filtered), leads(3, eligible=eligible))
    assert fold.held == tuple((lead, reason) for lead in (1, 2, 3))
    assert (fold.entries, fold.seq, fold.balances) == ((), 0, dict(facts.balances))


def test_case_18_weights_after_an_absence_and_after_a_change():
    _, facts = take(pool(3, 1, present="A"), 40)
    back, _ = take(replace(facts, present=frozenset("AB")), 40)
    assert Counter(back) == {"A": 30, "B": 10}

    _, facts = take(pool(3, 1), 40)
    changed = replace(facts, members=(Member("A", 3, 0), Member("B", 3, 1)))
    reps, _ = take(changed, 40)
    assert Counter(reps) == {"A": 20, "B": 20}
    assert "AAAA" not in reps
    assert "BBBB" not in reps


def test_one_speaker_of_german():
    """DESIGN's figures: ten reps, every tenth lead in German, one who speaks it; 3,000 leads, so a share of 300."""
    for filtered, low, high in (("whole", 300, 315), ("separate", 500, 600)):
        mixed = [Waiting(i, frozenset("A") if i % 10 == 0 else None) for i in range(3_000)]
        count = Counter(reps_of(assign(pool(*[1] * 10, filtered=filtered), mixed)))["A"]
        assert low <= count <= high


def test_an_absent_balance_stands_still():
    _, facts = take(pool(2, 3, 5), 7)
    before = Fraction(facts.balances["A"], U * facts.total)
    _, facts = take(replace(facts, present=frozenset("BC")), 8 * 100)
    assert abs(Fraction(facts.balances["A"], U * facts.total) - before) < Fraction(1, U)


def test_one_tuple_of_shares_for_one_set():
    fold = assign(pool(2, 3, 5), leads(20))
    assert len({id(entry.shares) for entry in fold.entries}) == 1
    assert fold.entries[0].eligible is None


def test_a_joining_rep_is_new_and_a_leaving_one_known():
    with pytest.raises(ValueError, match="A is a member already"):
        join(pool(1, 1), Member("A", 1, 5))
    with pytest.raises(ValueError, match="Z is no member"):
        leave(pool(1, 1), "Z")


def test_the_last_one_leaves_and_a_pool_of_zero_weights_shares_equally():
    _, facts = take(pool(2, 1), 1)
    facts = replace(facts, members=(Member("A", 2, 0), Member("B", 0, 1)))
    alone = after(facts, leave(facts, "A"))
    assert alone.balances == {"B": 0}
    assert after(alone, leave(alone, "B")).balances == {}
