"""The audit: right histories come out clean, and a row or a balance that was tampered with is named."""

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.decide.auditing import Checkpoint, PoolAudit, Replay, replay
from fairturn.decide.fairness import (
    GIVES,
    Credit,
    Entry,
    Fold,
    Member,
    PoolFacts,
    U,
    Waiting,
    after,
    assign,
    give_back,
    join,
    leave,
)

EMPTY = PoolFacts(pool="emea", members=(), present=frozenset(), balances={}, total=0, seq=0)


class History:
    """A pool from its first entry on, with everything that was written."""

    def __init__(self, *weights: int, **more) -> None:
        self.facts = replace(EMPTY, **more)
        self.entries: list[Entry] = []
        for place, weight in enumerate(weights):
            self.join(chr(65 + place), weight)

    def write(self, fold: Fold) -> None:
        self.facts = after(self.facts, fold)
        self.entries += fold.entries

    def join(self, rep: str, weight: int) -> None:
        self.write(join(self.facts, Member(rep, weight, self.facts.seq)))
        self.present(self.facts.present | {rep})

    def leave(self, rep: str) -> None:
        self.write(leave(self.facts, rep))

    def give(self, count: int, **more) -> None:
        self.write(assign(self.facts, [Waiting(lead, **more) for lead in range(count)]))

    def give_back(self, rep: str) -> None:
        self.write(give_back(self.facts, rep, 1, "dropped"))

    def present(self, reps: frozenset[str]) -> None:
        self.facts = replace(self.facts, present=reps)

    def weigh(self, weights: dict[str, int]) -> None:
        members = tuple(replace(m, weight=weights.get(m.rep, m.weight)) for m in self.facts.members)
        self.facts = replace(self.facts, members=members)

    def audit(self) -> PoolAudit:
        return replay("emea", self.entries, stored=self.facts)


def live(history: History, dice: random.Random, steps: int, *, filters: bool, weight: int = 100) -> None:
    """Assignments, pauses, joins, leaves, weight changes, filters, turns given back, in any mix."""
    for _ in range(steps):
        reps = [member.rep for member in history.facts.members]
        match dice.randrange(9):
            case 0:
                history.join(f"r{history.facts.seq}", dice.randint(0, weight))
            case 1 if len(reps) > 2:
                history.leave(dice.choice(reps))
            case 2:
                history.weigh({dice.choice(reps): dice.randint(0, weight)})
            case 3:
                history.give_back(dice.choice(reps))
            case 4 | 5:
                history.present(frozenset(rep for rep in reps if dice.random() < 0.7))
            case _:
                history.give(dice.randint(1, 30))
                history.give(2, account=dice.randint(1, 5), counts=dice.random() < 0.8)
                if filters:
                    history.give(3, eligible=frozenset(dice.sample(reps, dice.randint(1, len(reps)))))


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 40), st.randoms(use_true_random=False))
def test_no_rep_is_a_whole_lead_off_whatever_happens_to_the_set(size, dice):
    history = History(*[dice.randint(1, dice.choice([1, 5, 100])) for _ in range(min(size, 26))])
    live(history, dice, 40, filters=False)
    found = history.audit()
    assert found.ok, found
    assert found.unmeasured == 0
    assert sum(found.balances.values()) == 0
    assert found.balances == history.facts.balances


def test_many_seeded_histories():
    for seed in range(150):
        dice = random.Random(seed)
        history = History(*[dice.randint(1, dice.choice([1, 3, 100])) for _ in range(dice.randint(2, 12))])
        live(history, dice, 60, filters=False)
        found = history.audit()
        assert found.ok, (seed, found)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 12), st.sampled_from(["whole", "separate"]), st.randoms(use_true_random=False))
def test_filters_are_recomputed_too_and_raise_no_false_alarm(size, filtered, dice):
    history = History(*[dice.randint(1, 20) for _ in range(size)], filtered=filtered)
    live(history, dice, 40, filters=True)
    found = history.audit()
    assert found.ok, found


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 100), min_size=2, max_size=20), st.integers(1, 300))
def test_the_deviation_of_a_set_that_stands_is_the_distance_from_the_share(weights, count):
    history = History(*weights)
    history.give(count)
    total, worst = sum(weights), Fraction(0)
    taken = dict.fromkeys(history.facts.present, 0)
    share = {member.rep: Fraction(member.weight, total) for member in history.facts.members}
    turns = [entry for entry in history.entries if entry.kind == "turn"]
    for number, entry in enumerate(turns, 1):
        taken[entry.rep] += 1
        worst = max(worst, *(abs(number * share[rep] - leads) for rep, leads in taken.items()))
    assert history.audit().max_deviation == pytest.approx(float(worst), abs=1e-12)


def test_a_stretch_is_measured_against_what_was_carried_into_it():
    """A, B, then B pauses. A owes C half a lead, so C, A, C is right; without that it would be half a lead off."""
    history = History(1, 1, 1)
    history.give(2)
    history.present(frozenset("AC"))
    facts, before = history.facts, len(history.entries)
    history.give(3)
    assert [entry.rep for entry in history.entries[before:]] == ["C", "A", "C"]
    start = Checkpoint(facts.seq, facts.members, facts.balances, facts.total)
    assert replay("emea", history.entries[before:], start=start).max_deviation == 0
    forgetful = replace(start, balances={})
    assert replay("emea", history.entries[before:], start=forgetful).max_deviation == 0.5


def unfair(history: History, rep: str, times: int) -> list[Entry]:
    """Rows as a faulty router would write them: everything to one rep."""
    like = next(entry for entry in history.entries if entry.kind == "turn")
    return [replace(like, seq=history.facts.seq + i, rep=rep) for i in range(1, times + 1)]


def test_one_rep_who_gets_everything_is_far_off():
    history = History(1, 1)
    history.give(2)
    found = replay("emea", history.entries + unfair(history, "A", 10))
    assert found.max_deviation == 5
    assert not found.ok
    assert found.first_difference == "seq 6: the turn is A's, where the facts give B"


def test_one_rep_who_gets_nothing_is_far_off_though_never_chosen():
    history = History(1, 1)
    history.give(2)
    rows = history.entries + unfair(history, "A", 10)
    assert replay("emea", [*rows, *[]]).max_deviation == 5
    starved = replay("emea", rows)
    assert starved.balances["B"] == 5 * U * 2


@pytest.mark.parametrize("kind", ["turn", "paid"])
def test_a_row_given_to_another_is_named(kind):
    dice = random.Random(3)
    history = History(3, 2, 1)
    live(history, dice, 60, filters=True)
    at = [i for i, entry in enumerate(history.entries) if entry.kind == kind and len(entry.shares or ()) > 2][-1]
    row = history.entries[at]
    other = next(m.rep for m in row.shares or () if m.rep != row.rep)
    history.entries[at] = replace(row, rep=other)
    found = history.audit()
    assert not found.recomputed
    assert (found.first_difference or "").startswith(
        f"seq {row.seq}: the {kind} is {other}'s, where the facts give {row.rep}"
    )


def test_a_missing_row_is_a_gap_and_changes_the_balances():
    history = History(3, 2, 1)
    history.give(30)
    del history.entries[12:14]
    found = history.audit()
    assert (found.gaps, found.ok, found.recomputed) == (2, False, False)


def test_rows_out_of_order_are_named():
    history = History(1, 1)
    history.give(4)
    again = replay("emea", [*history.entries, history.entries[-1]])
    assert again.first_difference == "seq 6: it stands after seq 6"
    history.entries[3], history.entries[4] = history.entries[4], history.entries[3]
    assert history.audit().first_difference == "seq 5: it follows seq 3; what was between them is missing"


def test_other_weights_than_those_that_held_are_named():
    history = History(5, 1, 1)
    history.give(7)
    forged = (Member("A", 1, 0), Member("B", 5, 1), Member("C", 1, 2))
    rows = [replace(e, shares=forged) if e.kind == "turn" else e for e in history.entries]
    assert not replay("emea", rows).recomputed


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"balances": {"A": U, "B": -U}}, "the balance of A is 232792560, the entries give 0 (seq 6)"),
        ({"seq": 9}, "seq 6 is the last entry, but the pool stands at 9"),
        ({"total": 3}, "the pool's total weight is 3, the entries give 2"),
        ({"credits": (Credit(1, "B", "owed"),)}, "the open credit of B is 1, the entries give 0"),
    ],
)
def test_a_stored_state_that_the_rows_do_not_give_is_named(change, words):
    history = History(1, 1)
    history.give(4)
    found = replay("emea", history.entries, stored=replace(history.facts, **change))
    assert found.first_difference == words


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (Entry(3, "credit", "A", 1, None, None, ""), "seq 3: a credit row for A, but the pool owed them no lead"),
        (Entry(3, "forgiven", "A", None, None, None, ""), "seq 3: a forgiven row for A, but they owed no lead"),
        (Entry(3, "turn", "A", 1, None, None, ""), "seq 3: there is no record of who shared the turn"),
        (Entry(3, "left", "Z", None, (), None, ""), "seq 3: Z left, and was no member"),
        (
            Entry(3, "left", "A", None, None, None, ""),
            "seq 3: there is no record of who shared the balance left behind",
        ),
        (
            Entry(3, "joined", "A", None, (Member("A", 1, 0),), None, ""),
            "seq 3: A joined, and was a member already",
        ),
        (
            Entry(3, "turn", "Z", 1, (Member("A", 1, 0), Member("B", 1, 1)), ("Z",), ""),
            "seq 3: the turn is Z's, where the facts give nobody",
        ),
    ],
)
def test_rows_that_cannot_be_are_named_and_the_audit_goes_on(row, words):
    history = History(1, 1)
    following = replace(row, seq=4, kind="returned", rep="B", lead=1, shares=None)
    found = replay("emea", [*history.entries, row, following])
    assert found.first_difference == words
    assert found.credit["B"] == 1


def test_credit_is_listed_apart():
    history = History(1, 1, 1)
    history.give(3)
    history.give_back("B")
    history.give_back("B")
    history.write(assign(history.facts, [Waiting(1, keep="C"), Waiting(2, keep="A", counts=False)]))
    found = history.audit()
    assert found.ok
    assert found.credit == {"B": 2, "C": -1}
    assert found.assignments == 5


def test_an_audit_may_start_at_a_checkpoint():
    dice = random.Random(11)
    history = History(5, 3, 2, 2)
    live(history, dice, 40, filters=True)
    credit: dict[str, int] = {}
    for row in history.facts.credits:
        credit[row.rep] = credit.get(row.rep, 0) + (1 if row.kind == "owed" else -1)
    facts, before = history.facts, len(history.entries)
    start = Checkpoint(facts.seq, facts.members, facts.balances, facts.total, credit, filtered=True)
    live(history, dice, 40, filters=True)
    found = replay("emea", history.entries[before:], start=start, stored=history.facts)
    assert found.ok, found
    assert found.balances == history.audit().balances


def test_findings_may_be_read_at_any_time():
    history = History(3, 2, 1)
    live(history, random.Random(4), 40, filters=False)
    run = Replay("emea")
    for entry in history.entries:
        run.take(entry)
        run.audit()
    assert run.audit(history.facts) == history.audit()


def test_no_rows_at_all():
    found = replay("emea", [])
    assert found.ok
    assert (found.assignments, found.max_deviation, found.balances) == (0, 0.0, {})


def test_rows_stream_through():
    """Memory does not grow with the rows, and shares that come as equal copies from a cursor are one set."""
    history = History(*[1] * 10)
    history.give(2_000)

    def rows() -> Iterator[Entry]:
        for entry in history.entries:
            yield replace(entry, shares=tuple(replace(member) for member in entry.shares or ()) or None)

    run = Replay("emea")
    for entry in rows():
        run.take(entry)
    found = run.audit(history.facts)
    assert found.ok
    assert found.assignments == sum(entry.kind in GIVES for entry in history.entries) == 2_000
    assert len(run._sets) == 1
