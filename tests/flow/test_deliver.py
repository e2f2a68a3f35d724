"""From the ledger into a CRM: a real database, a simulated Salesforce in a process of its own, and its evidence."""

import asyncio
from datetime import timedelta

import pytest

from tests.contract.ledger_rows import DESTINATION
from tests.flow.delivering import desk


@pytest.fixture
async def at(database, salesforce_process):
    salesforce_process.start()
    async with desk(database, salesforce_process) as made:
        yield made


def person(number, **fields):
    return {"email": f"p{number}@acme.com", "last_name": f"P{number}", "company": "Acme"} | fields


async def people(at, count, **lead):
    return [await at.rows.new(fields=person(number), age=0, **lead) for number in range(count)]


CITY = (
    "update lead set fields = fields || jsonb_build_object('city', jsonb_build_array($2::text, 0, 0, '')) where id = $1"
)


def nothing_twice(org):
    summary = org.get("/summary")
    assert summary["repeats"] == 0, "a version was sent again after its answer had been received"
    assert summary["duplicated"] == 0
    assert summary["overlaps"] == 0, "two requests in flight touched one account"
    return summary


async def test_a_lead_reaches_the_crm_with_its_owner(at):
    lead = await at.rows.new(fields=person(1))
    async with at.running(await at.station()):
        await at.all_in("done", 1)
    (record,) = at.org.leads().values()
    assert (record["Email"], record["OwnerId"]) == ("p1@acme.com", at.org.users["ann"])
    row = await at.rows.change(lead)
    assert row["record_id"] == record["Id"]
    assert row["record"]["OwnerId"] == at.org.users["ann"]
    assert nothing_twice(at.org)["write_requests"] == 1
    here = await at.destination()
    assert here["lease_holder"] is None  # released
    assert here["org"] == at.org.get("/summary")["org"]


async def test_a_burst_becomes_few_requests_and_each_lead_lands_once(at):
    """60 leads of few accounts, three events each, some of them while their lead is in flight."""
    at.org.post("/latency", {"fixed": 5, "per_record": 0.05})  # 0.1 s in real time
    accounts = [await at.rows.account(f"domain:{name}.com") for name in ("acme", "globex")] + [None] * 3
    async with at.running(await at.station(account_lookup="Account__r.Fairturn_Key__c")):
        leads = [await at.rows.new(fields=person(n), age=0, account=accounts[n % 5]) for n in range(60)]
        for turn in range(2):
            for lead in leads:
                await at.connection.execute(CITY, lead, f"City {turn}")
                await at.rows.changed(lead, age=0)
        await at.all_in("done", 60)
    summary = nothing_twice(at.org)
    assert {record["City"] for record in at.org.leads().values()} == {"City 1"}
    assert len(at.org.leads()) == 60
    assert summary["write_requests"] < 40  # one per event: 180
    assert summary["lock_timeouts"] == 0


async def test_one_account_never_flies_twice_case_78(at):
    """Case 78: 250 leads of one account, 50 others, slow requests, four slots."""
    at.org.post("/latency", {"fixed": 10, "per_record": 0})
    acme = await at.rows.account("domain:acme.com")
    await people(at, 250, account=acme)
    for number in range(50):
        await at.rows.new(fields=person(1000 + number), age=0)
    async with at.running(await at.station(account_lookup="Account__r.Fairturn_Key__c")):
        await at.all_in("done", 300)
    summary = nothing_twice(at.org)
    assert summary["rows"] == {"created": 300, "updated": 0, "refused": 0}
    assert summary["lock_waits"] == 0


async def test_an_owner_that_a_person_changed_stands(at):
    lead = await at.rows.new(fields=person(1))
    async with at.running(await at.station()):
        await at.all_in("done", 1)
        body = {"object": "Lead", "email": "p1@acme.com", "owner": "bob@crm.test"}
        await asyncio.to_thread(at.org.post, "/owner", body)
        await at.connection.execute(CITY, lead, "Kiel")
        await at.rows.changed(lead, age=0)
        await at.asked(2)
        await at.all_in("done", 1)
    (record,) = at.org.leads().values()
    assert (record["City"], record["OwnerId"]) == ("Kiel", at.org.users["bob"])


async def test_what_the_crm_has_already_is_no_call(at):
    lead = await at.rows.new(fields=person(1))
    async with at.running(await at.station()):
        await at.all_in("done", 1)
        await at.rows.changed(lead, age=0)  # an event that changes no field which the CRM gets

        async def settled():
            return (await at.rows.change(lead))["confirmed"] == 2

        await at.until(settled)
    assert [write["outcome"] for write in await at.rows.writes(lead)] == ["written", "same"]
    assert nothing_twice(at.org)["write_requests"] == 1


async def test_shadow_does_everything_but_send(at):
    dark = await at.rows.new(fields=person(1), mode="shadow")
    live = await at.rows.new(fields=person(2))
    async with at.running(await at.station()):
        await at.all_in("done", 2)
    assert [record["Email"] for record in at.org.leads().values()] == ["p2@acme.com"]
    (write,) = await at.rows.writes(dark)
    assert (write["outcome"], write["owner"], write["record"]["LastName"]) == ("shadow", "ann", "P1")
    assert (await at.rows.writes(live))[0]["outcome"] == "written"


async def test_a_destination_in_shadow_does_not_even_log_in(at):
    await people(at, 5)
    async with at.running(await at.station(mode="shadow")):
        await at.all_in("done", 5)
    assert at.org.get("/requests")["requests"] == []
    assert await at.connection.fetchval("select count(*) from write where outcome = 'shadow'") == 5
    assert await at.connection.fetchval("select sum(calls) from batch") == 0


async def test_a_paused_destination_waits_and_goes_on(at):
    await at.connection.execute(
        "update destination set paused_at = now(), paused_by = 'eve', paused_reason = 'migration'"
    )
    leads = await people(at, 3)
    async with at.running(await at.station(lease=0.3)):
        # The station has seen the pause once it holds the lease; then nothing of it may reach the simulator.
        async def leased():
            return (await at.destination())["lease_holder"] is not None

        await at.until(leased)
        assert (await at.rows.change(leads[0]))["state"] == "pending"
        assert at.org.writes() == []
        await at.connection.execute("update destination set paused_at = null, paused_by = null, paused_reason = null")
        await at.all_in("done", 3)


# ---- what goes wrong over there ---------------------------------------------------------------------------------


async def test_an_outage_hurts_nobody_case_104(at):
    """Case 104: 503 for a while; no attempt is used up, probes are few, and all arrive when it is over."""
    at.org.faults({"kind": "unavailable", "on": "write", "nth": [1, 2]})
    leads = await people(at, 30)
    async with at.running(await at.station(max_attempts=1)):
        await at.asked(2)
        assert (await at.destination())["blocked_cause"] is not None
        await at.all_in("done", 30)
    nothing_twice(at.org)
    assert len(at.org.writes()) == 3
    assert (await at.rows.change(leads[0]))["attempts"] == 0
    here = await at.destination()
    assert (here["failures"], here["blocked_until"], here["blocked_cause"]) == (0, None, None)


@pytest.mark.parametrize("fault", ["reset_after", "reset_before", "broken", "gateway_timeout", "silent"])
async def test_an_answer_that_was_lost_leaves_one_record_case_91(at, fault):
    """Case 91: committed or not, the answer never came; the same upsert afterwards leaves one record for each."""
    at.org.faults({"kind": fault, "on": "write", "nth": [1]} | ({"commit": True} if fault == "silent" else {}))
    await people(at, 10)
    async with at.running(await at.station()):
        await at.all_in("done", 10)
    # An answer that came but cannot be read counts as received over there; over here it never came.
    summary = at.org.get("/summary") if fault in ("broken", "silent") else nothing_twice(at.org)
    assert (summary["people"], summary["duplicated"]) == (10, 0)
    outcomes = await at.connection.fetch("select outcome, count(*) from write group by outcome order by outcome")
    assert dict(outcomes) == {"unknown": 10, "written": 10}


async def test_a_limit_of_three_is_three_sends_case_105(at):
    at.org.faults({"kind": "lock", "on": "write"})
    lead = await at.rows.new(fields=person(1))
    async with at.running(await at.station(max_attempts=3)):
        await at.all_in("failed", 1)
    assert len(at.org.writes()) == 3
    row = await at.rows.change(lead)
    assert row["code"] == "UNABLE_TO_LOCK_ROW"
    assert "3 attempts" in row["message"]


async def test_only_the_locked_rows_are_sent_again_case_78(at):
    at.org.faults({"kind": "lock", "on": "write", "nth": [1], "rows": 2})
    await people(at, 5)
    async with at.running(await at.station()):
        await at.all_in("done", 5)
    assert sum(request["records"] for request in at.org.writes()) == 7
    nothing_twice(at.org)


async def test_an_owner_whom_the_crm_refuses_is_told_of_case_96(at):
    """Case 96: four are written; the fifth fails with the CRM's words, and whoever can re-route it hears of it."""
    told = []

    async def hear(rep, lead, message):
        told.append((rep, lead, message))

    await people(at, 4)
    bad = await at.rows.new(fields=person(9), rep="gone", age=0)
    async with at.running(await at.station(faults=hear)):
        await at.all_in("done", 4)
        await at.all_in("failed", 1)

        async def heard():
            return bool(told)

        await at.until(heard)
    ((rep, lead, message),) = told
    assert (rep, lead) == ("gone", bad)
    assert "inactive" in message
    assert (await at.rows.change(bad))["code"] == "INACTIVE_OWNER_OR_USER"


async def test_too_many_failed_writes_stop_the_destination(at):
    for number in range(6):
        await at.rows.new(fields=person(number, email="a@b"), age=0)
    async with at.running(await at.station(max_failed=3, max_records=3)):
        await at.all_in("failed", 3)

        async def paused():
            return (await at.destination())["paused_by"] == "fairturn"

        await at.until(paused)
    assert "max_failed = 3" in (await at.destination())["paused_reason"]
    assert await at.connection.fetchval("select count(*) from change where state = 'pending'") == 3


async def test_the_daily_limit_is_a_long_pause_case_115(at):
    at.org.faults({"kind": "daily_limit", "on": "write", "nth": [1]})
    (lead,) = await people(at, 1)
    async with at.running(await at.station()):

        async def blocked():
            return (await at.destination())["blocked_until"] is not None

        await at.until(blocked)
    here = await at.destination()
    assert here["blocked_until"] - here["now"] > timedelta(seconds=800)
    assert "TotalRequests" in here["blocked_cause"]
    assert "TotalRequests" in (await at.rows.change(lead))["cause"]


@pytest.mark.parametrize(
    ("settings", "cause"), [({"secret": "wrong"}, "invalid client"), ({"org": "00D0000000000AA"}, "pinned")]
)
async def test_what_only_a_person_can_mend_writes_nothing_and_says_so(at, settings, cause):
    await people(at, 2)
    async with at.running(await at.station(**settings)):

        async def blocked():
            return (await at.destination())["blocked_cause"] is not None

        await at.until(blocked)
    assert cause in (await at.destination())["blocked_cause"]
    assert at.org.writes() == []


async def test_another_org_than_the_pinned_one_is_not_written_to(at):
    await at.connection.execute("update destination set org = '00D000000000000AAA'")
    await people(at, 2)
    async with at.running(await at.station()):

        async def blocked():
            return (await at.destination())["blocked_cause"] is not None

        await at.until(blocked)
    assert "00D000000000000AAA" in (await at.destination())["blocked_cause"]
    assert at.org.writes() == []


async def test_a_slow_destination_slows_no_other_case_108(at):
    """Case 108 (and 107): a state for each lead and destination; one CRM hangs, the other is served as ever."""
    at.org.faults({"kind": "hang", "on": "write", "nth": [1], "seconds": 10_000})
    lead = await at.rows.new(fields=person(1))
    slow, quick = await at.station(request_timeout="3s"), await at.station(name="other")
    async with at.running(slow):
        await at.asked(1)
        await at.rows.changed(lead, age=0, owner=True, name="other")
        async with at.running(quick):
            await at.all_in("done", 1, "other")
        assert (await at.rows.change(lead))["state"] == "in_flight"
        at.org.post("/release", {})
        await at.all_in("done", 1)


# ---- what goes wrong here ---------------------------------------------------------------------------------------


async def test_stop_finishes_the_request_in_flight_case_64(at):
    """Case 64: SIGTERM in the middle of a request: answered, settled, released; nothing waits for a deadline."""
    at.org.faults({"kind": "slow", "on": "write", "seconds": 10_000})
    lead = await at.rows.new(fields=person(1))
    station = await at.station()
    async with at.running(station):
        await at.asked(1)
        station.stop()
        assert (await at.rows.change(lead))["state"] == "in_flight"
        at.org.post("/release", {})
    assert (await at.rows.change(lead))["state"] == "done"
    assert (await at.destination())["lease_holder"] is None
    nothing_twice(at.org)


async def test_a_killed_station_is_followed_by_another_case_60(at):
    """Case 60: killed while the CRM works; its rows come back at their deadline, and the CRM has one record."""
    at.org.faults({"kind": "slow", "on": "write", "nth": [1], "seconds": 10_000})
    lead = await at.rows.new(fields=person(1))
    killed = await at.start(await at.station(lease=0.5))
    await at.asked(1)
    for flight in [task for task in asyncio.all_tasks() if "_fly" in repr(task) or "_keep" in repr(task)]:
        flight.cancel()
    killed.cancel()
    await asyncio.gather(killed, return_exceptions=True)
    await at.connection.execute("update destination set lease_holder = gen_random_uuid()")  # it could release nothing
    await at.connection.execute("update batch set deadline = clock_timestamp()")
    at.org.post("/release", {})
    async with at.running(await at.station(lease=0.5)):
        await at.all_in("done", 1)
    assert nothing_twice(at.org)["people"] == 1
    assert [write["outcome"] for write in await at.rows.writes(lead)] == ["unknown", "written"]


async def test_two_stations_one_works_and_the_other_follows(at):
    await people(at, 5)
    first, second = await at.station(lease=0.6), await at.station(lease=0.6)
    async with at.running(second):
        async with at.running(first):
            await at.all_in("done", 5)
        later = await at.rows.new(fields=person(9), age=0)
        await at.all_in("done", 6)
    assert (await at.rows.change(later))["state"] == "done"
    nothing_twice(at.org)


async def test_an_answer_outlives_the_lease(at):
    """The lease is lost while a request is out (SIGSTOP); the answer is settled and the version not sent again."""
    at.org.faults({"kind": "slow", "on": "write", "nth": [1], "seconds": 10_000})
    lead = await at.rows.new(fields=person(1))
    async with at.running(await at.station()):
        await at.asked(1)
        await at.connection.execute(
            "update destination set lease_holder = gen_random_uuid(), lease_until = now() + '1 hour'"
        )
        at.org.post("/release", {})
        await at.all_in("done", 1)
    assert (await at.rows.change(lead))["confirmed"] == 1
    assert nothing_twice(at.org)["write_requests"] == 1


async def test_postgresql_going_away_loses_no_answer(at):
    """All sessions die while a request is out: the answer is settled as soon as there are sessions again."""
    at.org.faults({"kind": "slow", "on": "write", "nth": [1], "seconds": 10_000})
    await people(at, 3)
    async with at.running(await at.station()):
        await at.asked(1)
        await at.connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'fairturn%'"
        )
        at.org.post("/release", {})
        await at.all_in("done", 3)
    assert nothing_twice(at.org)["write_requests"] == 1


# ---- windows and priorities -------------------------------------------------------------------------------------


async def test_none_is_one_call_for_each_change(at):
    await people(at, 5)
    async with at.running(await at.station(window="none")):
        await at.all_in("done", 5)
    assert [request["records"] for request in at.org.writes()] == [1] * 5


async def test_fixed_flushes_together(at):
    await people(at, 5)
    async with at.running(await at.station(window="fixed", every="500ms")):
        await at.all_in("done", 5)
    assert [request["records"] for request in at.org.writes()] == [5]


async def test_high_before_normal_before_bulk(at):
    for number, priority in enumerate(["bulk", "normal", "high"]):
        await at.rows.new(fields=person(number), priority=priority, age=100 - number)
    async with at.running(await at.station(max_records=1, max_slots=1)):
        await at.all_in("done", 3)
    sql = "select priority from write join change using (lead_id) order by write.batch_id"
    assert [row["priority"] for row in await at.connection.fetch(sql)] == ["high", "normal", "bulk"]


async def test_settling_knows_the_oldest_event_of_each_write(at):
    lead = await at.rows.new(fields=person(1), age=30)
    async with at.running(await at.station()):
        await at.all_in("done", 1)
    (write,) = await at.rows.writes(lead)
    assert timedelta(seconds=30) <= write["answered_at"] - write["oldest_event_at"] < timedelta(seconds=60)
    assert write["destination_id"] == DESTINATION
