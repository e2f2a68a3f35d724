"""The journal on PostgreSQL: what it does beyond ports.Journal, which test_journals.py asks of both."""

import hashlib
from dataclasses import replace
from datetime import timedelta

import asyncpg
import pytest

from fairturn.errors import StoreError, StoreUnavailable
from fairturn.model import Arrival, Item
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.journal import PostgresJournal
from tests.contract.journals import arrival


@pytest.fixture
async def store(database: str):
    async with Database(database, size=4) as opened:
        yield opened


@pytest.fixture
def journal(store: Database) -> PostgresJournal:
    return PostgresJournal(store)


@pytest.fixture
async def sql(database: str):
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


async def test_what_was_kept_elsewhere_came_when_it_came(journal, sql):
    """Of a request that comes again the first time stands; a clock ahead of PostgreSQL's is not believed."""
    past = await sql.fetchval("select now() - interval '10 minutes'")
    one, ahead, here = arrival(b'[{"n":1},{"n":2}]'), arrival(b'{"n":3}'), arrival(b'{"n":4}')
    await journal.append([replace(one, at=past), replace(ahead, at=past + timedelta(days=1)), here])
    await journal.append([one])
    rows = await sql.fetch("select received_at, received_at > now() as ahead from event order by serial")
    assert [row["received_at"] - past for row in rows[:2]] == [timedelta(0), timedelta(microseconds=1)]
    assert rows[1]["received_at"] < rows[2]["received_at"] <= rows[3]["received_at"]
    assert not any(row["ahead"] for row in rows)


async def test_one_hint_per_commit_and_none_for_what_was_there(journal, sql):
    heard: list[str] = []
    await sql.add_listener("fairturn_event", lambda *args: heard.append(args[3]))
    await journal.append([arrival(b'[{"n":1},{"n":2}]'), arrival(b'{"n":3}')])
    await sql.execute("select 1")
    assert heard == [""]
    await journal.append([arrival(b'{"n":3}')])
    await sql.execute("select 1")
    assert heard == [""]


async def test_quarantined_items_never_reach_route(journal, sql):
    await journal.append([arrival(b'[{"n":1}, 7, {"n":3}]')])
    assert await sql.fetchval("select count(*) from event where state = 'pending'") == 2
    (bad,) = await journal.quarantined(10)
    assert (bad.item, bad.source, bad.problem) == (1, "form", "It is a number, not an object")
    assert await journal.quarantined(10, bad.serial) == []


async def make_lead(sql: asyncpg.Connection, event: bytes, merged_into: int | None = None) -> int:
    lead = await sql.fetchval(
        "insert into lead (source_id, status, fields, rep_id, pool_id, rule_id, merged_into) "
        "values ('form', 'assigned', '{}', 'ann', 'emea', 'all', $1) returning id",
        merged_into,
    )
    await sql.execute("update event set state = 'routed', lead_id = $1 where id = $2", lead, event)
    return lead


async def test_results_follow_a_merged_lead_and_leave_out_what_is_not_routed(journal, sql):
    one, two, three = (arrival(b'{"n":%d}' % number) for number in range(3))
    await journal.append([one, two, three])
    older = await make_lead(sql, one.items[0].id)
    await make_lead(sql, two.items[0].id, older)
    await sql.execute("insert into pool (id) values ('emea')")
    await sql.execute(
        "insert into assignment (pool_id, seq, kind, rep_id, lead_id, reason, actor) "
        "values ('emea', 1, 'credit', 'ann', $1, 'a turn given back', 'test')",
        older,
    )
    found = await journal.results([one.items[0].id, two.items[0].id, three.items[0].id])
    assert {event: (result.lead, result.rep, result.why) for event, result in found.items()} == {
        one.items[0].id: (older, "ann", "a turn given back"),
        two.items[0].id: (older, "ann", "a turn given back"),
    }


async def test_raw_bodies_go_after_their_time_and_rows_stay(journal, sql):
    await journal.append([arrival(b'{"n":%d}' % number) for number in range(5)] + [arrival(b'[{"n":5},{"n":6}]')])
    for row in await sql.fetch("select id from event"):
        await make_lead(sql, row["id"])
    await sql.execute("update delivery set received_at = now() - interval '2 days'")
    await sql.execute("update event set received_at = now() - interval '2 days'")
    await journal.append([arrival(b'{"n":7}')])
    assert await journal.purge_raw(3 * 86400, 100) == 0
    assert await journal.purge_raw(86400, 4) == 6  # 4 of 6 deliveries, both parsed copies
    assert await journal.purge_raw(86400, 4) == 2
    assert await journal.purge_raw(86400, 4) == 0
    assert await sql.fetchval("select count(*) from event") == 8
    assert await sql.fetchval("select count(*) from delivery where body is not null") == 1


async def test_raw_bodies_of_events_still_to_be_routed_stay(journal, sql):
    await journal.append([arrival(b'[{"n":1},{"n":2}]'), arrival(b'{"n":3}')])
    await sql.execute("update delivery set received_at = now() - interval '2 days'")
    await sql.execute("update event set received_at = now() - interval '2 days'")
    assert await journal.purge_raw(86400, 100) == 0


async def test_a_new_event_in_a_delivery_whose_bytes_are_gone(journal, sql):
    """The source's dedupe expression has changed meanwhile: the same bytes, an event with another id."""
    one = arrival(b'{"n":1}')
    await journal.append([one])
    await make_lead(sql, one.items[0].id)
    await sql.execute("update delivery set body = null")
    item = Item(hashlib.blake2b(b"other", digest_size=16).digest(), 0, None)
    await journal.append([Arrival(one.delivery, one.source, one.content_type, one.body, (item,))])
    assert await sql.fetchval("select body from delivery") == one.body


async def test_errors_say_what_but_quote_no_payload(journal):
    """A row that the schema refuses, and a text that no UTF-8 can write: neither is an outage."""
    item = Item(b"too short", 0, b'{"email":"jane@x.test"}')
    for source, bad in (("form", item), ("f\udc00rm", Item(b"i" * 16, 0, None))):
        with pytest.raises(StoreError) as caught:
            await journal.append([Arrival(b"d" * 16, source, "application/json", b"jane@x.test", (bad,))])
        assert not isinstance(caught.value, StoreUnavailable)
        assert "jane" not in str(caught.value)
        assert "6a616e65" not in str(caught.value)
