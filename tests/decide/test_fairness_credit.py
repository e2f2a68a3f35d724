"""What lies outside the rotation: turns given back, owners who keep their leads, leads of one company."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.decide.fairness import (
    GIVES,
    Credit,
    Entry,
    Fold,
    Member,
    PoolFacts,
    Settled,
    U,
    Waiting,
    after,
    assign,
    give_back,
    join,
    leave,
    next_choices,
)


def pool(*weights: int, **more) -> PoolFacts:
    reps = [chr(65 + i) for i in range(len(weights))]
    return PoolFacts(
        pool="emea",
        members=tuple(Member(rep, weight, i) for i, (rep, weight) in enumerate(zip(reps, weights, strict=True))),
        present=frozenset(reps),
        balances=dict.fromkeys(reps, 0),
        total=0,
        seq=0,
        **more,
    )


def leads(count: int, **more) -> list[Waiting]:
    return [Waiting(lead, **more) for lead in range(1, count + 1)]


def kinds(fold: Fold) -> list[tuple[str, str]]:
    return [(entry.kind, entry.rep) for entry in fold.entries]


def given_back(facts: PoolFacts, rep: str, times: int) -> PoolFacts:
    for lead in range(times):
        facts = after(facts, give_back(facts, rep, lead, "the write was dropped"))
    return facts


def most_in(window: int, rep: str, reps: list[str]) -> int:
    return max(reps[i : i + window].count(rep) for i in range(len(reps) - window + 1))


@pytest.mark.parametrize("taken", range(10))
def test_eight_turns_given_back_come_in_smoothly(taken):
    facts = after(pool(*[1] * 10), assign(pool(*[1] * 10), leads(80 + taken)))
    facts = given_back(facts, "A", 8)
    fold = assign(facts, leads(200))
    reps = [entry.rep for entry in fold.entries]
    assert most_in(10, "A", reps) <= 2
    assert [entry.kind for entry in fold.entries].count("credit") == 8
    assert max(i for i, entry in enumerate(fold.entries) if entry.kind == "credit") < 100
    # the eight came on top of an even share
    assert sum(entry.kind == "turn" and entry.rep == "A" for entry in fold.entries) in {19, 20}


def test_twelve_people_of_one_company():
    """One rep, whose next lead comes within 50; plain arithmetic left them without for 111."""
    fold = assign(pool(*[1] * 10), [*leads(12, account=7), *leads(100)])
    given = [entry for entry in fold.entries if entry.kind in GIVES]
    assert {entry.rep for entry in given[:12]} == {"A"}
    assert [entry.kind for entry in given[:12]] == ["turn"] + ["kept"] * 11
    assert next(i for i, entry in enumerate(given[12:]) if entry.rep == "A") < 50
    assert [entry.kind for entry in fold.entries].count("forgiven") == 8
    assert [entry.kind for entry in fold.entries].count("paid") == 3


def test_a_turn_given_back_moves_no_balance():
    facts = after(pool(3, 2, 1), assign(pool(3, 2, 1), leads(4)))
    back = give_back(facts, "A", 1, "the owner had left")
    assert back.balances == facts.balances
    assert back.opened == (Credit(None, "A", "owed", 5),)
    assert back.entries == (Entry(5, "returned", "A", 1, None, None, "the owner had left"),)
    facts = replace(after(facts, back), last="B")
    credit = assign(facts, leads(1))
    assert kinds(credit) == [("credit", "A")]
    assert credit.balances == facts.balances
    assert credit.settled_credits == (Settled(back.opened[0], 6, "settled"),)
    assert credit.settled == {"A": 5}


def test_an_owed_lead_waits_for_one_that_its_rep_may_have():
    facts = given_back(pool(1, 1, 1), "C", 1)
    fold = assign(facts, [Waiting(1, frozenset("AB")), Waiting(2)])
    assert kinds(fold) == [("turn", "A"), ("credit", "C")]
    away = assign(replace(facts, present=frozenset("AB")), leads(4))
    assert {kind for kind, _ in kinds(away)} == {"turn"}


def test_the_oldest_owed_lead_goes_first():
    facts = given_back(given_back(pool(1, 1, 1, 1), "C", 1), "B", 1)
    assert [kind for kind in kinds(assign(facts, leads(3))) if kind[0] == "credit"] == [
        ("credit", "C"),
        ("credit", "B"),
    ]


def test_an_owed_lead_is_not_given_to_the_rep_of_the_lead_before():
    facts = given_back(after(pool(1, 1), assign(pool(1, 1), leads(1))), "A", 1)
    assert facts.last == "A"
    assert kinds(assign(facts, leads(2))) == [("turn", "B"), ("credit", "A")]
    alone = assign(facts, leads(1, eligible=frozenset("A")))
    assert kinds(alone) == [("credit", "A")]


def test_a_debt_is_paid_when_the_rotation_chooses_its_rep():
    facts = pool(1, 1, 1)
    fold = assign(facts, [Waiting(1, keep="A"), *leads(4)])
    assert kinds(fold) == [
        ("kept", "A"),
        ("paid", "A"),
        ("turn", "B"),
        ("turn", "C"),
        ("turn", "A"),
        ("turn", "B"),
    ]
    paid, turn = fold.entries[1:3]
    assert paid.lead is None
    assert paid.shares is turn.shares
    assert not fold.opened


def test_a_kept_lead_that_does_not_count():
    for waiting, facts in (
        (Waiting(1, keep="A", counts=False), pool(1, 1)),
        (Waiting(1, keep="A"), pool(1, 1, counts_kept=False)),
        (Waiting(1, keep="Z"), pool(1, 1)),
        (Waiting(1, keep="B"), pool(1, 0)),
    ):
        fold = assign(facts, [waiting])
        assert fold.entries[0].counts is False
        assert (fold.entries[0].kind, fold.entries[0].rep, fold.opened) == ("kept", waiting.keep, ())


def test_an_owner_keeps_the_lead_while_everyone_is_paused():
    fold = assign(replace(pool(1, 1), present=frozenset()), [Waiting(1, keep="B"), Waiting(2)])
    assert kinds(fold) == [("kept", "B")]
    assert [lead for lead, _ in fold.held] == [2]


@pytest.mark.parametrize("max_debt", [0, 1, 3])
def test_debt_beyond_the_limit_is_forgiven_with_a_row(max_debt):
    fold = assign(pool(1, 1, 1, max_debt=max_debt), [Waiting(i, keep="A") for i in range(5)])
    assert [kind for kind, _ in kinds(fold)].count("forgiven") == 5 - max_debt
    assert len(fold.opened) == max_debt


def test_a_lowered_limit_forgives_what_stood():
    facts = pool(1, 1, max_debt=1, credits=tuple(Credit(i, "A", "debt", i) for i in (1, 2, 3)), given=3, last="A")
    fold = assign(replace(facts, seq=3), [Waiting(1, keep="A")])
    assert kinds(fold) == [("kept", "A")] + [("forgiven", "A")] * 3
    assert [(s.credit.id, s.how) for s in fold.settled_credits] == [(3, "forgiven"), (2, "forgiven")]


def test_owed_and_debt_of_one_rep_cancel_as_they_meet():
    owed = given_back(pool(1, 1, 1), "A", 1)
    kept = assign(owed, [Waiting(9, keep="A")])
    assert (kept.opened, [s.how for s in kept.settled_credits]) == ((), ["cancelled"])
    indebted = after(pool(1, 1, 1), assign(pool(1, 1, 1), [Waiting(1, keep="A")]))
    back = give_back(indebted, "A", 1, "dropped")
    assert (back.opened, [s.how for s in back.settled_credits]) == ((), ["cancelled"])


def test_a_lead_that_took_no_turn_is_given_back_without_credit():
    back = give_back(pool(1, 1), "A", 1, "dropped", owes=False)
    assert (back.opened, back.entries[0].counts) == ((), False)
    stranger = give_back(pool(1, 1), "Z", 1, "dropped")
    assert (stranger.opened, stranger.entries[0].counts) == ((), False)


def test_the_credit_of_a_rep_who_leaves_ends():
    facts = given_back(given_back(pool(1, 1, 1), "A", 2), "B", 1)
    fold = leave(facts, "A")
    assert [(s.credit.rep, s.seq, s.how) for s in fold.settled_credits] == [("A", 4, "left")] * 2
    assert [credit.rep for credit in after(facts, fold).credits] == ["B"]


def test_the_first_lead_of_a_company_sets_it_for_the_later_ones():
    fold = assign(pool(1, 1, 1), [Waiting(1), Waiting(2, account=5), Waiting(3), Waiting(4, account=5)])
    assert kinds(fold) == [("turn", "A"), ("turn", "B"), ("turn", "C"), ("kept", "B")]
    assert fold.sticky == {5: "B"}


@pytest.mark.parametrize(
    ("facts", "eligible"),
    [
        (replace(pool(1, 1, 1), present=frozenset("AC")), None),
        (pool(1, 1, 1), frozenset("AC")),
        (pool(1, 0, 1), None),
    ],
)
def test_a_company_goes_to_another_rep_where_its_own_cannot(facts, eligible):
    fold = assign(replace(facts, sticky={5: "B"}), [Waiting(1, eligible, account=5), Waiting(2, account=5)])
    assert kinds(fold) == [("turn", "A"), ("kept", "A")]
    assert fold.sticky == {5: "A"}


def test_an_owed_lead_and_a_paid_turn_name_the_lead_once():
    facts = after(pool(1, 1, 1), assign(pool(1, 1, 1), [Waiting(50, keep="B"), Waiting(51, keep="C")]))
    facts = given_back(facts, "A", 3)
    fold = assign(facts, leads(30))
    assert [entry.lead for entry in fold.entries if entry.kind in GIVES] == [*range(1, 31)]
    assert all(entry.lead is None for entry in fold.entries if entry.kind not in GIVES)


def mixed_leads(dice: random.Random, count: int, reps: list[str]) -> list[Waiting]:
    return [
        Waiting(
            lead,
            eligible=frozenset(dice.sample(reps, dice.randint(1, len(reps)))) if dice.random() < 0.2 else None,
            account=dice.choice([None, None, 1, 2, 3]),
            keep=dice.choice(reps) if dice.random() < 0.1 else None,
            counts=dice.random() < 0.8,
        )
        for lead in range(count)
    ]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.sampled_from(["whole", "separate"]), st.randoms(use_true_random=False))
def test_k_leads_in_one_fold_are_k_folds_of_one(size, filtered, dice):
    facts = pool(*[dice.randint(0, 9) for _ in range(size)], filtered=filtered)
    reps = [member.rep for member in facts.members]
    for rep in dice.choices(reps, k=dice.randint(0, 6)):
        facts = given_back(facts, rep, dice.randint(1, 3))
    facts = replace(facts, present=frozenset(dice.sample(reps, dice.randint(0, size))))
    waiting = mixed_leads(dice, 40, reps)
    once = assign(facts, waiting)
    one = facts
    entries: list[Entry] = []
    held: list[tuple[int, str]] = []
    for lead in waiting:
        fold = assign(one, [lead])
        one = after(one, fold)
        entries += fold.entries
        held += fold.held
    assert (list(once.entries), list(once.held)) == (entries, held)
    assert after(facts, once) == one


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 12), st.randoms(use_true_random=False))
def test_settlements_keep_their_distance(size, dice):
    """At most one per member in any n leads, never two running, and no owed lead to the rep of the lead before."""
    facts = pool(*[dice.randint(1, 5) for _ in range(size)], max_debt=5)
    reps = [member.rep for member in facts.members]
    entries: list[Entry] = []
    for _ in range(12):
        for rep in dice.choices(reps, k=3):
            fold = give_back(facts, rep, 1, "dropped") if dice.random() < 0.6 else assign(facts, [Waiting(1, keep=rep)])
            facts = after(facts, fold)
            entries += fold.entries
        fold = assign(facts, leads(dice.randint(1, 2 * size)))
        facts = after(facts, fold)
        entries += fold.entries
    number, before = 0, ""
    settled: dict[str, int] = {}
    for entry in entries:
        if entry.kind in {"credit", "paid"}:
            at = number + 1
            assert at - settled.get(entry.rep, -size) >= size
            assert at - 1 not in settled.values()
            assert entry.kind == "paid" or entry.rep != before
            settled[entry.rep] = at
        if entry.kind in GIVES:
            number, before = number + 1, entry.rep
    assert facts.given == number


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.sampled_from(["whole", "separate"]), st.randoms(use_true_random=False))
def test_balances_sum_to_zero_through_any_history(size, filtered, dice):
    facts = pool(*[dice.randint(0, 100) for _ in range(size)], filtered=filtered)
    newcomers = iter(range(100, 200))
    entries: list[Entry] = []
    for _ in range(60):
        reps = [member.rep for member in facts.members]
        match dice.randrange(6):
            case 0 if reps:
                fold = leave(facts, dice.choice(reps))
            case 1:
                new = next(newcomers)
                fold = join(facts, Member(f"r{new}", dice.randint(0, 100), new))
            case 2 if reps:
                fold = give_back(facts, dice.choice(reps), 1, "dropped")
            case 3:
                members = tuple(replace(m, weight=dice.choice([m.weight, dice.randint(0, 100)])) for m in facts.members)
                facts = replace(facts, members=members, present=frozenset(r for r in reps if dice.random() < 0.7))
                continue
            case _:
                fold = assign(facts, mixed_leads(dice, dice.randint(1, 15), reps) if reps else leads(2))
        facts = after(facts, fold)
        entries += fold.entries
        assert sum(facts.balances.values()) == 0
        assert facts.balances.keys() == {member.rep for member in facts.members}
        assert all(abs(balance) < 2**63 for balance in facts.balances.values())
    assert [entry.seq for entry in entries] == [*range(1, len(entries) + 1)]
    for entry in entries:
        if entry.kind in {"turn", "paid"}:
            assert any(m.rep == entry.rep and m.weight > 0 for m in entry.shares or ())


def test_next_choices_are_the_ones_that_come():
    facts = given_back(after(pool(3, 2, 1), assign(pool(3, 2, 1), leads(4))), "C", 1)
    coming = next_choices(facts, 12)
    assert coming == tuple(entry.rep for entry in assign(facts, leads(12)).entries if entry.kind in GIVES)
    assert next_choices(replace(facts, present=frozenset()), 3) == ()


def test_a_lead_in_balances_is_the_unit_times_the_weight():
    fold = assign(pool(2, 3), leads(1))
    assert (fold.total, fold.balances) == (5, {"A": 2 * U, "B": 3 * U - 5 * U})
