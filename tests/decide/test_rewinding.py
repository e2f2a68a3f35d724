"""Walked back from now, a pool stands where a replay from its first entry finds it."""

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.decide.auditing import Replay
from fairturn.decide.fairness import Entry, Fold, Member, PoolFacts, Waiting, after, assign, give_back, join, leave
from fairturn.decide.rewinding import Rewind

REPS = "ABCDE"


class Pool:
    def __init__(self, weights: list[int]) -> None:
        self.facts = PoolFacts("emea", (), frozenset(REPS), {}, 0, 0)
        self.entries: list[Entry] = []
        for place, weight in enumerate(weights):
            self.write(join(self.facts, Member(REPS[place], weight, place)))

    def write(self, fold: Fold) -> None:
        self.facts = after(self.facts, fold)
        self.entries += fold.entries

    def any_act(self, dice: Random) -> None:
        reps = [member.rep for member in self.facts.members]
        match dice.randrange(6):
            case 0:
                self.write(give_back(self.facts, dice.choice(reps), 1, "dropped", owes=dice.random() < 0.8))
            case 1:
                self.write(assign(self.facts, [Waiting(2, keep=dice.choice(reps), counts=dice.random() < 0.8)]))
            case 2:
                self.write(assign(self.facts, [Waiting(3, eligible=frozenset(dice.sample(reps, 2)))]))
            case _:
                self.write(assign(self.facts, [Waiting(4)] * dice.randint(1, 4)))


def before(pool: Pool, count: int) -> Replay:
    run = Replay("emea")
    for entry in pool.entries[:count]:
        run.take(entry)
    return run


@given(st.lists(st.integers(1, 7), min_size=2, max_size=5), st.integers(0, 2**32))
@settings(max_examples=40)
def test_it_finds_what_a_replay_finds(weights: list[int], seed: int):
    pool, dice = Pool(weights), Random(seed)
    for _ in range(15):
        pool.any_act(dice)
    state = Rewind(pool.facts)
    for count in range(len(pool.entries) - 1, len(weights), -1):
        assert state.undo(pool.entries[count])
        run = before(pool, count)
        found = run.audit()
        # Before the first turn there is no total, and every balance is 0.
        assert state.balances == found.balances
        assert {rep: leads for rep, leads in state.credit.items() if leads} == found.credit
        assert (state.given, state.seq) == (found.assignments, count)


def test_the_way_is_lost_where_the_set_weighs_otherwise():
    pool = Pool([3, 2, 2])
    pool.write(assign(pool.facts, [Waiting(1)] * 5))
    pool.facts = replace(pool.facts, present=frozenset("AB"))
    pool.write(assign(pool.facts, [Waiting(1)]))
    state = Rewind(pool.facts)
    assert state.undo(pool.entries[-1])
    assert not state.undo(pool.entries[-2])
    assert state.seq == pool.facts.seq - 1


def test_the_way_is_lost_where_a_member_left_or_came_or_an_entry_is_missing():
    pool = Pool([1, 1, 1])
    pool.write(assign(pool.facts, [Waiting(1)] * 4))
    assert not Rewind(pool.facts).undo(pool.entries[-2])
    pool.write(leave(pool.facts, "A"))
    assert not Rewind(pool.facts).undo(pool.entries[-1])
    pool.write(join(pool.facts, Member("F", 1, 9)))
    assert not Rewind(pool.facts).undo(pool.entries[-1])
