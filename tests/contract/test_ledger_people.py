"""The ledger on a real PostgreSQL: records that were in the CRM already, and what the CRM would not take."""

from uuid import uuid4

import asyncpg
import orjson
import pytest

from fairturn.decide.outgoing import owner_rule
from fairturn.decide.sizing import Size
from fairturn.model import Answer, Batch, Done, Failed, Later, RetryAt, Unknown, Written
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.ledger import PostgresLedger
from tests.contract.ledger_rows import DESTINATION, Rows

ME, OTHER = uuid4(), uuid4()
LONG_AGO = "clock_timestamp() - interval '11 minutes'"


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
        ledger = PostgresLedger(opened, owner_rule({}))
        await ledger.lease(DESTINATION, ME, 30)
        yield ledger


async def take(ledger, *leads, holder=ME) -> Batch:
    batch = await ledger.take(DESTINATION, holder, leads, 60)
    assert batch is not None
    return batch


async def adopted(rows, **columns):
    """A lead whose person was in the CRM already, as route leaves it."""
    lead = await rows.new()
    given = {"record_id": "00QOLD", "record_type": "Lead", "owner": "005QUEUE"} | columns
    names = ", ".join(f"{name} = ${place}" for place, name in enumerate(given, 2))
    await rows.connection.execute(
        f'update change set {names}, found = \'{{"City": "Kiel"}}\', found_at = clock_timestamp() where lead_id = $1',
        lead,
        *given.values(),
    )
    return lead


async def settle(ledger, batch, *outcomes, records=None, **answer):
    """As deliver does: one verdict for one outcome."""
    sent = records or {record.key: {"Email": "jane@acme.com"} for record in batch.records}
    said = Answer(outcomes, sent, **answer)
    found = [
        Done(r.lead, o.record_id, o.created, sent[r.key], r.record_id not in (None, o.record_id), o.object_type,
             o.without, o.owner_stands)
        for r, o in zip(batch.records, outcomes, strict=True)
    ]  # fmt: skip
    assert await ledger.settle(batch, said, found, ME) == len(outcomes)


# ---- what an encoder is told ------------------------------------------------------------------------------------


async def test_a_record_that_was_there_is_written_by_its_id(ledger, rows):
    (record,) = (await take(ledger, await adopted(rows))).records
    assert (record.record_id, record.object_type, record.owner_known) == ("00QOLD", "Lead", "005QUEUE")
    assert (record.found, record.confirmed, record.reread, record.refused) == ({"City": "Kiel"}, None, False, {})


async def test_pending_tells_the_object(ledger, rows):
    await adopted(rows, record_type="Contact")
    await rows.new(age=5)
    assert [row.object_type for row in (await ledger.pending(DESTINATION, 10)).rows] == ["Contact", None]


async def test_a_mapping_may_tell_how_a_lead_came_to_its_owner(ledger, rows):
    lead = await rows.new()
    c = rows.connection
    await c.execute("insert into pool (id, seq, given) values ('emea', 7, 7)")
    sql = """insert into assignment (pool_id, seq, kind, rep_id, lead_id, rule_id, reason, actor, at)
             values ($1, $2, $3, 'ann', $4, 'smb', 'her account', 'route', '2026-03-02 10:00:00.25+01')"""
    await c.execute(sql, "emea", 7, "kept", lead)
    await c.execute("update lead set rule_id = 'smb', created_at = '2026-03-01 12:00+00' where id = $1", lead)
    (record,) = (await take(ledger, lead)).records
    assert record.assignment == {
        "id": "emea#7",
        "rule": "smb",
        "pool": "emea",
        "reason": "her account",
        "assigned_at": "2026-03-02T09:00:00.250Z",
        "received_at": "2026-03-01T12:00:00.000Z",
    }
    owned = await rows.new(pool=None)
    await c.execute(sql, None, None, "owner", owned)
    number = await c.fetchval("select id from assignment where lead_id = $1", owned)
    (record,) = (await take(ledger, owned)).records
    assert (record.assignment["id"], record.assignment["pool"]) == (str(number), None)


async def test_a_lead_without_an_assignment_tells_its_rule_and_why(ledger, rows):
    lead = await rows.new(status="held")
    await rows.connection.execute("update lead set rule_id = 'smb', reason = 'nobody is on shift' where id = $1", lead)
    (record,) = (await take(ledger, lead)).records
    assert (record.assignment["id"], record.assignment["rule"]) == (None, "smb")
    assert record.assignment["reason"] == "nobody is on shift"


# ---- what is too old to build on --------------------------------------------------------------------------------


async def test_what_was_read_long_ago_is_read_again(ledger, rows):
    lead = await adopted(rows)
    await rows.connection.execute(f"update change set found_at = {LONG_AGO}")
    (record,) = (await take(ledger, lead)).records
    assert record.reread


async def test_a_new_record_is_not_looked_for_before_its_first_write(ledger, rows):
    lead = await rows.new()
    await rows.connection.execute(f"update change set owner_at = {LONG_AGO}")  # an outage before it could leave
    (record,) = (await take(ledger, lead)).records
    assert not record.reread


async def test_what_the_crm_refused_is_not_looked_for_and_what_may_have_been_made_is(ledger, rows):
    """A record that may be there already is written as one that is: nothing of it goes back."""
    lead = await rows.new()
    batch = await take(ledger, lead)
    key = batch.records[0].key
    later = [RetryAt(lead, 0, "UNABLE_TO_LOCK_ROW", "?", counts=True)]
    await ledger.settle(batch, Answer((Later(key, None, "record", "UNABLE_TO_LOCK_ROW", "?"),)), later, ME)
    batch = await take(ledger, lead)
    assert (batch.records[0].reread, batch.records[0].confirmed) == (False, None)
    sent = {key: {"Rating": "Hot"}}
    unknown = [RetryAt(lead, 0, "UNKNOWN", "?", counts=False)]
    await ledger.settle(batch, Answer((Unknown(key, "reset"),), records=sent), unknown, ME)
    batch = await take(ledger, lead)
    assert (batch.records[0].reread, batch.records[0].confirmed) == (False, sent[key])  # the same again does no harm
    await ledger.settle(batch, Answer((Unknown(key, "reset"),), records=sent), unknown, ME)
    await rows.changed(lead)
    batch = await take(ledger, lead)
    assert (batch.records[0].reread, batch.records[0].confirmed) == (True, sent[key])
    await settle(ledger, batch, Written(key, "00QNEW", created=True), records=sent)
    await rows.changed(lead)
    (record,) = (await take(ledger, lead)).records
    assert not record.reread


async def test_the_owner_of_somebody_elses_record_that_a_write_ran_into_stands(ledger, rows):
    """It was to be a new one, and the CRM said that the person is there: that record was never ours."""
    lead = await rows.new()
    batch = await take(ledger, lead)
    key = batch.records[0].key
    unknown = [RetryAt(lead, 0, "UNKNOWN", "?", counts=False)]
    await ledger.settle(batch, Answer((Unknown(key, "reset"),)), unknown, ME)
    batch = await take(ledger, lead)
    there = {"owners": {key: "005OLGA"}, "found": {key: {"Fairturn_Id__c": None}}}
    await settle(ledger, batch, Written(key, "00QOLD", created=False, owner_stands="005OLGA"), **there)
    row = await rows.change(lead)
    assert (row["state"], row["owner_confirmed"] == row["owner_version"]) == ("done", True)
    assert (await rows.writes(lead))[-1]["owner_stands"] == "005OLGA"


async def test_a_retry_of_an_old_assignment_looks_first(ledger, rows):
    """It was sent before, perhaps it was written, and somebody may have taken the person since."""
    lead = await rows.new()
    batch = await take(ledger, lead)
    later = [RetryAt(lead, 0, "UNABLE_TO_LOCK_ROW", "?", counts=True)]
    await ledger.settle(batch, Answer((Later(batch.records[0].key, None, "record", "LOCK", "?"),)), later, ME)
    batch = await take(ledger, lead)
    assert not batch.records[0].reread
    await ledger.settle(batch, Answer((Later(batch.records[0].key, None, "record", "LOCK", "?"),)), later, ME)
    await rows.connection.execute(f"update change set owner_at = {LONG_AGO}")
    (record,) = (await take(ledger, lead)).records
    assert record.reread


# ---- what is known after a write --------------------------------------------------------------------------------


async def test_what_was_read_and_over_it_what_was_written(ledger, rows):
    lead = await adopted(rows)
    batch = await take(ledger, lead)
    key = batch.records[0].key
    said = {"City": "Bonn", "Title": "VP", "Phone": "1\0"}
    await settle(
        ledger, batch, Written(key, "00QOLD", False), records={key: {"City": "Köln"}}, found={key: said},
        owners={key: "005ANN"},
    )  # fmt: skip
    row = await rows.change(lead)
    assert row["found"] == {"City": "Köln", "Title": "VP", "Phone": "1\ufffd"}
    assert (row["record"], row["owner"], row["record_type"]) == ({"City": "Köln"}, "005ANN", "Lead")


async def test_a_failed_write_teaches_nothing_of_the_record(ledger, rows):
    """An owner that was read and then not judged must not count as known: the next attempt would write over it."""
    lead = await adopted(rows)
    before = await rows.change(lead)
    for verdict in (RetryAt(lead, 0, "503", "down", counts=False), Failed(lead, "BAD", "no")):
        batch = await take(ledger, lead)
        key = batch.records[0].key
        answer = Answer((), {}, found={key: {"City": "Bonn"}}, owners={key: "005BOB"})
        await ledger.settle(batch, answer, [verdict], ME)
        after = await rows.change(lead)
        for column in ("found", "found_at", "owner", "without", "refused"):
            assert after[column] == before[column]


async def test_what_was_not_sent_makes_nothing_younger(ledger, rows):
    lead = await adopted(rows)
    before = await rows.change(lead)
    batch = await take(ledger, lead)
    key = batch.records[0].key
    await settle(ledger, batch, Written(key, "00QOLD", False), records={key: {}}, same=frozenset({key}))
    assert (await rows.change(lead))["found_at"] == before["found_at"]


async def test_another_record_starts_anew(ledger, rows):
    lead = await adopted(rows, record_type="Contact")
    batch = await take(ledger, lead)
    key = batch.records[0].key
    await settle(ledger, batch, Written(key, "00QNEW", True), owners={key: "005ME"})
    row = await rows.change(lead)
    assert (row["record_id"], row["record_type"], row["owner"]) == ("00QNEW", None, "005ME")
    assert row["found"] == row["record"] == {"Email": "jane@acme.com"}


# ---- without a field --------------------------------------------------------------------------------------------


async def test_fields_that_were_not_taken_are_kept_until_they_are(ledger, rows):
    lead = await rows.new()
    batch = await take(ledger, lead)
    key = batch.records[0].key
    words = {"Rating": "bad value: Lukewarm\0", "Title": "no such column"}
    await settle(ledger, batch, Written(key, "00Q1", True, without=words), refused={key: {"Rating": "Lukewarm"}})
    (write,) = await rows.writes(lead)
    assert write["without"] == {"Rating": "bad value: Lukewarm\ufffd", "Title": "no such column"}

    await rows.changed(lead)
    batch = await take(ledger, lead)
    assert batch.records[0].refused == {"Rating": "Lukewarm"}
    await settle(ledger, batch, Written(key, "00Q1", False), records={key: {"City": "Kiel"}})
    row = await rows.change(lead)
    assert (set(row["without"]), row["refused"]) == ({"Rating", "Title"}, {"Rating": "Lukewarm"})  # not sent since

    await rows.changed(lead)
    batch = await take(ledger, lead)
    await settle(ledger, batch, Written(key, "00Q1", False), records={key: {"Rating": "Warm", "Title": "VP"}})
    row = await rows.change(lead)
    assert (row["without"], row["refused"]) == (None, None)


# ---- an owner who stands ----------------------------------------------------------------------------------------


async def test_an_owner_set_by_somebody_else_stands(ledger, rows):
    lead = await adopted(rows)
    await rows.connection.execute(f"update change set owner_at = {LONG_AGO}, found_at = {LONG_AGO}")
    batch = await take(ledger, lead)
    key = batch.records[0].key
    await settle(ledger, batch, Written(key, "00QOLD", False, owner_stands="005BOB"), owners={key: "005BOB"})
    row = await rows.change(lead)
    assert (row["state"], row["owner"], row["owner_version"] == row["owner_confirmed"]) == ("done", "005BOB", True)
    (write,) = await rows.writes(lead)
    assert (write["owner"], write["owner_stands"]) == (None, "005BOB")


async def assigned_by(rows, lead, actor):
    sql = """insert into assignment (kind, rep_id, lead_id, reason, actor) values ('owner', 'ann', $1, 'hers', $2)"""
    await rows.connection.execute(sql, lead, actor)


@pytest.mark.parametrize("actor", ["route-1", "sync", "fairturn"])
async def test_a_turn_just_now_takes_the_lead_from_nobody_who_took_it_before(ledger, rows, actor):
    """It was held, somebody took it out of the queue in the CRM, and then a rep was back."""
    lead = await adopted(rows)
    await rows.connection.execute("update change set found_at = owner_at - interval '2 minutes'")
    await assigned_by(rows, lead, actor)
    batch = await take(ledger, lead)
    key = batch.records[0].key
    assert batch.records[0].reread
    await settle(ledger, batch, Written(key, "00QOLD", False, owner_stands="005BOB"), owners={key: "005BOB"})
    row = await rows.change(lead)
    assert (row["state"], row["owner"], row["owner_version"] == row["owner_confirmed"]) == ("done", "005BOB", True)
    assert (await rows.writes(lead))[0]["owner_stands"] == "005BOB"


async def test_an_assignment_that_a_person_made_just_now_is_newer_than_theirs(ledger, rows):
    """Somebody took the lead last week, and today it is reassigned here: only what we knew of the owner was old."""
    lead = await adopted(rows)
    await assigned_by(rows, lead, "olga")
    await rows.connection.execute(f"update change set found_at = {LONG_AGO}")
    batch = await take(ledger, lead)
    key = batch.records[0].key
    assert batch.records[0].reread
    await settle(ledger, batch, Written(key, "00QOLD", False, owner_stands="005BOB"), owners={key: "005BOB"})
    assert (await rows.writes(lead))[0]["owner_stands"] is None
    (record,) = (await take(ledger, lead)).records
    assert (record.owner, record.owner_known, record.reread) == ("ann", "005BOB", False)


# ---- what is learnt of the org ----------------------------------------------------------------------------------


async def test_sizes_are_there_for_whoever_holds_the_lease_next(ledger, rows):
    await ledger.learn(DESTINATION, {"Lead": Size(25, 50, 1.5), "Contact": Size(100)})
    await ledger.release(DESTINATION, ME)
    lease = await ledger.lease(DESTINATION, OTHER, 30)
    assert lease.sizes == {"Lead": Size(25, 50, 1.5), "Contact": Size(100)}


async def test_a_login_that_was_refused_is_tried_again_by_whoever_starts_anew(ledger, rows):
    """With the right secret, say; nobody waits five minutes for it."""
    await ledger.block(DESTINATION, 300, "LoginRefused: invalid client", person=True)
    assert (await ledger.lease(DESTINATION, ME, 30)).blocked_until is not None  # the same process learns nothing new
    await ledger.release(DESTINATION, ME)
    lease = await ledger.lease(DESTINATION, OTHER, 30)
    assert (lease.blocked_until, lease.failures) == (None, 1)
    lead = await rows.new()
    assert await ledger.take(DESTINATION, OTHER, [lead], 60) is not None


async def test_a_limit_is_waited_for_whoever_holds_the_lease(ledger, rows):
    await ledger.block(DESTINATION, 300, "LoginRefused: invalid client", person=True)
    await ledger.block(DESTINATION, 900, "REQUEST_LIMIT_EXCEEDED: TotalRequests")
    await ledger.release(DESTINATION, ME)
    assert (await ledger.lease(DESTINATION, OTHER, 30)).blocked_until is not None
