"""The ledger on a real PostgreSQL: lease, take, settle, recover, and what two transactions do at the same step."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import asyncpg
import orjson
import pytest

from fairturn.decide.outgoing import owner_rule
from fairturn.model import Answer, Batch, Done, Failed, Later, Refused, RetryAt, Unknown, Written
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.ledger import PostgresLedger
from tests.contract.ledger_rows import DESTINATION, Rows

ME, OTHER = uuid4(), uuid4()
OWNERS = owner_rule({"emea": {DESTINATION: "00GQUEUE"}})


@pytest.fixture
async def rows(database):
    connection = await asyncpg.connect(database)
    await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=str, decoder=orjson.loads)
    yield Rows(connection)
    await connection.close()


@pytest.fixture
async def ledger(database, rows):
    await rows.destination()
    async with Database(database) as opened:
        ledger = PostgresLedger(opened, OWNERS)
        await ledger.lease(DESTINATION, ME, 30)
        yield ledger


async def take(ledger, *leads, holder=ME, timeout=60.0) -> Batch:
    batch = await ledger.take(DESTINATION, holder, leads, timeout)
    assert batch is not None
    return batch


def written(batch, **record) -> Answer:
    return Answer(
        tuple(Written(row.key, f"00Q{row.lead}", created=True) for row in batch.records),
        {row.key: record or {"Email": "jane@acme.com"} for row in batch.records},
    )


def done(batch, **record):
    return [Done(row.lead, f"00Q{row.lead}", True, record or {"Email": "jane@acme.com"}) for row in batch.records]


async def settle_done(ledger, batch, holder=ME):
    return await ledger.settle(batch, written(batch), done(batch), holder)


# ---- the lease --------------------------------------------------------------------------------------------------


async def test_one_process_at_a_time_holds_a_destination(ledger):
    assert (await ledger.lease(DESTINATION, ME, 30)).held
    assert not (await ledger.lease(DESTINATION, OTHER, 30)).held
    await ledger.release(DESTINATION, OTHER)  # not its own: nothing happens
    assert not (await ledger.lease(DESTINATION, OTHER, 30)).held
    await ledger.release(DESTINATION, ME)
    assert (await ledger.lease(DESTINATION, OTHER, 30)).held
    assert not (await ledger.lease(DESTINATION, ME, 30)).held


async def test_a_lease_that_was_not_renewed_is_free_case_61(ledger, rows):
    """Case 61: the holder is an incarnation (a fresh uuid), never a name that a successor could share."""
    await rows.connection.execute("update destination set lease_until = clock_timestamp() - interval '1 second'")
    assert (await ledger.lease(DESTINATION, OTHER, 30)).held


async def test_many_processes_ask_at_once_and_one_gets_it(database, ledger):
    await ledger.release(DESTINATION, ME)
    held = await asyncio.gather(*(ledger.lease(DESTINATION, uuid4(), 30) for _ in range(8)))
    assert sum(lease.held for lease in held) == 1


async def test_lease_tells_pause_block_and_counts(ledger, rows):
    lead = await rows.new()
    batch = await take(ledger, lead)
    await ledger.settle(batch, Answer((), calls=3), [Failed(lead, "BAD", "no")], ME)
    await ledger.block(DESTINATION, 30, "503")
    lease = await ledger.lease(DESTINATION, ME, 30)
    assert (lease.failures, lease.failed_hour, lease.calls_day, lease.paused) == (1, 1, 3, None)
    assert lease.blocked_until is not None
    assert timedelta(seconds=20) < lease.blocked_until - lease.now < timedelta(seconds=31)


async def test_the_ceiling_pauses_with_a_reason_and_counts_anew_after_it(ledger, rows):
    lead = await rows.new()
    await ledger.settle(await take(ledger, lead), Answer(()), [Failed(lead, "BAD", "no")], ME)
    await ledger.block(DESTINATION, None, "too many failed writes")
    lease = await ledger.lease(DESTINATION, ME, 30)
    assert lease.paused == "too many failed writes"
    assert lease.failed_hour == 0  # whoever resumes is not stopped again by what they have just looked at
    assert await rows.connection.fetchval("select reason from history where verb = 'pause'") == "too many failed writes"
    await ledger.block(DESTINATION, None, "again")  # already paused: the first reason stands, one row of history
    assert await rows.connection.fetchval("select count(*) from history") == 1


@pytest.mark.parametrize(
    "sql",
    [
        "update destination set lease_holder = gen_random_uuid()",
        "update destination set lease_until = clock_timestamp() - interval '1 ms'",
        "update destination set paused_at = clock_timestamp(), paused_by = 'eve'",
        "update destination set blocked_until = clock_timestamp() + interval '1 minute'",
    ],
)
async def test_nothing_is_taken_without_the_lease_or_while_stopped(ledger, rows, sql):
    lead = await rows.new()
    await rows.connection.execute(sql)
    assert await ledger.take(DESTINATION, ME, [lead], 60) is None
    assert (await rows.change(lead))["state"] == "pending"


# ---- take -------------------------------------------------------------------------------------------------------


async def test_take_hands_out_everything_an_encoder_needs(ledger, rows):
    acme = await rows.account("acme.com")
    lead = await rows.new(fields={"email": "jane@acme.com", "phone": None}, account=acme, age=60)
    batch = await take(ledger, lead)
    (record,) = batch.records
    assert record.fields == {"email": "jane@acme.com", "phone": None}
    assert (record.owner, record.owner_kind) == ("ann", "rep")
    assert (record.account, record.account_key) == (acme, "acme.com")
    assert (record.version, record.attempt, record.record_id, record.confirmed) == (1, 1, None, None)
    assert record.key.startswith("ft-")
    row = await rows.change(lead)
    assert (row["state"], row["sent_version"], row["batch_id"]) == ("in_flight", 1, batch.id)
    assert row["first_event_at"] is None  # it moved into the write
    (write,) = await rows.writes(lead)
    assert write["oldest_event_at"] == record.oldest_event_at


async def test_taking_what_is_gone_takes_nothing(ledger, rows):
    lead = await rows.new()
    await take(ledger, lead)
    assert await ledger.take(DESTINATION, ME, [lead, 12345], 60) is None
    assert await rows.connection.fetchval("select count(*) from batch") == 1


async def test_a_merged_lead_is_never_sent(ledger, rows):
    older, younger = await rows.new(), await rows.new()
    await rows.connection.execute("update lead set merged_into = $1 where id = $2", older, younger)
    assert {row.lead for row in (await ledger.pending(DESTINATION, 10)).rows} == {older}
    batch = await take(ledger, older, younger)
    assert [record.lead for record in batch.records] == [older]


async def test_owner_goes_out_only_with_an_assignment(ledger, rows):
    lead = await rows.new()
    await settle_done(ledger, await take(ledger, lead))
    await rows.changed(lead)  # enrichment
    (record,) = (await take(ledger, lead)).records
    assert record.owner is None
    assert (record.version, record.record_id, record.confirmed) == (2, f"00Q{lead}", {"Email": "jane@acme.com"})


async def test_owner_that_was_never_confirmed_goes_out_again(ledger, rows):
    lead = await rows.new()
    batch = await take(ledger, lead)
    await rows.changed(lead)  # enrichment, while in flight
    await ledger.settle(batch, Answer(()), [RetryAt(lead, 0, "X", "later", counts=True)], ME)
    (record,) = (await take(ledger, lead)).records
    assert (record.owner, record.version, record.attempt) == ("ann", 2, 2)


@pytest.mark.parametrize(
    ("lead", "owner"),
    [
        ({"status": "held"}, "00GQUEUE"),
        ({"status": "parked", "park": {DESTINATION: "00GJUNK"}}, "00GJUNK"),
        ({"status": "held", "pool": "apac"}, None),
    ],
)
async def test_held_and_parked_leads_go_out_under_their_queue(ledger, rows, lead, owner):
    (record,) = (await take(ledger, await rows.new(**lead))).records
    assert (record.owner, record.owner_kind) == (owner, "raw")


async def test_records_are_sorted_by_account_and_age_case_79(ledger, rows):
    """Case 79: the order inside a group is kept. Case 80: leads without account come last, each on its own."""
    one, two = await rows.account("a.com"), await rows.account("b.com")
    young = await rows.new(account=two, age=1)
    alone = await rows.new(age=99)
    old = await rows.new(account=two, age=50)
    first = await rows.new(account=one, age=2)
    batch = await take(ledger, young, alone, old, first)
    assert [record.lead for record in batch.records] == [first, old, young, alone]


async def test_an_account_is_in_one_request_only_case_78(ledger, rows):
    """Case 78: whoever asks, a lead of an account that is in a request is not taken into another."""
    acme = await rows.account("acme.com")
    first, second, alone = await rows.new(account=acme), await rows.new(account=acme), await rows.new()
    batch = await take(ledger, first)
    pending = await ledger.pending(DESTINATION, 10)
    assert (pending.busy, pending.in_flight) == ({acme}, 1)
    assert {row.lead for row in pending.rows} == {alone}
    assert [record.lead for record in (await take(ledger, second, alone)).records] == [alone]
    await settle_done(ledger, batch)
    assert [record.lead for record in (await take(ledger, second)).records] == [second]


async def test_accounts_joined_while_in_flight_are_one(ledger, rows):
    older, younger = await rows.account("acme.com"), await rows.account("acme.de")
    flying, waiting = await rows.new(account=younger), await rows.new(account=older)
    await take(ledger, flying)
    await rows.connection.execute("update account set merged_into = $1 where id = $2", older, younger)
    assert (await ledger.pending(DESTINATION, 10)).busy == {older}
    assert await ledger.take(DESTINATION, ME, [waiting], 60) is None


async def test_a_lead_that_changes_its_account_in_flight_still_holds_the_old_one(ledger, rows):
    old, new = await rows.account("old.com"), await rows.account("new.com")
    lead, colleague = await rows.new(account=old), await rows.new(account=old)
    await take(ledger, lead)
    await rows.connection.execute("update lead set account_id = $1 where id = $2", new, lead)
    await rows.connection.execute("update change set account_id = $1 where lead_id = $2", new, lead)
    assert (await ledger.pending(DESTINATION, 10)).busy == {old}
    assert await ledger.take(DESTINATION, ME, [colleague], 60) is None


async def test_two_takes_at_once_share_no_lead_and_no_account(ledger, rows):
    acme = await rows.account("acme.com")
    leads = [await rows.new(account=acme) for _ in range(5)] + [await rows.new() for _ in range(20)]
    batches = await asyncio.gather(*(ledger.take(DESTINATION, ME, leads, 60) for _ in range(4)))
    taken = [record.lead for batch in batches if batch for record in batch.records]
    assert sorted(taken) == sorted(leads)


async def test_a_take_does_not_wait_for_route(ledger, rows, database):
    """Route holds a lead: the others leave now, that one with the next request."""
    busy, free = await rows.new(), await rows.new()
    other = await asyncpg.connect(database)
    transaction = other.transaction()
    await transaction.start()
    await other.execute("select 1 from lead where id = $1 for update", busy)
    async with asyncio.timeout(5):
        batch = await take(ledger, busy, free)
    assert [record.lead for record in batch.records] == [free]
    await transaction.rollback()
    await other.close()
    assert [record.lead for record in (await take(ledger, busy)).records] == [busy]


# ---- pending ----------------------------------------------------------------------------------------------------


async def test_pending_is_by_priority_then_age(ledger, rows):
    bulk = await rows.new(priority="bulk", age=100)
    young, old = await rows.new(age=1), await rows.new(age=50)
    high = await rows.new(priority="high", age=0)
    assert [row.lead for row in (await ledger.pending(DESTINATION, 10)).rows] == [high, old, young, bulk]
    assert [row.lead for row in (await ledger.pending(DESTINATION, 2)).rows] == [high, old]


async def test_rows_that_wait_for_their_retry_do_not_hide_the_others_case_106(ledger, rows):
    """Case 106: 100 that keep failing, a page of 100, then 10 good ones: the 10 are in the next page. The one that is
    due next is told of, so that somebody wakes up for it."""
    hopeless = [await rows.new(age=500) for _ in range(100)]
    batch = await take(ledger, *hopeless)
    verdicts = [RetryAt(lead, 30 + lead, "LOCK", "busy", counts=True) for lead in hopeless]
    assert await ledger.settle(batch, Answer(()), verdicts, ME) == 100
    good = [await rows.new(age=1) for _ in range(10)]
    pending = await ledger.pending(DESTINATION, 100)
    ripe, (due,) = pending.rows[:-1], pending.rows[-1:]
    assert {row.lead for row in ripe} == set(good)
    assert due.lead == hopeless[0]
    assert due.due_at > pending.now
    row = await rows.change(hopeless[0])
    assert row["attempts"] == 1
    assert pending.now - row["first_event_at"] > timedelta(seconds=499)  # its age survives


async def test_a_busy_account_does_not_hide_the_others_case_80(ledger, rows):
    acme = await rows.account("acme.com")
    crowd = [await rows.new(account=acme, age=500) for _ in range(30)]
    await take(ledger, crowd[0])
    alone = await rows.new(age=1)
    assert [row.lead for row in (await ledger.pending(DESTINATION, 5)).rows] == [alone]


# ---- settle -----------------------------------------------------------------------------------------------------


async def test_done_is_confirmed_and_the_attempts_are_forgotten(ledger, rows):
    lead = await rows.new()
    await ledger.settle(await take(ledger, lead), Answer(()), [RetryAt(lead, 0, "LOCK", "busy", counts=True)], ME)
    batch = await take(ledger, lead)
    assert await settle_done(ledger, batch) == 1
    row = await rows.change(lead)
    assert (row["state"], row["confirmed"], row["owner_confirmed"], row["attempts"]) == ("done", 1, 1, 0)
    assert (row["record"], row["record_id"], row["first_event_at"]) == ({"Email": "jane@acme.com"}, f"00Q{lead}", None)
    assert (row["code"], row["message"], row["cause"], row["first_try_at"]) == (None, None, None, None)
    write = (await rows.writes(lead))[-1]
    assert (write["outcome"], write["record_id"], write["created"], write["owner"]) == (
        "written",
        f"00Q{lead}",
        True,
        "ann",
    )
    assert write["answered_at"] is not None
    assert await rows.connection.fetchval("select settled_at from batch where id = $1", batch.id) is not None


async def test_a_verdict_counts_for_the_version_that_was_sent(ledger, rows):
    """An event is merged while its lead is in flight, and the answer is about the older version."""
    lead = await rows.new()
    batch = await take(ledger, lead)
    await rows.changed(lead, age=3)
    before = await rows.change(lead)
    assert (before["state"], before["version"], before["sent_version"]) == ("in_flight", 2, 1)
    await settle_done(ledger, batch)
    row = await rows.change(lead)
    assert (row["state"], row["version"], row["confirmed"]) == ("pending", 2, 1)
    assert row["first_event_at"] == before["first_event_at"]  # its own: the older events are in the CRM


async def test_an_owner_assigned_in_flight_stays_due(ledger, rows):
    lead = await rows.new()
    batch = await take(ledger, lead)
    await rows.changed(lead, owner=True)  # reassigned
    await settle_done(ledger, batch)
    row = await rows.change(lead)
    assert (row["owner_version"], row["owner_confirmed"]) == (2, 1)
    (record,) = (await take(ledger, lead)).records
    assert record.owner == "ann"


async def test_retry_keeps_its_age_and_says_why_it_waits(ledger, rows):
    lead = await rows.new(age=100)
    batch = await take(ledger, lead)
    await rows.changed(lead, age=1)
    await ledger.settle(batch, Answer(()), [RetryAt(lead, 30, "503", "down for maintenance", counts=False)], ME)
    row = await rows.change(lead)
    assert (row["state"], row["attempts"], row["cause"]) == ("pending", 0, "down for maintenance")
    assert row["first_event_at"] == batch.records[0].oldest_event_at
    assert await ledger.take(DESTINATION, ME, [lead], 60) is None  # not due


async def test_failed_keeps_the_words_of_the_crm_and_waits_for_a_person(ledger, rows):
    lead = await rows.new()
    batch = await take(ledger, lead)
    answer = Answer((Refused(batch.records[0].key, "STRING_TOO_LONG", "City: data value too large"),))
    await ledger.settle(batch, answer, [Failed(lead, "STRING_TOO_LONG", "City: data value too large")], ME)
    row = await rows.change(lead)
    assert (row["state"], row["code"], row["message"]) == ("failed", "STRING_TOO_LONG", "City: data value too large")
    assert row["first_event_at"] is not None  # kept for a replay
    assert (await rows.writes(lead))[0]["outcome"] == "refused"
    assert (await ledger.pending(DESTINATION, 10)).rows == ()


async def test_a_refused_older_version_does_not_fail_the_newer(ledger, rows):
    lead = await rows.new()
    batch = await take(ledger, lead)
    await rows.changed(lead)
    await ledger.settle(batch, Answer(()), [Failed(lead, "INVALID_EMAIL_ADDRESS", "no")], ME)
    row = await rows.change(lead)
    assert (row["state"], row["attempts"], row["failed_at"]) == ("pending", 0, None)


async def test_attempts_survive_a_new_process_case_105(ledger, rows):
    """Case 105: the count is in the row, written by the path that sends."""
    lead = await rows.new()
    for attempt in (1, 2, 3):
        holder = uuid4()
        await rows.connection.execute("update destination set lease_until = null")
        await ledger.lease(DESTINATION, holder, 30)
        batch = await take(ledger, lead, holder=holder)
        assert batch.records[0].attempt == attempt
        await ledger.settle(batch, Answer(()), [RetryAt(lead, 0, "403", "no", counts=True)], holder)


async def test_shadow_records_what_would_have_been_sent_and_confirms_nothing(ledger, rows):
    lead = await rows.new(mode="shadow")
    batch = await take(ledger, lead)
    (record,) = batch.records
    assert record.shadow
    answer = Answer((), {record.key: {"Email": "jane@acme.com"}}, calls=0, shadow=frozenset({record.key}))
    await ledger.settle(batch, answer, [Done(lead, "", None, {"Email": "jane@acme.com"})], ME)
    row = await rows.change(lead)
    assert (row["state"], row["confirmed"], row["record"], row["owner_confirmed"]) == ("done", 0, None, 0)
    (write,) = await rows.writes(lead)
    assert (write["outcome"], write["record"]) == ("shadow", {"Email": "jane@acme.com"})
    assert await rows.connection.fetchval("select shadow from batch where id = $1", batch.id)


async def test_confirmed_fields_add_up(ledger, rows):
    lead = await rows.new()
    batch = await take(ledger, lead)
    await ledger.settle(batch, written(batch), done(batch, OwnerId="005A", City="Kiel"), ME)
    await rows.changed(lead)
    batch = await take(ledger, lead)
    await ledger.settle(batch, written(batch), done(batch, City="Bonn"), ME)
    assert (await rows.change(lead))["record"] == {"OwnerId": "005A", "City": "Bonn"}


# ---- lost leases, lost processes --------------------------------------------------------------------------------


async def test_rows_of_a_dead_process_come_back_after_their_deadline_case_60(ledger, rows):
    """Case 60: kill -9 with rows in a request. Not before the deadline: the CRM may still be working on it."""
    lead = await rows.new(age=100)
    batch = await take(ledger, lead)
    assert await ledger.recover(DESTINATION) == 0
    await rows.connection.execute("update batch set deadline = clock_timestamp() - interval '1 ms'")
    assert await ledger.recover(DESTINATION) == 1
    assert await ledger.recover(DESTINATION) == 0
    row = await rows.change(lead)
    assert (row["state"], row["attempts"], row["first_event_at"]) == ("pending", 0, batch.records[0].oldest_event_at)
    assert (await rows.writes(lead))[0]["outcome"] == "unknown"
    (record,) = (await take(ledger, lead)).records
    assert record.owner == "ann"


async def test_a_settle_after_the_rows_were_taken_from_us_changes_nothing(ledger, rows):
    """SIGSTOP for longer than lease and deadline: another process has sent the lead since."""
    lead = await rows.new()
    late = await take(ledger, lead)
    await rows.connection.execute("update batch set deadline = clock_timestamp() - interval '1 ms'")
    await rows.connection.execute("update destination set lease_until = clock_timestamp() - interval '1 ms'")
    await ledger.lease(DESTINATION, OTHER, 30)
    await ledger.recover(DESTINATION)
    again = await take(ledger, lead, holder=OTHER)
    assert await ledger.settle(late, Answer(()), [Failed(lead, "BAD", "no")], ME) == 0
    row = await rows.change(lead)
    assert (row["state"], row["batch_id"]) == ("in_flight", again.id)
    assert await settle_done(ledger, again, OTHER) == 1
    assert await settle_done(ledger, again, OTHER) == 0  # twice is once


async def test_an_answer_is_kept_although_the_lease_was_lost(ledger, rows):
    """Until the deadline nobody else can have these rows; dropping the answer would send the version twice."""
    lead = await rows.new()
    batch = await take(ledger, lead)
    await rows.connection.execute("update destination set lease_until = clock_timestamp() - interval '1 ms'")
    await ledger.lease(DESTINATION, OTHER, 30)
    assert await settle_done(ledger, batch) == 1
    assert (await rows.change(lead))["state"] == "done"


async def test_a_stranger_settles_nothing(ledger, rows):
    lead = await rows.new()
    batch = await take(ledger, lead)
    assert await settle_done(ledger, batch, OTHER) == 0
    assert (await rows.change(lead))["state"] == "in_flight"


async def test_settle_and_route_at_the_same_row(ledger, rows, database):
    """Route has merged an event and not committed; the settle waits for it and then sees the newer version."""
    lead = await rows.new()
    batch = await take(ledger, lead)
    other = await asyncpg.connect(database)
    transaction = other.transaction()
    await transaction.start()
    await Rows(other).changed(lead)
    settling = asyncio.create_task(settle_done(ledger, batch))
    while not await rows.connection.fetchval("select count(*) from pg_locks where not granted"):  # noqa: ASYNC110 (PostgreSQL tells nobody that somebody waits)
        await asyncio.sleep(0.01)
    await transaction.commit()
    await other.close()
    assert await settling == 1
    row = await rows.change(lead)
    assert (row["state"], row["version"], row["confirmed"]) == ("pending", 2, 1)


# ---- block, pin -------------------------------------------------------------------------------------------------


async def test_an_answer_of_an_earlier_request_does_not_lift_a_block(ledger, rows):
    first, second = await rows.new(), await rows.new()
    batches = [await take(ledger, first), await take(ledger, second)]
    await ledger.block(DESTINATION, 60, "TotalRequests Limit exceeded.")
    await settle_done(ledger, batches[0])
    assert (await ledger.lease(DESTINATION, ME, 30)).failures == 1
    await rows.connection.execute("update destination set blocked_until = clock_timestamp()")
    await settle_done(ledger, batches[1])
    lease = await ledger.lease(DESTINATION, ME, 30)
    assert (lease.failures, lease.blocked_until) == (0, None)


async def test_blocks_do_not_shorten_one_another(ledger):
    await ledger.block(DESTINATION, 600, "TotalRequests")
    await ledger.block(DESTINATION, 1, "503")
    lease = await ledger.lease(DESTINATION, ME, 30)
    assert lease.failures == 2
    assert lease.blocked_until is not None
    assert lease.blocked_until - lease.now > timedelta(seconds=500)


async def test_the_first_answer_pins_the_org(ledger):
    assert await ledger.pin(DESTINATION, "00DA") == "00DA"
    assert await ledger.pin(DESTINATION, "00DB") == "00DA"
    assert (await ledger.lease(DESTINATION, ME, 30)).org == "00DA"


async def test_in_equals_out_for_any_mix_of_verdicts_case_100(ledger, rows):
    """Case 100: whatever the answer holds, each row ends in exactly one state and none is left in flight."""
    leads = [await rows.new() for _ in range(6)]
    batch = await take(ledger, *leads)
    keys = [record.key for record in batch.records]
    answer = Answer(
        (
            Written(keys[0], "00Q1"),
            Refused(keys[1], "BAD", "no"),
            Later(keys[2], None, "record", "LOCK", "busy"),
            Unknown(keys[3], "?"),
        ),
        {keys[0]: {"City": "Kiel"}, keys[4]: {"City": "Kiel"}},
        same=frozenset({keys[4]}),
    )
    answer = replace(answer, outcomes=(*answer.outcomes, Written(keys[4], "00Q5")))
    verdicts = [
        Done(leads[0], "00Q1", None, {}),
        Failed(leads[1], "BAD", "no"),
        RetryAt(leads[2], 1, "LOCK", "busy", counts=True),
        RetryAt(leads[3], 1, "UNKNOWN", "?", counts=True),
        Done(leads[4], "00Q5", None, {}),
        RetryAt(leads[5], 1, "UNKNOWN", "not mentioned", counts=True),
    ]
    assert await ledger.settle(batch, answer, verdicts, ME) == 6
    states = [(await rows.change(lead))["state"] for lead in leads]
    assert states == ["done", "failed", "pending", "pending", "done", "pending"]
    outcomes = [(await rows.writes(lead))[0]["outcome"] for lead in leads]
    assert outcomes == ["written", "refused", "later", "unknown", "same", "unknown"]


async def test_a_take_never_pairs_a_new_version_with_old_fields(ledger, rows, database):
    """Route commits fields and version together, at any moment of a take: what is sent is what the version stands for.

    With lock and read in one statement, the version came from the locked row and the fields from before the lock.
    """
    route = await asyncpg.connect(database)
    leads = [await rows.new(fields={"n": 1}) for _ in range(25)]

    async def merge(version: int) -> None:
        async with route.transaction():
            await route.execute(
                "update lead set fields = jsonb_build_object('n', jsonb_build_array($1::int, 0, 0, ''))", version
            )
            await route.execute(
                "update change set version = $1, first_event_at = coalesce(first_event_at, now())", version
            )

    for version in range(2, 60):
        _, batch = await asyncio.gather(merge(version), ledger.take(DESTINATION, ME, leads, 60))
        for record in batch.records if batch else ():
            assert record.fields["n"] == record.version
        if batch:
            await ledger.settle(
                batch, Answer(()), [RetryAt(r.lead, 0, "X", "x", counts=False) for r in batch.records], ME
            )
    await route.close()
