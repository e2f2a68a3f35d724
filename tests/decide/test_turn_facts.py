"""Why a turn was one's and not another's, as the turn itself would say it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.decide.fairness import after, assign, join
from fairturn.decide.pool import PoolFacts, Waiting
from fairturn.decide.rotation import Member, U
from fairturn.decide.turn_facts import in_leads, seats


def pool(weights: list[int]) -> PoolFacts:
    facts = PoolFacts("p", (), frozenset(f"r{n}" for n in range(len(weights))), {}, 0, 0)
    for place, weight in enumerate(weights):
        facts = after(facts, join(facts, Member(f"r{place}", weight, place + 1)))
    return facts


@given(weights=st.lists(st.integers(1, 20), min_size=1, max_size=6), leads=st.integers(1, 30))
@settings(max_examples=100, deadline=None)
def test_whoever_is_given_a_lead_had_one_coming(weights, leads):
    facts = pool(weights)
    for lead in range(leads):
        fold = assign(facts, [Waiting(lead)])
        (entry,) = fold.entries
        assert entry.shares is not None
        shares = {member.rep: member.weight for member in entry.shares}
        found = seats(shares, entry.eligible, facts.balances, facts.total, entry.rep)
        assert {seat.rep for seat in found} == set(shares)
        (chosen,) = [seat for seat in found if seat.chosen]
        assert chosen.ready
        assert chosen.may
        assert sum(in_leads(balance, fold.total) for balance in fold.balances.values()) == pytest.approx(0)
        facts = after(facts, fold)


def test_a_filter_leaves_seats_that_may_not():
    found = seats({"ann": 1, "bob": 1}, ("bob",), {"ann": 0, "bob": 0}, 0, "bob")
    assert {seat.rep: seat.may for seat in found} == {"ann": False, "bob": True}


def test_balances_are_told_in_leads():
    assert in_leads(U * 3, 6) == 0.5
    assert in_leads(0, 0) == 0.0
    assert seats({}, None, {}, 0, None) == []
