"""Events of callers who wait, stored and routed in one transaction: all of it or nothing, and nobody told too much."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fairturn.errors import Contended, Overloaded, StaleConfig, Unstorable
from fairturn.flow import station as stations
from fairturn.flow import sync
from fairturn.flow.accept import Bounds
from fairturn.flow.plan import Plans
from fairturn.flow.route import route_events
from fairturn.flow.station import RouteStation
from fairturn.intake.answers import problem
from fairturn.intake.express import Express
from fairturn.model import Assigned
from fairturn.stores.postgres.journal import PostgresJournal
from fairturn.stores.postgres.router import PostgresRouter
from tests.flow.lane import (
    EVENTS,
    TURNS,
    Call,
    arrivals,
    broken,
    lane_of,
    pool_held,
    post,
    reps,
    told,
    waiting_sessions,
)
from tests.flow.test_route_concurrency import Held
from tests.flow.test_sync_lane import REFUSES_AT_COMMIT, chat, door_of
from tests.flow.whole import people
from tests.flow.world import Worlds, config


async def test_event_lead_and_turn_are_one_transaction_and_each_row_is_written_once(world: Worlds) -> None:
    w = await world(config())
    async with lane_of(w) as lane:
        answers = await told(*(Call(lane, one) for one in arrivals(*people(20))))
    assert sorted(Counter(reps(answers)).values()) == [6, 7, 7]
    rows = await w.fetch(
        "select e.state, e.lane, e.xmin = d.xmin and e.xmin = l.xmin and e.xmin = a.xmin as at_once, d.body is not null"
        " as raw, e.received_at <= clock_timestamp() as past from event e join delivery d on d.id = e.delivery_id"
        " join lead l on l.id = e.lead_id join assignment a on a.lead_id = l.id"
    )
    assert Counter(tuple(row) for row in rows) == {("routed", "sync", True, True, True): 20}
    # The 20th row is the last of the heap: an update would have put another version behind it.
    assert await w.value("select max(ctid)::text from event") == "(0,20)"
    order = await w.fetch("select e.serial from event e join assignment a on a.lead_id = e.lead_id order by a.seq")
    assert [row[0] for row in order] == sorted(row[0] for row in order)


async def test_events_known_before_among_new_ones(world: Worlds) -> None:
    """Routed, pending and quarantined ones come again: as the store has them, and their neighbours never notice."""
    w = await world(config())
    routed, pending, aside, *new = arrivals(*people(8))
    async with lane_of(w) as lane:
        [before] = await told(Call(lane, routed))
        await post(w, [pending, aside])
        await w.value("update event set state = 'quarantined', problem = 'odd' where id = $1", aside.items[0].id)
        answers = await told(*(Call(lane, one) for one in (new[0], routed, pending, aside, *new[1:])))
    assert answers[1] == before
    assert isinstance(answers[3], Assigned)
    assert (answers[3].lead, answers[3].status, answers[3].why) == (None, "quarantined", "odd")
    assert None not in reps(answers[:3] + answers[4:])
    assert await w.value(TURNS) == await w.value("select count(*) from lead") == 7
    assert await w.value(EVENTS) == 8


async def test_the_same_events_in_two_lanes_at_once(world: Worlds) -> None:
    """Two callers here, one at another process: one turn each, and all are told the same."""
    w = await world(config())
    other = await w.add_station()
    came = arrivals(*people(5))
    async with lane_of(w) as lane, lane_of(w, station=other) as second:
        async with pool_held(w):
            calls = [[Call(lane, one), Call(lane, one), Call(second, one)] for one in came]
            await waiting_sessions(w, 2)  # one for the pool, the other for the keys
        answers = [await told(*three) for three in calls]
    assert all(isinstance(one, Assigned) and [one] * 3 == three for three in answers for one in three[:1])
    assert await w.value(TURNS) == await w.value(EVENTS) == 5
    assert await w.value("select deadlocks from pg_stat_database where datname = current_database()") == 0


class Once:
    """A router whose first step stops before `store` until it is let go."""

    def __init__(self, router: PostgresRouter) -> None:
        self._router = router
        self.held: asyncio.Future[Held] = asyncio.get_running_loop().create_future()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._router, name)

    @asynccontextmanager
    async def step(self) -> AsyncIterator[Any]:
        async with self._router.step() as step:
            if not self.held.done():
                held = Held(step, "store")
                self.held.set_result(held)
                yield held
            else:
                yield step


async def test_an_event_that_another_stores_between_the_look_and_our_row(world: Worlds) -> None:
    w = await world(config())
    router = Once(PostgresRouter(w.database))
    station = RouteStation(router, Plans(await w.load(), w.load))
    came = arrivals(*people(3))
    async with lane_of(w, station=station) as lane:
        calls = [Call(lane, one) for one in came]
        held = await router.held
        await held.reached.wait()
        await post(w, came[1:2])
        held.go.set()
        answers = await told(*calls)
    assert sorted(reps(answers), key=str) == ["ann", "bob", "cid"]
    assert await w.value(TURNS) == await w.value(EVENTS) == 3


async def test_a_step_whose_event_another_stored_is_contended(world: Worlds) -> None:
    w = await world(config())
    [late] = arrivals({"email": "late@gmail.com"})
    plan = await w.load()

    async def step() -> None:
        async with PostgresRouter(w.database).step() as step:
            taken = await step.admit([late])
            await post(w, [late])
            await route_events(step, plan, taken)

    with pytest.raises(Contended):
        await step()
    assert await w.value("select count(*) from lead") == 0
    assert await w.value("select state from event") == "pending"


async def test_one_that_cannot_be_stored_costs_its_neighbours_nothing(world: Worlds) -> None:
    w = await world(config())
    came = arrivals(*people(20))
    came[13] = broken(came[13])
    async with lane_of(w) as lane:
        answers = await told(*(Call(lane, one) for one in came))
    assert [place for place, one in enumerate(answers) if isinstance(one, Overloaded)] == [13]
    assert Counter(reps(answers))[None] == 1
    assert await w.value(TURNS) == await w.value(EVENTS) == 19


async def test_an_event_that_breaks_a_step_is_set_aside_alone(world: Worlds) -> None:
    w = await world(config())
    await w.value(
        "alter table lead add constraint fault check (fields -> 'city' ->> 0 is distinct from 'trouble') not valid"
    )
    came = arrivals(*people(4), {"email": "x@gmail.com", "city": "trouble"})
    async with lane_of(w) as lane:
        answers = await told(*(Call(lane, one) for one in came))
    assert isinstance(answers[4], Assigned)
    assert answers[4].status == "quarantined"
    assert "fault" not in problem(answers[4])  # the sender is told no constraint's name
    alone = Assigned(None, "quarantined", None, None, "its lead could not be routed: KeyError: 'x'")
    assert "KeyError" not in problem(alone)
    assert None not in reps(answers[:4])
    states = await w.fetch("select state, count(*), max(problem) from event group by 1 order by 1")
    assert [(row[0], row[1]) for row in states] == [("quarantined", 1), ("routed", 4)]
    assert "could not be routed" in states[0][2]


async def test_signals_and_marks_are_stored_as_by_the_ordinary_way(world: Worlds) -> None:
    """A signal without its lead, oddities of the mapping, what is no lead's; and a lead whose signal waits for it."""
    w = await world(config())
    rows = (
        "select source_id, state, lead_id is null, marks, cardinality(keys), expires_at - received_at > '1 minute',"
        " regexp_replace(problem, 'ordinary|lane', 'x') from event where id = any($1) order by serial"
    )

    def odd(name: str) -> list[Any]:
        one = {"email": f"{name}@gmail.com"}
        return [
            *arrivals(one | {"score": 7}, {"visitor": name}, source="enrich"),
            *arrivals(one | {"employees": "some", "at": "yesterday"}, one, {"nothing": name}),
        ]

    ordinary, fused = odd("ordinary"), odd("lane")
    for one in ordinary:
        await post(w, [one])
        while await w.station.route([one.items[0].id]):
            pass
    async with lane_of(w) as lane:
        for one in fused:
            await told(Call(lane, one))
    wanted, found = [await w.fetch(rows, [one.items[0].id for one in came]) for came in (ordinary, fused)]
    assert [tuple(row) for row in found] == [tuple(row) for row in wanted]
    assert Counter(row["state"] for row in found)["waiting"] == 1
    assert any(row["marks"] for row in found)
    # The signal that waited for its lead has it, and told it what it knew.
    scores = await w.fetch("select fields -> 'score' ->> 0 as score from lead where fields ? 'score'")
    assert [row["score"] for row in scores] == ["7.0", "7.0"]


async def test_refused_at_commit_nobody_is_told_an_owner_and_the_events_are_safe(world: Worlds) -> None:
    w = await world(config())
    async with w.database.connection() as connection:
        await connection.execute(REFUSES_AT_COMMIT)
    async with lane_of(w) as lane:
        assert await told(*(Call(lane, one) for one in arrivals(*people(3)))) == [None] * 3
        assert await w.value("select count(*) from event where state = 'pending'") == 3
        assert await w.value("select count(*) from lead") == 0
        await w.value("drop trigger no on lead")
        assert None not in reps(await told(*(Call(lane, one) for one in arrivals(*people(3)))))
    assert await w.value(TURNS) == 3


async def test_postgresql_goes_away_while_a_step_runs(world: Worlds) -> None:
    w = await world(config())
    came = arrivals(*people(5))
    async with lane_of(w) as lane:
        async with pool_held(w) as other:
            calls = [Call(lane, one) for one in came]
            [session] = await waiting_sessions(w)
            await other.fetchval("select pg_terminate_backend($1)", session)
            await waiting_sessions(w)  # stored by themselves by now, and routed: it waits as the first did
            assert await w.value("select count(*) from event where state = 'pending'") == 5
        assert None not in reps(await told(*calls))
    assert await w.value(TURNS) == await w.value(EVENTS) == 5


async def test_deadlines_of_different_length_in_one_step(world: Worlds) -> None:
    """Each is let go at its own, stored, while another holds the pool; who waits longer is told an owner."""
    w = await world(config())
    came = arrivals(*people(7))
    async with lane_of(w) as lane:
        async with pool_held(w):
            short = [Call(lane, one, 0.15) for one in came[:3]]
            middle = [Call(lane, one, 0.3) for one in came[3:6]]
            patient = Call(lane, came[6])
            assert await told(*short) == [None] * 3
            assert await w.value(EVENTS) == 7
            assert await told(*middle) == [None] * 3
            # Steps hang, and one who comes now finds none: stored at the deadline all the same.
            [more] = arrivals({"email": "more@gmail.com"})
            assert await told(Call(lane, more, 0.1)) == [None]
            assert await w.value("select count(*) from event where state = 'pending'") == 8
        assert None not in reps(await told(patient, *(Call(lane, one) for one in (*came, more))))
    assert await w.value(TURNS) == 8


async def test_a_deadline_that_ends_while_a_step_works_does_not_undo_it(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under load each step would have a caller who came too long ago, and none would ever end."""
    monkeypatch.setattr(sync, "GRACE", 20.0)
    w = await world(config(sources=(("web", 'lane = "sync"\ndeadline = "30ms"'), ("enrich", ""))))
    router = Once(PostgresRouter(w.database))
    station = RouteStation(router, Plans(await w.load(), w.load))
    async with lane_of(w, station=station) as lane, door_of(w, lane) as ways:
        said = asyncio.create_task(ways.said(Express, [chat(b'{"email":"a@gmail.com"}')]))
        held = await router.held
        await asyncio.sleep(0.05)  # beyond the deadline
        assert not said.done()
        held.go.set()
        answer, _ = await said
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b'"rep":{"id":"ann"' in answer
    assert await w.value("select max(ctid)::text from event") == "(0,1)"


async def test_a_step_is_bounded_in_callers_and_in_bytes(world: Worlds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync, "MOST", 4)
    w = await world(config())
    large = {"name": "x" * 600}
    async with lane_of(w, Bounds(group_bytes=2500)) as lane:
        some = [Call(lane, one) for one in arrivals(*people(20), *({**one, **large} for one in people(10, 50)))]
        assert None not in reps(await told(*some))
    steps = await w.fetch("select count(*) from event group by xmin::text order by 1")
    assert [row[0] for row in steps] == [2] * 5 + [4] * 5


async def test_appends_of_what_a_step_has_end_with_it(world: Worlds) -> None:
    """Another door stores the same deliveries, in the other order, while the step waits for the pool: no deadlock."""
    w = await world(config())
    came = arrivals(*people(10))
    async with lane_of(w) as lane:
        async with pool_held(w):
            calls = [Call(lane, one, 0.1) for one in came]
            await waiting_sessions(w)
            others = [asyncio.create_task(post(w, came[::-1])) for _ in range(3)]
            await asyncio.gather(*others)
            assert await told(*calls) == [None] * 10
        assert None not in reps(await told(*(Call(lane, one) for one in came)))
    assert await w.value(TURNS) == await w.value(EVENTS) == 10
    assert await w.value("select deadlocks from pg_stat_database where datname = current_database()") == 0


async def test_a_deadline_that_ends_before_its_step_has_begun(world: Worlds) -> None:
    w = await world(config())
    [one, two] = arrivals(*people(2))
    async with lane_of(w) as lane:
        calls = [Call(lane, one), Call(lane, two)]
        await asyncio.sleep(0)  # the step's task is made, and has not run
        secured: asyncio.Future[Overloaded | None] = asyncio.get_running_loop().create_future()
        lane.secure(one, secured.set_result)
        assert None not in reps(await told(*calls))
        assert await secured is None
    assert await w.value(TURNS) == 2


async def test_a_step_that_waits_for_a_pool_keeps_nobody_from_another(world: Worlds) -> None:
    rules = """
[[rules]]
id = "other"
when = 'lead.city == "x"'
pool = "other"
[[rules]]
id = "rest"
when = "true"
pool = "main"
"""
    w = await world(config(rules=rules, more="[pools.other]\nmembers = { dan = 1 }\n", reps=("dan",)))
    first, other = arrivals({"email": "a@gmail.com"}, {"email": "b@gmail.com", "city": "x"})
    async with lane_of(w) as lane:
        async with pool_held(w, "main"):
            hangs = Call(lane, first)
            await waiting_sessions(w)
            assert reps(await told(Call(lane, other))) == ["dan"]
            assert not hangs.said
        assert reps(await told(hangs)) == ["ann"]


async def test_callers_are_bounded(world: Worlds) -> None:
    """By number and by bytes, in the words of the door; once they are told, others are let in."""
    w = await world(config())
    one, two, three, large = arrivals(*people(3), {"email": "x@gmail.com", "name": "x" * 5000})
    async with lane_of(w, Bounds(queue_requests=2, queue_bytes=4000)) as lane:
        async with pool_held(w):
            calls = [Call(lane, one)]
            with pytest.raises(Overloaded, match="More arrives"):
                Call(lane, large)
            calls.append(Call(lane, two, 0.1))
            with pytest.raises(Overloaded, match="More arrives") as caught:
                Call(lane, three)
            assert caught.value.retry_after == 2
            await told(calls[1])
        await told(*calls)
        assert None not in reps(await told(Call(lane, large)))
        assert None not in reps(await told(Call(lane, three), Call(lane, two)))
    assert await w.value(TURNS) == await w.value(EVENTS) == 4


async def test_leaving_a_lane_whose_steps_hang_stores_what_came(world: Worlds) -> None:
    w = await world(config())
    async with pool_held(w):
        async with lane_of(w) as lane:
            calls = [Call(lane, one) for one in arrivals(*people(3))]
            await waiting_sessions(w)
            calls += [Call(lane, one) for one in arrivals(*people(2, 10))]
        assert await told(*calls) == [None] * 5
        assert await w.value("select count(*) from event where state = 'pending'") == 5


async def test_leaving_a_lane_lets_a_step_that_is_given_up_roll_back(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second cancellation would tear its rollback, and take the session with it."""
    monkeypatch.setattr(sync, "GRACE", 0.0)
    w = await world(config())
    [one] = arrivals(*people(1))
    cancelled = 0

    async def hangs(*_: object) -> None:
        nonlocal cancelled
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled += 1
            begun.set()
            try:
                await asyncio.wait_for(rolled_back.wait(), 5)
            except asyncio.CancelledError:
                cancelled += 1
            raise

    begun, rolled_back = asyncio.Event(), asyncio.Event()
    monkeypatch.setattr(w.station, "route_new", hangs)
    async with lane_of(w) as lane:
        call = Call(lane, one, 0.01)
        await begun.wait()  # given up, and not over
        asyncio.get_running_loop().call_later(0.05, rolled_back.set)
    assert await told(call) == [None]
    assert cancelled == 1
    assert await w.value("select state from event") == "pending"


async def test_settings_that_change_again_and_again_promise_nothing(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every try finds newer settings: neither stored nor told as if it were."""
    w = await world(config())

    async def stale(*_: object) -> None:
        raise StaleConfig

    with monkeypatch.context() as patch:
        patch.setattr(stations, "route_events", stale)
        with pytest.raises(Contended, match="settings"):
            await w.station.route_new(arrivals(*people(1)), {})
        events = await w.post(*people(1), lane="sync")
        with pytest.raises(Contended, match="settings"):
            await w.station.route(events)
    assert await w.value("select state from event") == "pending"


async def test_the_port_says_which_events_are_there_already(world: Worlds) -> None:
    w = await world(config())
    known, new, bad = arrivals(*people(3))
    await post(w, [known])
    async with PostgresRouter(w.database).step() as step:
        taken = await step.admit([known, new])
        assert [event.id for event in taken.events] == [new.items[0].id]
        assert taken.events[0].serial > await w.value("select serial from event")
        await step.store({})
    assert await w.value("select state from event where id = $1", new.items[0].id) == "pending"

    async def refused() -> None:
        async with PostgresRouter(w.database).step() as step:
            await step.admit([broken(bad)])
            await step.store({})

    with pytest.raises(Unstorable):
        await refused()
    assert await PostgresJournal(w.database).results([new.items[0].id]) == {}


async def test_the_facts_of_a_turn_are_those_after_its_lock(world: Worlds) -> None:
    """One statement that locks and reads would see the time before it waited, and give the same rep twice."""
    w = await world(config())
    await w.route(*people(1))
    facts = "select pools -> 0 ->> 1 from turn_facts('{main}', '{}', true)"
    async with pool_held(w) as other:
        seq = int(await w.value("select seq from pool"))
        ours = asyncio.create_task(w.value(facts))
        await waiting_sessions(w)
        await other.execute("update pool set seq = seq + 5")
    assert int(await ours) == seq + 5


async def test_a_hundred_callers_of_whom_a_few_hang_up_or_come_twice(world: Worlds) -> None:
    """Deadlines of every length while the pool comes and goes: each event is there, and each lead has one turn."""
    w = await world(config())
    came = arrivals(*people(60))
    async with lane_of(w) as lane, lane_of(w, station=await w.add_station()) as second:
        calls = []
        for turn in range(3):
            async with pool_held(w):
                calls += [
                    Call(lane if place % 3 else second, one, (place % 7) * 0.02)
                    for place, one in enumerate(came[turn * 15 : turn * 15 + 30])
                ]
                await asyncio.sleep(0.05)
        answers = await told(*calls)
        assert not any(isinstance(one, Overloaded) for one in answers)
        assert None not in reps(await told(*(Call(lane, one) for one in came)))
    assert await w.value(TURNS) == await w.value(EVENTS) == 60
    assert await w.value("select count(*) from event where state <> 'routed'") == 0
