"""The Valkey before PostgreSQL: killed, full, unsafe, behind a password; and entries that PostgreSQL cannot hold."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from fairturn.errors import ConfigError, Overloaded, StoreError, StoreUnavailable, UnsafeStore
from fairturn.flow.drain import Drain
from fairturn.model import Arrival, Item
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.journal import PostgresJournal
from fairturn.stores.postgres.sole import Sole
from fairturn.stores.valkey.entries import Stream, ValkeyInbox
from fairturn.stores.valkey.journal import ValkeyJournal
from fairturn.stores.valkey.link import Link
from tests.contract.journals import STREAM, Always, Kept, arrival, before
from tests.journeys.house import until
from tests.valkey import SETTINGS, Valkey

SECRET = "sw0rdfish"


@pytest.fixture(scope="module")
def server() -> Iterator[Valkey]:
    with Valkey.started() as running:
        yield running


@pytest.fixture
def valkey(server: Valkey) -> Iterator[Valkey]:
    """Empty, and with its settings whatever the test before did to them."""
    server.command("FLUSHALL")
    yield server
    for name, value in (SETTINGS | {"maxmemory": "0"}).items():
        server.command("CONFIG", "SET", name, value)


@pytest.fixture
async def database_open(database: str) -> AsyncIterator[Database]:
    async with Database(database, size=4) as opened:
        yield opened


@pytest.fixture
async def kept(valkey: Valkey, database_open: Database) -> AsyncIterator[Kept]:
    async with links(valkey.url) as three:
        yield before(PostgresJournal(database_open), three)


@contextlib.asynccontextmanager
async def links(url: str) -> AsyncIterator[list[Link]]:
    made = [Link(url) for _ in range(3)]
    yield made
    for link in made:
        await link.close()


@pytest.fixture
async def sql(database: str):
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


async def test_what_was_acknowledged_outlives_a_kill_and_the_links_come_back(kept, valkey, sql):
    await kept.append(arrival(b'{"n":1}'))
    valkey.kill()
    with pytest.raises(StoreUnavailable):
        await kept.append(arrival(b'{"n":2}'))
    with pytest.raises(StoreUnavailable):
        await kept.taken()
    valkey.start()
    await kept.append(arrival(b'{"n":3}'))
    assert (await kept.journal.backlog(10)).unrouted == 2
    assert await kept.stored() == 2
    bodies = await sql.fetch("select d.body from event e join delivery d on d.id = e.delivery_id order by e.serial")
    assert [row["body"] for row in bodies] == [b'{"n":1}', b'{"n":3}']


async def test_one_that_hangs_is_given_up_and_asked_anew(valkey):
    link = Link(valkey.url)
    assert await link.call(("PING",)) == [b"PONG"]
    assert valkey.process is not None
    valkey.process.send_signal(signal.SIGSTOP)
    with pytest.raises(StoreUnavailable):
        await link.call(("PING",), patience=0.2)
    valkey.process.send_signal(signal.SIGCONT)
    assert await link.call(("ECHO", "mine")) == [b"mine"]
    await link.close()


async def test_a_key_that_another_program_took_is_told_with_the_way_out(valkey):
    link = Link(valkey.url)
    await link.call(("SET", "taken", "1"))
    with pytest.raises(StoreError, match="valkey_stream"):
        await link.call(("XADD", "taken", "*", "b", "1"))
    await link.call(("DEL", "taken"))
    await link.close()


async def test_read_again_before_it_was_settled_it_is_the_same(kept, sql):
    """A worker that was killed between the commit and the removal: the next one stores it again, and it is there."""
    await kept.append(arrival(b'{"n":1}'), arrival(b'{"n":2}'))
    (entry,) = await kept.taken()
    await kept.into.append(entry.arrivals)
    first = await sql.fetch("select * from event order by serial")
    assert await kept.taken() == [entry]
    assert await kept.stored() == 1
    assert await sql.fetch("select * from event order by serial") == first
    assert await kept.taken() == []


async def test_a_request_that_postgres_refuses_does_not_fail_its_neighbours(kept, valkey, sql):
    """It is among the events that could not be taken; where PostgreSQL holds not even that, it stays in Valkey."""
    worse = Arrival(b"d" * 16, "form", "application/json", b"worse", (Item(b"too short", 0, None),))
    bad = Arrival(b"e" * 16, "form", "text/\0plain", b"bad", (Item(b"e" * 16, 0, b"{}"),))
    good = [arrival(b'{"n":%d}' % number) for number in range(5)]
    await kept.append(*good[:2], worse, good[2], bad, good[3])
    valkey.command("XADD", STREAM.key, "*", "who", "a-stranger")
    valkey.command("XADD", STREAM.key, "*", "h", "[]", "b", "more-than-the-header-says")
    await kept.append(good[4])
    assert await kept.stored() == 4
    rows = await sql.fetch("select state, problem from event order by serial")
    assert [row["state"] for row in rows].count("pending") == 5
    (problem,) = (row["problem"] for row in rows if row["state"] == "quarantined")
    assert problem.startswith("could not be stored: PostgreSQL")
    link = Link(valkey.url)
    ((_, stranger), (_, damaged), (_, aside)) = sorted(
        (await link.call(("XRANGE", STREAM.aside, "-", "+")))[0], key=lambda row: len(row[1])
    )
    assert stranger[4:] == [b"who", b"a-stranger"]
    assert damaged[3] == b"it is no entry of Fairturn's"
    assert aside[2] == b"problem"
    assert aside[-1] == b"worse"
    await link.close()


async def test_one_that_is_full_says_so_and_is_emptied_all_the_same(kept, valkey, sql):
    """maxmemory is for what cannot be taken any more, never for what was acknowledged."""
    await kept.append(arrival(b'{"n":1}'))
    valkey.command("CONFIG", "SET", "maxmemory", "1")
    with pytest.raises(Overloaded, match="memory is full") as caught:
        await kept.append(arrival(b'{"n":2}'))
    assert caught.value.retry_after > 5
    assert (await kept.journal.backlog(10)).unrouted == 1
    assert await kept.stored() == 1
    assert await kept.taken() == []
    valkey.command("CONFIG", "SET", "maxmemory", "0")
    await kept.append(arrival(b'{"n":2}'))
    assert (await kept.journal.backlog(10)).unrouted == 2


@pytest.mark.parametrize(
    ("setting", "value", "remedy"),
    [
        ("appendonly", "no", "Set appendonly yes"),
        ("maxmemory-policy", "allkeys-lru", "Set maxmemory-policy noeviction"),
        ("maxmemory-policy", "volatile-ttl", "Set maxmemory-policy noeviction"),
        ("appendfsync", "no", "Set appendfsync always"),
    ],
)
async def test_one_that_may_lose_what_it_acknowledged_is_refused(kept, valkey, setting, value, remedy):
    """At the start, when it comes back with others, when they are set as it runs; and it is emptied all the same."""
    await kept.append(arrival(b'{"n":1}'))
    valkey.command("CONFIG", "SET", setting, value)
    link = Link(valkey.url)
    with pytest.raises(UnsafeStore, match=remedy):
        await link.promise()
    await link.close()
    await kept.journal.backlog(1)  # the look that the door takes every second
    with pytest.raises(StoreUnavailable, match=remedy):
        await kept.append(arrival(b'{"n":2}'))
    assert await kept.stored() == 1
    valkey.command("CONFIG", "SET", setting, SETTINGS[setting])
    await kept.append(arrival(b'{"n":2}'))


async def test_one_that_writes_every_second_is_waited_for(kept, valkey):
    valkey.command("CONFIG", "SET", "appendfsync", "everysec")
    await kept.journal.open()
    await kept.append(arrival(b'{"n":1}'))
    assert valkey.command("WAITAOF", "1", "0", "1") == b"*2"
    assert (await kept.journal.backlog(10)).unrouted == 1
    assert len(await kept.taken()) == 1


async def test_a_server_that_does_not_tell_its_settings_is_asked_in_other_ways():
    """Managed services have no CONFIG; an account may lack it."""
    with Valkey.started(rename_command='CONFIG ""', appendfsync="everysec") as running:
        async with links(running.url) as three:
            journal = ValkeyJournal(three[0], three[1], STREAM, PostgresJournal(Database("")))
            await journal.open()
            await journal.append([arrival(b'{"n":1}')])
    with Valkey.started(rename_command='CONFIG ""', appendonly="no") as running:
        link = Link(running.url)
        with pytest.raises(UnsafeStore, match="append-only"):
            await link.promise()
        await link.close()


async def test_a_password_is_used_and_never_told():
    with Valkey.started(requirepass=SECRET) as running:
        for part in ("", ":wrong@", f":{SECRET}@"):
            link = Link(running.url.replace("://", f"://{part}").replace("redis", "valkey"))
            if SECRET in part:
                assert (await link.promise()).on_reply
            else:
                with pytest.raises(StoreError, match=r"does not let us in") as caught:
                    await link.promise()
                assert not isinstance(caught.value, StoreUnavailable)
                assert "wrong" not in str(caught.value)
                assert "valkey_url" in str(caught.value)  # where to mend it
            assert SECRET not in repr(link)
            await link.close()


@pytest.mark.parametrize(
    "url", [f"http://:{SECRET}@host", f"redis://:{SECRET}/@host:6379", SECRET, "redis://host:none"]
)
def test_what_is_no_address_is_refused_and_not_repeated(url):
    with pytest.raises(ConfigError) as caught:
        Link(url)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


async def test_a_large_backlog_is_read_in_pieces_and_in_order(valkey, database_open, sql):
    """However long the requests: a read brings no more than the memory that it may take."""
    async with links(valkey.url) as three:
        kept = before(PostgresJournal(database_open), three)
        inbox = ValkeyInbox(three[2], STREAM, max_body=40 * 1_048_576)
        for number in range(9):
            await kept.append(arrival(b'{"n":%d,"x":"%b"}' % (number, b"x" * 300_000)), arrival(b'{"n":"%d"}' % number))
        first = await inbox.take(0.001)
        assert len(first) == 3
        assert [len(entry.arrivals or ()) for entry in first] == [1, 1, 1]
        assert await kept.stored() == 18
    found = await sql.fetch("select d.body from event e join delivery d on d.id = e.delivery_id order by e.serial")
    assert [row["body"][:7] for row in found[::2]] == [b'{"n":%d,' % number for number in range(9)]
    assert await sql.fetchval("select count(*) from event") == 18


async def test_two_installations_on_one_valkey_do_not_meet(valkey, database_open):
    async with links(valkey.url) as three:
        staging = ValkeyJournal(three[0], three[1], Stream("staging"), PostgresJournal(database_open))
        await staging.append([arrival(b'{"n":1}')])
        assert await before(PostgresJournal(database_open), three).stored() == 0
        assert (await staging.backlog(10)).unrouted == 1


async def test_entries_wait_while_postgres_is_away(kept, tmp_path, database_open):
    """The backlog is that of Valkey and what PostgreSQL last said; nothing is removed."""
    await kept.append(arrival(b'{"n":1}'))
    await kept.stored()
    assert (await kept.journal.backlog(10)).unrouted == 1
    await database_open.close()
    await kept.append(arrival(b'{"n":2}'))
    with pytest.raises(StoreUnavailable):
        await kept.stored()
    assert (await kept.journal.backlog(10)).unrouted == 2
    assert len(await kept.taken()) == 1


async def test_one_process_at_a_time_drains_and_the_next_takes_over(kept, database, sql):
    """A process that ends frees it with its session; one that hangs is ended by PostgreSQL."""
    first, second, other = (Sole(database, what, 1.0) for what in ("drain", "drain", "another"))
    assert await first.held()
    assert not await second.held()
    assert await other.held()
    await other.close()
    await first.close()
    assert await second.held()
    assert await second.held()
    await until("the second asks no more", first.held, 10)
    assert not await second.held()
    station = Drain(kept.inbox, kept.into, second)
    await kept.append(arrival(b'{"n":1}'))
    running = asyncio.create_task(station.run())
    await first.close()
    await until("it is stored", lambda: sql.fetchval("select count(*) from event"), 10)
    station.stop()
    await running
    await second.close()


async def test_the_station_waits_out_what_the_stores_do(kept, valkey, sql):
    station = Drain(kept.inbox, kept.into, Always())
    running = asyncio.create_task(station.run())
    valkey.kill()
    valkey.start()
    await kept.append(arrival(b'{"n":1}'))
    await until("it is stored", lambda: sql.fetchval("select count(*) from event"), 15)
    station.stop()
    await running
