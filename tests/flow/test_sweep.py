"""What time removes, and what it must leave."""

from fairturn.config import Retention
from fairturn.flow.sweep import Sweep
from fairturn.stores.postgres.broom import PostgresBroom
from tests.flow.world import World, Worlds, config


async def age(w: World, days: int) -> None:
    for table in ("delivery", "event"):
        await w.value(f"update {table} set received_at = received_at - make_interval(days => $1)", days)


def sweep(w: World) -> Sweep:
    return Sweep(PostgresBroom(w.database), Retention())


async def test_raw_bodies_go_after_their_retention_and_redeliveries_are_still_known(world: Worlds) -> None:
    w = await world(config())
    await w.route({"email": "a@one.com"})
    await age(w, 29)
    await sweep(w).round()
    assert await w.value("select body from delivery") is not None
    await age(w, 2)
    await sweep(w).round()
    assert await w.value("select body from delivery") is None
    await w.route({"email": "a@one.com"})
    assert await w.value("select count(*) from event") == 1
    assert await w.owners() == ["ann"]


async def test_an_event_that_is_not_routed_yet_keeps_its_bytes(world: Worlds) -> None:
    w = await world(config())
    await w.post({"email": "a@one.com"})
    await age(w, 500)
    await sweep(w).round()
    assert await w.station.route() == 1
    assert await w.owners() == ["ann"]


async def test_a_signal_whose_lead_never_comes_expires_visibly(world: Worlds) -> None:
    w = await world(config())
    await w.route({"email": "a@one.com", "score": 7}, source="enrich")
    await w.value("update event set expires_at = now() - interval '1 second'")
    await sweep(w).round()
    [event] = await w.fetch("select state, problem from event")
    assert (event["state"], event["problem"]) == ("expired", "no lead with one of its keys came while it waited")
    await w.route({"email": "a@one.com"})
    assert (await w.value("select fields from lead")).get("score") is None


async def test_rows_of_events_go_after_theirs(world: Worlds) -> None:
    w = await world(config())
    await w.route({"email": "a@one.com"})
    await age(w, 401)
    await sweep(w).round()
    assert await w.value("select count(*) from event") == 0
    assert await w.value("select count(*) from lead") == 1
