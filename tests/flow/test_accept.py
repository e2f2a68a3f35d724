"""Group commit: one bad request costs its neighbours nothing, and memory and patience have bounds."""

import asyncio

import asyncpg
import pytest

from fairturn.decide.splitting import Limits, split
from fairturn.errors import Overloaded
from fairturn.flow.accept import Accept, Bounds
from fairturn.model import Arrival, Item
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.journal import PostgresJournal


def arrival(number: int, size: int = 0) -> Arrival:
    return split("form", "batch", "application/json", b'{"n":%d,"x":"%b"}' % (number, b"x" * size), Limits())


UNSTORABLE = Arrival(b"d" * 16, "form", "application/json", b"{}", (Item(b"too short", 0, None),))


@pytest.fixture
async def journal(database: str):
    async with Database(database) as opened:
        yield PostgresJournal(opened)


@pytest.fixture
async def sql(database: str):
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


async def commits(sql: asyncpg.Connection) -> int:
    return await sql.fetchval("select count(distinct xmin::text) from event")


async def test_concurrent_requests_share_commits(journal, sql):
    async with Accept(journal) as accept:
        await asyncio.gather(*(accept.put(arrival(number)) for number in range(200)))
    assert await sql.fetchval("select count(*) from event") == 200
    assert await commits(sql) == 1


async def test_a_group_that_fails_is_redone_until_the_bad_one_stands_alone(journal, sql):
    async with Accept(journal) as accept:
        puts = [accept.put(arrival(number)) for number in range(50)]
        puts.insert(23, accept.put(UNSTORABLE))
        results = await asyncio.gather(*puts, return_exceptions=True)
    failed = [place for place, result in enumerate(results) if result is not None]
    assert failed == [23]
    assert isinstance(results[23], Overloaded)
    assert await sql.fetchval("select count(*) from event") == 50


async def test_groups_are_bounded_by_rows_and_by_bytes(journal, sql):
    async with Accept(journal, Bounds(group_rows=10, linger=0)) as accept:
        await asyncio.gather(*(accept.put(arrival(number)) for number in range(35)))
    assert await commits(sql) == 4
    async with Accept(journal, Bounds(group_bytes=10_000, linger=0)) as accept:
        await asyncio.gather(*(accept.put(arrival(number, size=6_000)) for number in range(100, 104)))
    assert await commits(sql) == 8


async def test_memory_is_bounded(journal, sql):
    async with Accept(journal, Bounds(queue_bytes=10_000)) as accept:
        await sql.execute("begin; lock table event in access exclusive mode")
        first = asyncio.create_task(accept.put(arrival(0)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting = [asyncio.create_task(accept.put(arrival(number, size=3_000))) for number in range(1, 9)]
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        refused = [task for task in waiting if task.done()]
        assert done == set(refused)
        assert {type(task.exception()) for task in refused} == {Overloaded}
        await sql.execute("rollback")
        await asyncio.gather(first, *(task for task in waiting if task not in refused))
        assert await sql.fetchval("select count(*) from event") == 9 - len(refused)


async def test_a_cancelled_caller_does_not_take_its_event_back(journal, sql):
    async with Accept(journal) as accept:
        tasks = [asyncio.create_task(accept.put(arrival(number))) for number in range(3)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [type(None), asyncio.CancelledError, type(None)]
    assert await sql.fetchval("select count(*) from event") == 3


async def test_leaving_commits_what_was_let_in_and_takes_no_more(journal, sql):
    async with Accept(journal) as accept:
        tasks = [asyncio.create_task(accept.put(arrival(number))) for number in range(20)]
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    assert await sql.fetchval("select count(*) from event") == 20
    with pytest.raises(Overloaded, match="shutting down"):
        await accept.put(arrival(99))


async def waiting_commits(sql: asyncpg.Connection, count: int) -> None:
    """Returns once so many sessions wait for the lock."""
    waiting = "select count(*) from pg_locks where not granted"
    async with asyncio.timeout(10):
        while await sql.fetchval(waiting) != count:  # noqa: ASYNC110  no signal tells of a waiting lock
            await asyncio.sleep(0.005)


async def test_a_second_commit_begins_beside_one_that_waits(journal, sql):
    """For as many as are worth one, and no third; leaving waits for both."""
    bounds = Bounds(few=4)
    async with asyncio.timeout(20), Accept(journal, bounds) as accept:
        await sql.execute("begin; lock table event in share mode")
        tasks = [asyncio.create_task(accept.put(arrival(0)))]
        await waiting_commits(sql, 1)
        tasks += [asyncio.create_task(accept.put(arrival(number))) for number in range(1, 4)]
        await asyncio.sleep(0)
        assert len(accept._drains) == 1
        tasks += [asyncio.create_task(accept.put(arrival(4)))]
        await waiting_commits(sql, 2)
        tasks += [asyncio.create_task(accept.put(arrival(number))) for number in range(5, 30)]
        await asyncio.sleep(0)
        assert len(accept._drains) == 2
        leaving = asyncio.create_task(accept.settled())
        await asyncio.sleep(0)
        assert not leaving.done()
        await sql.execute("rollback")
        await leaving
        assert all(task.done() and task.exception() is None for task in tasks)
    assert await sql.fetchval("select count(*) from event") == 30
    assert 3 <= await commits(sql) <= 4


async def test_a_group_is_not_held_by_one_that_waits(journal, sql):
    """The first has an event that another's transaction holds; those behind it are stored meanwhile."""
    async with asyncio.timeout(20), Accept(journal, Bounds(few=4)) as accept:
        await sql.execute("begin")
        held = arrival(0).items[0].id
        await sql.execute(
            "insert into event (id, delivery_id, item, source_id, lane, state) values ($1, $1, 0, 'form', 'batch', "
            "'pending')",
            held,
        )
        first = asyncio.create_task(accept.put(arrival(0)))
        await waiting_commits(sql, 1)
        await asyncio.gather(*(accept.put(arrival(number)) for number in range(1, 20)))
        assert not first.done()
        await sql.execute("rollback")
        await first
    assert await sql.fetchval("select count(*) from event") == 20


async def test_a_database_that_hangs_refuses_all_until_it_is_back(journal, sql):
    """Both commits: nobody is held longer than `patience`, whoever comes meanwhile is refused at once."""
    async with asyncio.timeout(20), Accept(journal, Bounds(few=2, patience=0.1)) as accept:
        await sql.execute("begin; lock table event in share mode")
        tasks = [asyncio.create_task(accept.put(arrival(0)))]
        await waiting_commits(sql, 1)
        tasks += [asyncio.create_task(accept.put(arrival(number))) for number in range(1, 8)]
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [str(result) for result in results] == ["The database does not answer."] * 8
        with pytest.raises(Overloaded, match="does not answer"):
            await accept.put(arrival(9))
        await sql.execute("rollback")
        await accept.settled()
        await accept.put(arrival(9))
        assert accept._bytes == 0
    # What hung was committed all the same: its senders were told no, and send again.
    assert await sql.fetchval("select count(*) from event") >= 2


async def test_an_empty_array_needs_no_commit(journal, sql):
    async with Accept(journal) as accept:
        await accept.put(split("form", "batch", "application/json", b"[]", Limits()))
    assert await sql.fetchval("select count(*) from delivery") == 0


async def test_a_lost_connection_is_503_for_the_group_and_the_next_one_goes_through(journal, sql):
    async with Accept(journal) as accept:
        await accept.put(arrival(0))
        await sql.execute("begin; lock table event in access exclusive mode")
        tasks = [asyncio.create_task(accept.put(arrival(number))) for number in range(1, 4)]
        waiting = "select pid from pg_locks where not granted"
        while not (pid := await sql.fetchval(waiting)):  # noqa: ASYNC110  no signal tells of a waiting lock
            await asyncio.sleep(0.01)
        await sql.fetchval("select pg_terminate_backend($1)", pid)
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(result) for result in results} == {Overloaded}
        await sql.execute("rollback")
        await asyncio.gather(*(accept.put(arrival(number)) for number in range(4)))
    assert await sql.fetchval("select count(*) from event") == 4


async def test_a_disk_that_is_nearly_full_closes_the_door(journal):
    free = {"mib": 100}
    async with Accept(journal, Bounds(min_disk=256, look_every=3600), free_disk=lambda: free["mib"]) as accept:
        with pytest.raises(Overloaded, match="256 MiB") as caught:
            await accept.put(arrival(1))
        assert caught.value.retry_after == 60
        free["mib"] = 300
        await accept.look()
        await accept.put(arrival(1))
