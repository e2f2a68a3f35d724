"""The pool's book with owners who keep their leads: members, paused ones and strangers to the pool, in any mix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.config import Settings
from fairturn.decide.auditing import Replay
from fairturn.decide.drafts import Draft
from fairturn.decide.fairness import after, join
from fairturn.decide.pool import Entry, PoolFacts
from fairturn.decide.rotation import Member
from fairturn.flow.plan import Plan, compile_plan
from fairturn.flow.turns import fold_pools

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REPS = ["ann", "bob", "cid", "outsider"]


def plan(weights: dict[str, int], *, counts: bool) -> Plan:
    body = {
        "reps": {rep: {"name": rep} for rep in REPS},
        "pools": {"main": {"members": weights, "counts": counts}},
        "rules": [{"id": "rest", "when": "true", "pool": "main"}],
    }
    flat: Callable[[object], object] = lambda payload: payload  # noqa: E731
    return compile_plan(1, Settings.model_validate(body), lambda _: flat)


def begun(weights: dict[str, int], *, counts: bool) -> tuple[PoolFacts, list[Entry]]:
    facts = PoolFacts("main", (), frozenset(), {}, total=0, seq=0, counts_kept=counts)
    entries: list[Entry] = []
    for place, (rep, weight) in enumerate(weights.items()):
        fold = join(facts, Member(rep, weight, place))
        facts, entries = after(facts, fold), [*entries, *fold.entries]
    return replace(facts, present=frozenset(weights)), entries


lead = st.one_of(st.none(), st.sampled_from(REPS))  # who keeps it; None: by turn
batches = st.lists(st.tuples(st.lists(lead, max_size=12), st.sets(st.sampled_from(REPS[:3]))), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(batches, st.tuples(*[st.integers(0, 3)] * 3), st.booleans())
def test_every_turn_is_recomputed_and_nobody_is_a_whole_lead_off(
    batches: list[tuple[list[str | None], set[str]]], weights: tuple[int, int, int], counts: bool
) -> None:
    members = dict(zip(REPS, weights, strict=False))
    the_plan = plan(members, counts=counts)
    facts, entries = begun(members, counts=counts)
    number = 0
    for keeps, away in batches:
        facts = replace(facts, present=frozenset(members) - away)
        drafts = []
        for keep in keeps:
            number += 1
            draft = Draft(number, None, "web", {}, "routing", pool="main", rule="rest", keep=keep)
            draft.kept = f"{keep} owns Lead 00Q and keeps it" if keep else None
            drafts.append(draft)
        fold = fold_pools(the_plan, ["main"], {"main": facts}, drafts).get("main")
        if fold is not None:
            facts, entries = after(facts, fold), [*entries, *fold.entries]
        for draft in drafts:
            if draft.keep:
                assert (draft.status, draft.rep, draft.reason) == ("assigned", draft.keep, draft.kept)
            else:
                assert draft.status in {"assigned", "held"}
    run = Replay("main")
    for entry in entries:
        run.take(entry)
    found = run.audit(facts)
    assert (found.ok, found.gaps, found.first_difference) == (True, 0, None)
    kept = [entry for entry in entries if entry.kind == "kept"]
    assert all(entry.counts == (counts and members.get(entry.rep, 0) > 0) for entry in kept)
    assert not any(credit.rep == "outsider" for credit in facts.credits)
