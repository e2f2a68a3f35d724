"""Two route transactions held at the exact step: who waits for whom, and what both see afterwards."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fairturn.errors import Contended, StaleConfig, StaleLead
from fairturn.flow.route import route_events
from fairturn.stores.postgres.router import PostgresRouter
from tests.flow.world import World, Worlds, config


class Held:
    """A route step that stops before one of its methods until it is let go."""

    def __init__(self, step: Any, before: str) -> None:
        self._step, self._before = step, before
        self.reached, self.go = asyncio.Event(), asyncio.Event()

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._step, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            if name == self._before:
                self.reached.set()
                await self.go.wait()
            return await method(*args, **kwargs)

        return call


class Run:
    """One transaction over given events, on its way."""

    def __init__(self, w: World, events: list[bytes], before: str) -> None:
        self.w, self.events, self.before = w, events, before
        self.held: Held | None = None
        self.opened = asyncio.Event()
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        plan = await self.w.load()
        async with PostgresRouter(self.w.database).step() as step:
            taken = await step.take(100, only=self.events)
            self.held = Held(step, self.before)
            self.opened.set()
            await route_events(self.held, plan, taken)  # type: ignore[arg-type]  # a wrapper of every method

    async def until_held(self) -> None:
        await self.opened.wait()
        assert self.held is not None
        await self.held.reached.wait()

    async def finish(self) -> None:
        await self.opened.wait()
        assert self.held is not None
        self.held.go.set()
        await self.task


async def somebody_waits(w: World) -> None:
    """Returns when a session waits for another's lock: the server says so, no guess of time."""
    waits = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    while not await w.value(waits):
        pass


async def test_two_stations_with_events_of_one_new_lead(world: Worlds) -> None:
    w = await world(config())
    one, two = await w.post({"email": "a@one.com", "country": "DE"}, {"email": "a@one.com", "score": 3})
    first = Run(w, [one], "leads")  # its keys are bound
    await first.until_held()
    second = Run(w, [two], "nothing")
    await somebody_waits(w)
    assert not second.task.done()
    await first.finish()
    await second.finish()
    assert await w.value("select count(*) from lead") == 1
    assert await w.owners() == ["ann"]
    fields = await w.value("select fields from lead")
    assert (fields["country"][0], fields["score"][0]) == ("DE", 3.0)


async def test_a_rep_paused_before_the_turn_gets_nothing(world: Worlds) -> None:
    """Lock, then read: what was committed before the turn began counts in it (case 11)."""
    w = await world(config())
    events = await w.post({"email": "a@one.com"}, {"email": "b@two.com"})
    run = Run(w, events, "turn")
    await run.until_held()
    await w.pause("ann")
    await run.finish()
    assert "ann" not in await w.owners()


async def test_two_turns_of_one_pool_do_not_see_the_same_state(world: Worlds) -> None:
    w = await world(config())
    [one], [two] = await w.post({"email": "a@one.com"}), await w.post({"email": "b@two.com"})
    first, second = Run(w, [one], "write"), Run(w, [two], "nothing")
    await first.until_held()  # it has the pool's lock
    await somebody_waits(w)
    await first.finish()
    await second.finish()
    assert await w.owners() == ["ann", "bob"]


async def test_a_config_put_in_force_before_the_turn_is_noticed(world: Worlds) -> None:
    w = await world(config())
    run = Run(w, await w.post({"email": "a@one.com"}), "turn")
    await run.until_held()
    await w.apply(config("ann = 1, bob = 5, cid = 1"))
    with pytest.raises(StaleConfig):
        await run.finish()
    assert await w.value("select count(*) from assignment where kind = 'turn'") == 0


async def test_keys_of_two_leads_meet_while_one_of_them_is_updated(world: Worlds) -> None:
    """The older stays, whoever comes first; no event is lost and nothing is assigned twice."""
    w = await world(config())
    await w.route({"email": "a@gmail.com"}, {"visitor": "v1"})
    [meet] = await w.post({"email": "a@gmail.com", "visitor": "v1", "n": 1})
    [update] = await w.post({"visitor": "v1", "country": "FR"})
    merging = Run(w, [meet], "write")
    await merging.until_held()
    updating = Run(w, [update], "nothing")
    await somebody_waits(w)
    await merging.finish()
    await updating.finish()
    [kept] = await w.fetch("select * from lead where merged_into is null")
    assert kept["fields"]["country"][0] == "FR"
    assert await w.value("select count(*) from event where lead_id = $1", kept["id"]) == 4


async def test_an_update_holds_the_lead_that_a_merge_wants(world: Worlds) -> None:
    w = await world(config())
    await w.route({"email": "a@gmail.com"}, {"visitor": "v1", "email": "b@gmail.com"})
    [update] = await w.post({"email": "b@gmail.com", "country": "FR"})
    [meet] = await w.post({"email": "a@gmail.com", "visitor": "v1", "n": 1})
    updating = Run(w, [update], "write")
    await updating.until_held()
    merging = Run(w, [meet], "nothing")
    await somebody_waits(w)
    await updating.finish()
    try:
        await merging.finish()
    except (Contended, StaleLead):  # a station runs it again
        await w.station.route([meet])
    [kept] = await w.fetch("select * from lead where merged_into is null")
    assert kept["fields"]["country"][0] == "FR"


async def test_lock_order_keeps_stations_from_deadlocks(world: Worlds) -> None:
    """Batches that name the same people and pools in any order, by four stations: PostgreSQL counts no deadlock."""
    w = await world(config(), batch=11)
    for _ in range(3):
        await w.add_station(batch=11)
    people = [f"p{number}@gmail.com" for number in range(40)]
    for turn in range(4):
        order = people[turn::2] + people[: turn * 3] if turn % 2 else people[::-1]
        await w.post(*({"email": email, "score": turn} for email in order))

    async def drain(number: int) -> None:
        while await w.stations[number].route():
            pass

    await asyncio.gather(*(drain(number) for number in range(4)))
    assert await w.value("select deadlocks from pg_stat_database where datname = current_database()") == 0
    assert Counter(await w.owners()).most_common()[0][1] <= 14
    assert await w.value("select count(*) from event where state <> 'routed'") == 0
