"""Callers who wait for their owner: routed together, told what was decided, let go at their deadline."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest
import uvicorn

from fairturn.errors import StoreError
from fairturn.flow.accept import Accept, Bounds
from fairturn.flow.sync import SyncLane
from fairturn.intake.app import build
from fairturn.intake.express import Express
from fairturn.model import Assigned
from fairturn.operate import settings as settings_file
from fairturn.stores.postgres.journal import PostgresJournal
from tests.doors.test_express import Ways, request
from tests.flow.lane import Call, arrivals, lane_of, pool_held
from tests.flow.whole import people
from tests.flow.world import World, Worlds, config


async def test_a_caller_whose_lead_waits_for_a_field_is_told_its_owner_once_it_comes(world: Worlds) -> None:
    w = await world(
        config(sources=(("web", 'wait_for = ["company"]\nat_most = "1h"'), ("enrich", "starts = false\nrank = 1")))
    )
    async with lane_of(w) as lane:
        [event] = await w.post({"email": "a@gmail.com"}, lane="sync")
        waiting = asyncio.create_task(lane.owners([event], 15.0))
        async with asyncio.timeout(10):
            while await w.value("select count(*) from lead where status = 'waiting'") == 0:  # noqa: ASYNC110 (a database)
                await asyncio.sleep(0.01)
        await w.route({"email": "a@gmail.com", "company": "Acme"}, source="enrich")
        found = await waiting
    assert (found[event].status, found[event].rep) == ("assigned", "ann")


async def test_a_caller_is_let_go_with_what_is_known_at_the_deadline(world: Worlds) -> None:
    w = await world(config(sources=(("web", 'wait_for = ["company"]\nat_most = "1h"'), ("enrich", "starts = false"))))
    async with lane_of(w) as lane:
        events = await w.post({"email": "a@gmail.com"}, lane="sync")
        events += await w.post({"email": "b@gmail.com"}, source="enrich", lane="sync")  # a signal: no lead yet
        found = await lane.owners(events, 0.3)
    assert {event: one.status for event, one in found.items()} == {events[0]: "waiting"}


async def test_a_hundred_callers_at_once(world: Worlds) -> None:
    """Ten each, a few transactions for all; one of them hangs up and nobody notices."""
    reps = [f"r{number}" for number in range(10)]
    w = await world(config(", ".join(f"{rep} = 1" for rep in reps)))
    async with lane_of(w) as lane:
        events = await w.post(*people(100), lane="sync")
        calls = [asyncio.create_task(lane.owners([event], 20.0)) for event in events]
        await asyncio.sleep(0)
        calls[7].cancel()
        found = await asyncio.gather(*calls, return_exceptions=True)
    owners = await w.owners()
    assert all(len(set(owners[start : start + 10])) == 10 for start in range(0, 100, 10))
    told = [answer[event].rep for event, answer in zip(events, found, strict=True) if isinstance(answer, dict)]
    assert len(told) == 99
    assert set(Counter(owners).values()) == {10}
    assert await w.value("select count(distinct xmin::text) from lead") < 20


async def test_callers_while_another_holds_the_pool(world: Worlds) -> None:
    """They are let go at their deadline, their leads are assigned once the pool is free, and each of them once."""
    w = await world(config())
    other = await asyncpg.connect(w.dsn)
    async with lane_of(w) as lane:
        async with other.transaction():
            await other.execute("select from pool for update")
            events = await w.post(*people(6), lane="sync")
            found = await asyncio.gather(*(lane.owners([event], 0.3) for event in events))
            assert list(found) == [{}] * 6
        again = await asyncio.gather(*(lane.owners([event], 10.0) for event in events))
    await other.close()
    told = Counter(answer[event].rep for event, answer in zip(events, again, strict=True))
    assert told == {"ann": 2, "bob": 2, "cid": 2}
    assert await w.value("select count(*) from assignment where kind = 'turn'") == 6


async def test_what_callers_are_told_is_what_the_store_says_of_them(world: Worlds) -> None:
    """Owners of a turn, of a rule and of the lead before; parked, ignored and held ones; a person of two events."""
    w = await world(config(rules=OF_EACH_KIND, pool="", more="[pools.empty]\nmembers = { dan = 1 }\n", reps=("dan",)))
    await w.pause("dan")
    known = {"email": "known@gmail.com"}
    await w.route(known, {"email": "two@gmail.com"}, {"visitor": "v2"})
    payloads = [{"email": f"{name}@gmail.com", "city": name} for name in ("turn", "park", "junk", "held", "mine")]
    payloads += [known | {"city": "turn"}, {"email": "two@gmail.com", "visitor": "v2"}, {"visitor": "v2", "city": "x"}]
    events = await w.post(*payloads, lane="sync")
    answers: dict[bytes, Assigned] = {}
    assert await w.station.route(events, answers) == len(events)
    assert answers == await PostgresJournal(w.database).results(events)
    assert Counter(one.status for one in answers.values()) == {"assigned": 5, "parked": 1, "ignored": 1, "held": 1}
    async with lane_of(w) as lane:  # once more, when no station takes them any more
        assert await lane.owners(events, 5.0) == answers


async def test_a_caller_is_told_nothing_that_was_not_committed(world: Worlds) -> None:
    w = await world(config())
    events = await w.post(*people(2), lane="sync")
    answers: dict[bytes, Assigned] = {}
    connection = await asyncpg.connect(w.dsn)
    await connection.execute(REFUSES_AT_COMMIT)
    with pytest.raises(StoreError):
        await w.station.route(events, answers)
    assert answers == {}
    await connection.close()


@asynccontextmanager
async def door_of(w: World, lane: SyncLane) -> AsyncIterator[Ways]:
    settings = settings_file.parse(w.text, Path("test.toml"), {}, secrets=False).settings
    async with Accept(PostgresJournal(w.database)) as accept:
        door = build(settings, {}, accept, lane.owners, lane=lane)
        served = uvicorn.Config(door, access_log=False, log_level="critical", lifespan="off", proxy_headers=False)
        served.load()
        yield Ways(served)


def chat(body: bytes) -> bytes:
    return request(body, source=b"web")


async def test_callers_on_the_short_way_are_told_the_same(world: Worlds) -> None:
    """One person, several, one who waits for a field: as the ordinary way answers, which has a task for each."""
    w = await world(config(sources=(("web", 'lane = "sync"\ndeadline = "5s"'), ("enrich", ""))))
    async with lane_of(w) as lane, door_of(w, lane) as ways:
        told, _ = await ways.said(Express, [chat(b'{"email":"a@gmail.com"}')])
        assert told.startswith(b"HTTP/1.1 200 ")
        assert b'"rep":{"id":"ann"' in told
        assert await ways.same(chat(b'{"email":"a@gmail.com"}')) == told
        for body in (
            b'[{"email":"b@gmail.com"},{"email":"c@gmail.com"}]',
            b'[{"email":"d@gmail.com"},5]',
            b"[]",
            b"[5]",
        ):
            await ways.said(Express, [chat(body)])
            await ways.same(chat(body))
    assert await w.value("select count(*) from assignment where kind = 'turn'") == 4


async def test_on_the_short_way_the_deadline_counts_too(world: Worlds) -> None:
    """While another holds the pool, and for a lead that waits: an address instead, and no turn lost or taken twice."""
    waits = 'lane = "sync"\ndeadline = "200ms"\nwait_for = ["company"]\nat_most = "1h"'
    w = await world(config(sources=(("web", waits), ("enrich", ""))))
    body = chat(b'{"email":"a@gmail.com","company":"One"}')
    other = await asyncpg.connect(w.dsn)
    async with lane_of(w) as lane, door_of(w, lane) as ways:
        async with other.transaction():
            await other.execute("select from pool for update")
            late, _ = await ways.said(Express, [body])
            assert late.startswith(b"HTTP/1.1 202 ")
            assert b"lead_url" in late
            protocol, wire = ways.open(Express)
            protocol.data_received(chat(b'{"email":"gone@gmail.com","company":"One"}'))
            protocol.connection_lost(None)  # hangs up while it waits
        await other.close()
        assert b'"status":"assigned"' in await ways.same(body)
        assert (await ways.said(Express, [chat(b'{"email":"b@gmail.com"}')]))[0].startswith(b"HTTP/1.1 202 ")
        assert wire.sent == b""
    assert await w.value("select count(*) from assignment where kind = 'turn'") == 2


async def test_on_the_short_way_too_many_callers_are_refused(world: Worlds) -> None:
    """As the door refuses the others, and nothing of them comes later: no answer, no event."""
    w = await world(config(sources=(("web", 'lane = "sync"\ndeadline = "100ms"'), ("enrich", ""))))
    async with lane_of(w, Bounds(queue_requests=1)) as lane, door_of(w, lane) as ways:
        async with pool_held(w):
            patient = Call(lane, arrivals({"email": "a@gmail.com"})[0])
            protocol, wire = ways.open(Express)
            protocol.data_received(chat(b'{"email":"b@gmail.com"}'))
            assert wire.sent.startswith(b"HTTP/1.1 503 ")
            assert b"retry-after: 2" in wire.sent
            assert b"More arrives than the database stores." in wire.sent
            refused = wire.sent
            await asyncio.sleep(0.15)  # beyond its deadline
            assert wire.sent == refused
        await patient.over.wait()
    assert await w.value("select count(*) from event") == 1


async def test_a_caller_whose_event_is_set_aside_is_told_at_once(world: Worlds) -> None:
    """Its mapping finds nothing: no owner will ever come. Alone, beside one that is sound, and when asked for later."""
    w = await world(config(sources=(("web", 'lane = "sync"\ndeadline = "20s"'), ("enrich", ""))))
    async with lane_of(w) as lane, door_of(w, lane) as ways, asyncio.timeout(10):
        alone, _ = await ways.said(Express, [chat(b'{"color":"red"}')])
        assert alone.startswith(b"HTTP/1.1 202 ")
        assert b'"accepted":0' in alone
        assert b'"quarantined":[{"item":0,"problem":"' in alone
        assert await ways.same(chat(b'{"color":"red"}')) == alone
        both = await ways.same(chat(b'[{"color":"blue"},{"email":"a@gmail.com"}]'))
        assert both.startswith(b"HTTP/1.1 200 ")
        assert b'"rep":{"id":"ann"' in both
        assert b'"quarantined":[{"item":0,' in both
        event = (await w.value("select id from event where state = 'quarantined' limit 1")).hex().encode()
        asked, _ = await ways.said(Express, [b"GET /in/web/%b HTTP/1.1\r\nhost: x\r\n\r\n" % event])
        assert asked.startswith(b"HTTP/1.1 200 ")
        assert b'"status":"quarantined","problem":"' in asked


OF_EACH_KIND = """
[[rules]]
id = "junk"
when = 'lead.city == "junk"'
ignore = true
[[rules]]
id = "later"
when = 'lead.city == "park"'
park = "Queue"
[[rules]]
id = "away"
when = 'lead.city == "held"'
pool = "empty"
[[rules]]
id = "mine"
when = 'lead.city == "mine"'
owner = "cid"
[[rules]]
id = "rest"
when = "true"
pool = "main"
"""
REFUSES_AT_COMMIT = """
create function no() returns trigger language plpgsql as $$ begin raise 'not now'; end $$;
create constraint trigger no after insert on lead deferrable initially deferred for each row execute function no();
"""
