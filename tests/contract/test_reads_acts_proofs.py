"""What commands and pages read and do, on a real database: one moment, one transaction, one notification."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from fairturn.desk import FailedFilter, LeadFilter
from fairturn.errors import NotFound
from fairturn.stores.postgres.acts import PostgresActs
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.proofs import PostgresProofs
from fairturn.stores.postgres.reads import PostgresReads
from fairturn.views import By
from tests.doors.commands import lead
from tests.flow.world import World, config

OLGA = By("olga", "because")


@pytest.fixture
async def world(database: str) -> AsyncIterator[World]:
    async with Database(database, size=4) as connections:
        made = World(database, connections, config())
        await made.apply(made.text)
        await made.add_station()
        yield made


async def test_a_snapshot_stays_at_its_moment_while_leads_go_on(world: World):
    await world.route(*(lead(n) for n in range(10)))
    async with PostgresProofs(world.database).snapshot() as snapshot:
        before = (await snapshot.pools())["main"]
        await world.route(*(lead(n) for n in range(10, 20)))
        entries = [entry async for rows in snapshot.entries("main") for entry in rows]
        again = (await snapshot.pools())["main"]
    assert before == again
    assert entries[-1].seq == before.seq
    assert before.given == 10
    assert [entry.seq for entry in entries] == list(range(1, before.seq + 1))
    assert all(entry.shares for entry in entries if entry.kind == "turn")


async def test_entries_before_a_number_end_there(world: World):
    await world.route(*(lead(n) for n in range(5)))
    async with PostgresProofs(world.database).snapshot() as snapshot:
        found = [entry.seq async for rows in snapshot.entries("main", 5) for entry in rows]
        assert found == [1, 2, 3, 4]
        assert await snapshot.outside() == 0


async def test_an_act_that_fails_leaves_no_trace(world: World):
    acts = PostgresActs(world.database)

    async def break_off() -> None:
        async with acts.step(OLGA) as step:
            await step.note("drop", "lead 1", {})
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await break_off()
    with pytest.raises(NotFound, match=r"Known: ann, bob, cid\."):
        await acts.pause_rep("dan", OLGA)
    assert await world.value("select count(*) from history") == 0


@pytest.mark.parametrize(("act", "channel"), [("rep", "fairturn_event"), ("destination", "fairturn_change")])
async def test_a_resume_wakes_the_station_that_it_concerns(world: World, act: str, channel: str):
    acts = PostgresActs(world.database)
    heard = asyncio.Event()
    listener = await asyncpg.connect(world.dsn)
    await listener.add_listener(channel, lambda *_: heard.set())
    if act == "rep":
        assert await acts.pause_rep("ann", OLGA) is None
        assert await acts.resume_reps(["ann", "ann"], OLGA) == {"ann"}
        assert not await acts.resume_reps(["ann"], OLGA)
    else:
        assert await acts.pause_destination("crm", OLGA) is None
        standing = await acts.pause_destination("crm", By("pete"))
        assert standing is not None
        assert (standing.by, standing.reason) == ("olga", "because")
        assert await acts.resume_destination("crm", OLGA)
    await asyncio.wait_for(heard.wait(), 10)
    await listener.close()
    rows = await world.fetch("select verb, actor, reason from history order by id")
    assert [tuple(row) for row in rows] == [("pause", "olga", "because"), ("resume", "olga", "because")]


async def test_a_resumed_destination_forgets_its_failures(world: World):
    await world.fetch(
        """update destination set blocked_until = now() + interval '1 hour', blocked_cause = 'outage', failures = 7"""
    )
    (standing,) = await PostgresReads(world.database).destinations()
    assert standing.blocked_cause == "outage"
    assert await PostgresActs(world.database).resume_destination("crm", OLGA)
    (row,) = await world.fetch(
        "select blocked_until, failures, failed_since > now() - interval '1 min' as fresh from destination"
    )
    assert tuple(row) == (None, 0, True)


async def test_the_story_of_two_leads_that_were_one_person(world: World):
    """Whatever was kept under the younger is told with the older."""
    await world.route({"visitor": "a", "email": "pat@c1.com"}, {"visitor": "b", "company": "C1"})
    older, younger = [row["id"] for row in await world.fetch("select id from lead order by id")]
    await world.route({"visitor": "b", "email": "pat@c1.com"})
    reads = PostgresReads(world.database)
    story = await reads.story(younger)
    assert story is not None
    assert (story.line.lead.id, story.merged) == (older, (younger,))
    assert len(story.events) == 3
    assert {row.lead for row in story.assignments} == {older, younger}
    assert {key.value for key in story.keys} == {"a", "b", "pat@c1.com"}
    assert list(await reads.find("b", [], [])) == [older]
    assert [line.lead.id for line in await reads.leads(LeadFilter())] == [older]
    assert await reads.story(2**63) is None


async def test_history_of_a_kind_and_of_one(world: World):
    acts, reads = PostgresActs(world.database), PostgresReads(world.database)
    for rep in ("ann", "bob"):
        await acts.pause_rep(rep, OLGA)
    await acts.pause_destination("crm", OLGA)
    assert [row.subject for row in await reads.history("rep", 10)] == ["rep bob", "rep ann"]
    assert [row.subject for row in await reads.history("rep ann", 10)] == ["rep ann"]
    assert len(await reads.history(None, 2)) == 2
    assert await reads.history("%", 10) == []


async def test_a_retry_takes_what_has_failed_by_now_and_nothing_else(world: World):
    await world.route(*(lead(n) for n in range(4)))
    await world.fetch("update change set state = 'failed', failed_at = now(), code = 'X' where lead_id % 2 = 0")
    await world.fetch("update change set failed_at = now() + interval '1 hour' where lead_id = 4")  # a later one
    acts = PostgresActs(world.database)
    assert (await acts.retry(FailedFilter(code="Y"), OLGA)).writes == 0
    assert (await acts.retry(FailedFilter(destination="crm"), OLGA)).writes == 1
    failed = await PostgresReads(world.database).failed(FailedFilter(), 10)
    assert [write.lead for write in failed] == [4]


async def test_what_was_written_without_a_field(world: World):
    """In a list of its own; a retry clears it, whatever the write is at, and asks for no owner."""
    await world.route(*(lead(n) for n in range(4)))
    await world.fetch(
        """update change
           set state = 'done', first_event_at = null, confirmed = 1, owner_confirmed = 1, found_at = now(),
               without = '{"Rating": "not an option"}', refused = '{"Rating": "Lukewarm"}'
           where lead_id < 4"""
    )
    await world.fetch("update change set state = 'pending', first_event_at = now() where lead_id = 2")
    await world.fetch("update change set found_at = now() + interval '1 hour' where lead_id = 3")  # a later one
    acts, reads = PostgresActs(world.database), PostgresReads(world.database)
    listed = await reads.without(FailedFilter(destination="crm"), 10)
    assert [(one.lead, one.destination, dict(one.without)) for one in listed] == [
        (number, "crm", {"Rating": "not an option"}) for number in (3, 1, 2)
    ]
    assert await reads.failed(FailedFilter(), 10) == []
    assert [one.lead for one in await reads.without(FailedFilter(leads=(2,)), 10)] == [2]
    assert (await acts.retry_without(FailedFilter(), OLGA)).writes == 2
    assert (await acts.retry_without(FailedFilter(), OLGA)).writes == 0
    rows = await world.fetch("select * from change where lead_id < 3 order by lead_id")
    assert [(row["state"], row["version"], row["without"], row["refused"]) for row in rows] == [
        ("pending", 2, None, None)
    ] * 2
    assert all(row["owner_version"] == row["owner_confirmed"] for row in rows)
    story = await reads.story(3)
    assert story is not None
    assert story.changes[0].without == {"Rating": "not an option"}
    (row,) = await reads.history("fields writes", 10)
    assert (row.actor, row.detail["writes"]) == (OLGA.actor, 2)
