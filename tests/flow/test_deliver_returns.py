"""After an outage, a refused login, a dead holder: who goes on, how soon, in which order and how fast."""

import asyncio
import itertools
from datetime import UTC, datetime

import pytest

from fairturn.decide.sizing import Size
from tests.contract.ledger_rows import DESTINATION
from tests.flow.delivering import desk
from tests.flow.test_deliver import nothing_twice, people, person


@pytest.fixture
async def at(database, salesforce_process):
    salesforce_process.start()
    async with desk(database, salesforce_process) as made:
        yield made


async def test_after_an_hour_of_outage_the_oldest_go_first_and_nothing_has_failed_case_104(at):
    """Case 104: 300 leads of an hour, a third of them tried once before it was clear that the org is down."""
    leads = [await at.rows.new(fields=person(n), age=3_600 - 10 * n) for n in range(300)]
    await at.connection.execute(
        """update change set first_try_at = clock_timestamp() - interval '1 hour', cause = 'SERVER_UNAVAILABLE: down',
                  sent_version = 1
           where lead_id = any($1)""",
        leads[:100],
    )
    await at.connection.execute(
        """update destination set failures = 60, blocked_cause = 'SERVER_UNAVAILABLE: down',
                  blocked_until = clock_timestamp() + interval '300 milliseconds'"""
    )
    at.org.faults({"kind": "unavailable", "on": "write", "nth": [1, 2]})  # the first probes still find it down

    async def failures():
        return (await at.destination())["failures"]

    async with at.running(await at.station(max_attempts=1)):
        for probe in (61, 62):
            await at.reaches(failures, probe)
            # Nobody waits a minute here for the next probe, which the dice may have set that far away.
            await at.connection.execute("update destination set blocked_until = null")
        await at.all_in("done", 300)
    nothing_twice(at.org)
    assert await at.connection.fetchval("select count(*) from history where verb = 'pause'") == 0
    order = await at.connection.fetch(
        """select min(w.oldest_event_at) as first, max(w.oldest_event_at) as last, count(*) as records
           from write w join batch b on b.id = w.batch_id where w.outcome = 'written' group by b.id order by b.id"""
    )
    assert all(one["last"] <= two["first"] for one, two in itertools.pairwise(order))
    assert max(row["records"] for row in order) <= 200
    calls = await at.connection.fetchval("select sum(calls) from batch where settled_at is not null")
    assert calls <= 16  # a probe at a time while it was down, then requests that grow


async def test_two_processes_share_one_account_and_the_second_goes_on_case_114(at):
    """Case 114: limits are the account's. One sends, whatever the other knows; killed, the other goes on in its place,
    with what the first has learnt of the org.
    """
    await people(at, 40)
    first, second = await at.station(lease=0.5, max_slots=1), await at.station(lease=0.5, max_slots=1)
    killed = await at.start(first)
    await at.all_in("done", 40)
    async with at.running(second):
        holders = await at.connection.fetch("select distinct holder from batch")
        assert [row["holder"] for row in holders] == [first._account.holder]
        await at.connection.execute("update destination set sizes = '{\"Lead\": [7, 8, 9e9]}'")
        for task in [task for task in asyncio.all_tasks() if "Account._keep" in repr(task.get_coro())]:
            if task is first._account._keeping:
                task.cancel()
        killed.cancel()
        await asyncio.gather(killed, return_exceptions=True)
        for number in range(20):
            await at.rows.new(fields=person(100 + number), age=0)
        await at.all_in("done", 60)
        assert second._account.sizes["Lead"] == Size(7, 8, 9e9)
    sizes = await at.connection.fetch("select records from batch where holder = $1", second._account.holder)
    assert max(row["records"] for row in sizes) <= 7
    nothing_twice(at.org)


async def test_a_login_that_was_mended_is_tried_at_once(at):
    """It was refused; whoever starts with the right secret does not wait five minutes for it."""
    await people(at, 3)
    async with at.running(await at.station(secret="wrong")):

        async def blocked():
            return (await at.destination())["blocked_until"] is not None

        await at.until(blocked)
    here = await at.destination()
    assert (here["blocked_until"] - here["now"]).total_seconds() > 200
    assert here["blocked_person"]
    async with at.running(await at.station()):
        await at.all_in("done", 3)
    here = await at.destination()
    assert (here["failures"], here["blocked_cause"], here["blocked_person"]) == (0, None, False)


async def test_a_limit_of_a_person_holds_changes_back(at):
    """`destinations limit`: the budget is used up, so nothing leaves before the wait that it makes."""
    await at.connection.execute("update destination set daily_calls = 1")
    await at.connection.execute(
        """insert into batch (destination_id, holder, deadline, settled_at, records, calls)
           values ($1, gen_random_uuid(), now(), now(), 1, 5)""",
        DESTINATION,
    )
    lead = await at.rows.new(fields=person(1), age=0)
    station = await at.station(lease=0.3)
    async with at.running(station):

        async def held():
            return station._account.standing is not None and station._account.standing.lease.held

        await at.until(held)
        assert station._account.window().linger_of("normal") > 1_000
        assert (await at.rows.change(lead))["state"] == "pending"
        await at.connection.execute("update destination set daily_calls = null")
        await at.all_in("done", 1)


async def test_what_a_request_taught_is_kept(at):
    before = datetime.now(UTC).timestamp()
    at.org.post("/switches", {"automation_records": 20})
    await people(at, 60)
    async with at.running(await at.station(max_slots=1)):
        await at.all_in("done", 60)
    (size,) = (await at.destination())["sizes"].values()
    assert size[0] <= 20
    assert size[1] > 20
    assert before - 3_600 < size[2]
    assert await at.connection.fetchval("select count(*) from change where state = 'failed'") == 0
