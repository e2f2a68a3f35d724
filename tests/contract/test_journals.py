"""What ports.Journal promises, of both journals: PostgreSQL alone, and a Valkey before it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import asyncpg
import pytest

from fairturn.errors import StoreUnavailable, Unstorable
from fairturn.model import Arrival, Item
from fairturn.ports import Backlog
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.journal import PostgresJournal
from fairturn.stores.valkey.link import Link
from tests.contract.journals import STREAM, Kept, arrival, before
from tests.valkey import Valkey


@pytest.fixture(scope="module")
def valkey():
    with Valkey.started() as running:
        yield running


@pytest.fixture(params=["postgresql", "valkey"])
async def kept(request: pytest.FixtureRequest, database: str) -> AsyncIterator[Kept]:
    async with Database(database, size=8) as opened, contextlib.AsyncExitStack() as stack:
        into = PostgresJournal(opened)
        if request.param == "postgresql":
            yield Kept(into)
            return
        running: Valkey = request.getfixturevalue("valkey")
        running.command("FLUSHALL")
        links = [Link(running.url) for _ in range(3)]
        for link in links:
            stack.push_async_callback(link.close)
        yield before(into, links)
        assert running.command("XLEN", STREAM.key) == b":0", "what is in PostgreSQL is in the stream no more"


@pytest.fixture
async def sql(database: str):
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


async def test_serials_and_times_follow_the_order_of_arrival(kept, sql):
    group = [arrival(b'[{"n":0},{"n":1},{"n":2}]'), arrival(b'{"n":3}'), arrival(b'[{"n":4},{"n":5}]')]
    await kept.append(*group)
    await kept.append(arrival(b'{"n":6}'))
    await kept.stored()
    rows = await sql.fetch("select id, received_at, delivery_id from event order by serial")
    assert [row["id"] for row in rows[:6]] == [item.id for one in group for item in one.items]
    times = [row["received_at"] for row in rows]
    assert times == sorted(times)
    assert await sql.fetchval("select count(*) from event where received_at > clock_timestamp()") == 0
    assert await sql.fetchval("select count(*) from event where received_at < now() - interval '1 minute'") == 0


async def test_all_of_a_request_is_kept_as_it_came(kept, sql):
    odd = b'\xef\xbb\xbf[{"a":"\\u0000x"}, 7, {"b":"\\ud800"}]'
    await kept.append(arrival(odd), arrival(b'{"z":1}', "other"))
    await kept.stored()
    first = await sql.fetchrow("select source_id, content_type, body from delivery where source_id = 'form'")
    assert tuple(first) == ("form", "application/json", odd)
    rows = await sql.fetch("select item, source_id, body, marks, state, problem, lane from event order by serial")
    wanted = [
        (item.index, one.source, item.body, list(item.marks), "quarantined" if item.problem else "pending")
        for one in (arrival(odd), arrival(b'{"z":1}', "other"))
        for item in one.items
    ]
    assert [tuple(row)[:5] for row in rows] == wanted
    assert {row["lane"] for row in rows} == {"batch"}


async def test_the_same_delivery_is_the_same_row(kept, sql):
    """Case 49: an array sent again with one new element adds only that."""
    one = arrival(b'[{"n":1},{"n":2}]')
    await kept.append(one, one)
    await kept.stored()
    await kept.append(one)
    await kept.append(arrival(b'[{"n":0},{"n":1},{"n":2}]'))
    await kept.stored()
    assert await sql.fetchval("select count(*) from delivery") == 2
    assert await sql.fetchval("select count(*) from event") == 3


async def test_concurrent_appends_of_the_same_events_in_opposite_orders(kept, sql):
    """Case 56: one row each, no deadlock, nobody fails; also where several store at once what others appended."""
    some = [arrival(b'{"n":%d}' % number) for number in range(40)]
    for _ in range(3):
        await asyncio.gather(*(kept.append(*(some if turn % 2 else some[::-1])) for turn in range(6)))
        await asyncio.gather(kept.stored(), kept.stored())
    assert await sql.fetchval("select count(*) from event") == 40


async def test_quarantined_items_never_reach_route(kept, sql):
    await kept.append(arrival(b'[{"n":1}, 7, {"n":3}]'))
    await kept.stored()
    assert await sql.fetchval("select count(*) from event where state = 'pending'") == 2
    problem = await sql.fetchval("select problem from event where state = 'quarantined'")
    assert problem == "It is a number, not an object"


async def test_backlog_counts_events_up_to_the_limit_wherever_they_are(kept, sql):
    assert await kept.journal.backlog(10) == Backlog(0, None)
    since = await sql.fetchval("select clock_timestamp() - interval '1 second'")
    await kept.append(*(arrival(b'[{"n":%d},{"n":"%d"}]' % (number, number)) for number in range(3)))
    await kept.append(arrival(b'{"n":"last"}'))
    for _ in range(2):
        found = await kept.journal.backlog(100)
        assert found.unrouted == 7
        assert found.oldest_at is not None
        assert since < found.oldest_at <= await sql.fetchval("select clock_timestamp()")
        assert (await kept.journal.backlog(5)).unrouted == 5
        await kept.stored()
    assert (await kept.journal.backlog(100)).oldest_at == await sql.fetchval("select min(received_at) from event")


async def test_results_are_those_of_routed_events(kept, sql):
    one, two = arrival(b'{"n":1}'), arrival(b'{"n":2}')
    await kept.append(one, two)
    ids = [one.items[0].id, two.items[0].id]
    assert await kept.journal.results(ids) == {}
    await kept.stored()
    await sql.execute(
        "with l as (insert into lead (source_id, status, fields, rule_id) values ('form', 'ignored', '{}', 'junk') "
        "returning id) update event set state = 'routed', lead_id = l.id from l where event.id = $1",
        ids[0],
    )
    assert {event: found.why for event, found in (await kept.journal.results(ids)).items()} == {ids[0]: "junk"}
    assert await kept.journal.results(ids, "other") == {}


async def test_a_text_that_no_utf8_can_write_is_refused_and_not_quoted(kept):
    item = Item(b"i" * 16, 0, b'{"email":"jane@x.test"}')
    with pytest.raises(Unstorable) as caught:
        await kept.append(Arrival(b"d" * 16, "f\udc00rm", "application/json", b"jane@x.test", (item,)))
    assert "jane" not in str(caught.value)


async def test_nothing_to_append_is_appended(kept, sql):
    await kept.append()
    await kept.append(Arrival(b"d" * 16, "form", "application/json", b"[]", ()))
    assert await kept.stored() == 0
    assert await sql.fetchval("select count(*) from delivery") == 0


@pytest.mark.parametrize("first", ["postgresql", "valkey"])
async def test_a_store_that_is_away_is_unavailable(first, tmp_path):
    nowhere = Database(f"postgresql://x@/x?host={tmp_path}")
    kept = Kept(PostgresJournal(nowhere))
    if first == "valkey":
        kept = before(PostgresJournal(nowhere), [Link(f"unix://{tmp_path}/none") for _ in range(3)])
    with pytest.raises(StoreUnavailable):
        await kept.append(arrival(b'{"n":1}'))
    with pytest.raises(StoreUnavailable):
        await kept.journal.backlog(1)
