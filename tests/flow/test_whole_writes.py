"""What the CRM refuses, loses, has twice or has given away, and what becomes of the lead and of its neighbours."""

import asyncio
import contextlib

import asyncpg

from fairturn.desk import FailedFilter
from fairturn.stores.postgres.acts import PostgresActs
from fairturn.views import By
from tests.contract.ledger_rows import DESTINATION
from tests.destinations.simulated import MAP
from tests.destinations.test_salesforce_hostile import http, server, token
from tests.flow.whole import Wholes, people, reps

OLGA = By("olga", "mended")


async def test_case_28_a_lead_deleted_in_the_crm(open_whole: Wholes) -> None:
    """Ten known leads, the fourth deleted by a person, then enriched: nine are updated, the fourth is not made again
    and stands in the list of failed writes, with what can be done; nobody waits, nobody loses a rep.
    """
    w = await open_whole(reps(["ann", "bob"]))
    await w.world.route(*people(10))
    await w.deliver()
    owners = w.owners()
    w.org.post("/edit", {"object": "Lead", "email": "p3@gmail.com", "fields": {"IsDeleted": True}})
    await w.world.route(*people(10, city="Kiel"))
    await w.deliver()
    assert await w.states() == {"done": 9, "failed": 1}
    assert [request["records"] for request in w.org.writes()] == [10, 10]
    assert {email for email, row in w.records().items() if row["City"] == "Kiel"} == set(owners) - {"p3@gmail.com"}
    (failed,) = await w.failed()
    assert (failed["email"], failed["code"], failed["attempts"]) == ("p3@gmail.com", "ENTITY_IS_DELETED", 1)
    assert "Restore it from the recycle bin" in failed["message"]
    assert len(await w.world.owners()) == 10
    await w.world.route({"email": "p4@gmail.com", "city": "Bonn"})
    await w.deliver()
    assert w.records()["p4@gmail.com"]["City"] == "Bonn"
    assert w.owners() == {email: owner for email, owner in owners.items() if email != "p3@gmail.com"}


async def test_case_28_a_lead_that_is_alone_and_deleted_stops_nobody(open_whole: Wholes) -> None:
    w = await open_whole(reps(["ann", "bob"]))
    await w.world.route(*people(1))
    await w.deliver()
    w.org.post("/edit", {"object": "Lead", "email": "p0@gmail.com", "fields": {"IsDeleted": True}})
    await w.world.route(*people(1, city="Kiel"))
    await w.deliver()
    await w.world.route(*people(3, 1))
    await w.deliver()
    assert await w.world.value("select failures from destination where id = 'crm'") == 0
    assert set(w.records()) == {"p1@gmail.com", "p2@gmail.com", "p3@gmail.com"}


async def test_case_28_a_lead_merged_into_another_that_took_its_key(open_whole: Wholes) -> None:
    """The record that stays is written to, and keeps the owner whom a person gave it."""
    w = await open_whole(reps(["ann"]))
    await w.world.route(*people(1))
    await w.deliver()
    key = await w.world.value("select external_key from change")
    master = {"LastName": "Master", "Company": "Acme", "Email": "p0@gmail.com", "Owner": "Bob"}
    (stays,) = w.org.post("/seed", {"leads": [master]})["leads"]
    (gone,) = [row["Id"] for row in w.org.get("/records/Lead")["records"] if row["Id"] != stays]
    w.org.post("/edit", {"object": "Lead", "id": gone, "fields": {"IsDeleted": True}})
    w.org.post("/edit", {"object": "Lead", "id": stays, "fields": {"Fairturn_Id__c": key}})
    await w.world.route({"email": "p0@gmail.com", "city": "Kiel"})
    await w.deliver()
    assert w.owners() == {"p0@gmail.com": "bob"}
    assert w.records()["p0@gmail.com"]["City"] == "Kiel"
    assert await w.world.value("select record_id from change") == stays
    assert len(w.org.writes()) == 3  # one was refused: the record is gone
    assert await w.world.value("select detail->>'now' from history where verb = 'new record'") == stays


async def test_case_63_a_retry_whose_time_has_passed_is_sent_after_a_restart(open_whole: Wholes) -> None:
    w = await open_whole(reps(["ann"]))
    await w.world.route(*people(1))
    await w.world.value(
        "update change set attempts = 2, first_try_at = now() - interval '3 hours', due_at = now() - interval '2 hours'"
    )
    await w.deliver()
    assert len(w.records()) == 1


async def test_case_85_two_hundred_and_one_leads_are_two_requests(open_whole: Wholes) -> None:
    w = await open_whole(reps(["ann", "bob"]))
    await w.swallows(200)
    await w.world.route(*people(201))
    await w.deliver()
    assert sorted(request["records"] for request in w.org.writes()) == [1, 200]
    wrong = await w.world.value(
        "select count(*) from change c join lead l on l.id = c.lead_id "
        "where c.record->>'Email' <> l.fields->'email'->>0 or c.record_id is null"
    )
    assert wrong == 0
    ids = {row["external_key"]: row["record_id"] for row in await w.world.fetch("select * from change")}
    assert {key: row["Id"] for key, row in w.org.leads().items()} == ids


async def test_requests_grow_from_fifty_while_the_org_swallows_them(open_whole: Wholes) -> None:
    w = await open_whole(reps(["ann", "bob"]))
    await w.world.route(*people(350))
    await w.deliver(max_slots=1)
    sizes = [request["records"] for request in w.org.writes()]
    assert sizes == [50, 100, 200]
    # A process that follows begins where this one was.
    await w.world.route(*people(200, 1000))
    await w.deliver(max_slots=1)
    assert [request["records"] for request in w.org.writes()][3:] == [200]


async def test_case_89_one_bad_address_of_a_hundred(open_whole: Wholes) -> None:
    w = await open_whole(reps(["ann", "bob"]))
    await w.swallows(200)
    events = people(100)
    events[56] = {"email": "a@b", "name": "Pat P56", "visitor": 56}
    await w.world.route(*events)
    await w.deliver()
    assert await w.states() == {"done": 99, "failed": 1}
    (failed,) = await w.failed()
    assert failed["code"] == "INVALID_EMAIL_ADDRESS"
    assert "a@b" in failed["message"]
    assert len(w.org.writes()) == 1


async def test_case_92_a_key_that_two_records_bear(open_whole: Wholes) -> None:
    """One attempt, both ids in the list of failed writes, no third record; the others are done."""
    w = await open_whole(reps(["ann", "bob"]))
    await w.world.route(*people(5))
    key = await w.world.value("select external_key from change order by lead_id limit 1")
    twin = {"LastName": "Twin", "Company": "Twin", "Legacy_Id__c": key}
    made = w.org.post("/seed", {"leads": [twin, twin]})["leads"]
    await w.deliver(external_id="Legacy_Id__c")
    assert await w.states() == {"done": 4, "failed": 1}
    (failed,) = await w.failed()
    assert all(one in failed["message"] for one in made)
    assert failed["attempts"] == 1
    assert len(w.org.writes()) == 1
    assert w.org.get("/summary")["records"]["Lead"] == 6


async def test_case_93_a_converted_lead_is_one_refusal(open_whole: Wholes) -> None:
    w = await open_whole(reps(["ann", "bob"]))
    await w.world.route(*people(3))
    await w.deliver()
    w.org.post("/edit", {"object": "Lead", "email": "p1@gmail.com", "fields": {"IsConverted": True}})
    await w.world.route(*people(3, city="Kiel"))
    await w.deliver()
    assert await w.states() == {"done": 2, "failed": 1}
    (failed,) = await w.failed()
    assert (failed["email"], failed["code"]) == ("p1@gmail.com", "CANNOT_UPDATE_CONVERTED_LEAD")
    assert len(w.org.writes()) == 2
    await w.deliver()  # and it is not sent again by itself
    assert len(w.org.writes()) == 2
    assert w.org.get("/summary")["records"]["Lead"] == 3


async def test_case_95_a_duplicate_rule_blocks_one_row(open_whole: Wholes) -> None:
    w = await open_whole(reps(["ann", "bob"]))
    w.org.post("/seed", {"leads": [{"LastName": "P7", "Company": "Old", "Email": "p7@gmail.com"}]})
    w.org.post("/switches", {"duplicate_rule": "block"})
    await w.world.route(*people(20))
    await w.deliver()
    assert await w.states() == {"done": 19, "failed": 1}
    (failed,) = await w.failed()
    assert (failed["code"], failed["attempts"]) == ("DUPLICATES_DETECTED", 1)
    assert "Use one of these records?" in failed["message"]  # a collection names none of them
    assert len(w.org.writes()) == 1


async def test_case_97_a_value_that_a_field_does_not_take(open_whole: Wholes) -> None:
    """A text too long is cut; a word that a picklist does not know is left out, named; all are written."""
    w = await open_whole(reps(["ann", "bob"]))
    city = "Giugliano in Campania, Metropolitan City of Naples"
    await w.world.route(
        {"email": "a@gmail.com", "city": city},
        {"email": "b@gmail.com", "company": "Ä" * 300},
        {"email": "c@gmail.com", "city": "🦊" * 40},
        {"email": "d@gmail.com", "language": "Huge"},
        {"email": "e@gmail.com", "language": "SMB"},
    )
    await w.deliver(map=MAP | {"Segment__c": "language"})
    records = w.records()
    assert set(records) == {f"{letter}@gmail.com" for letter in "abcde"}
    assert records["a@gmail.com"]["City"] == city[:40]
    assert records["b@gmail.com"]["Company"] == "Ä" * 255
    assert records["c@gmail.com"]["City"] == "🦊" * 20
    assert (records["d@gmail.com"].get("Segment__c"), records["e@gmail.com"]["Segment__c"]) == (None, "SMB")
    without = await w.world.value("select without->>'Segment__c' from change where without is not null")
    assert "bad value for restricted picklist field: Huge" in without
    assert [request["records"] for request in w.org.writes()] == [5, 1]


async def test_case_103_a_replay_sends_what_is_known_now(open_whole: Wholes) -> None:
    """Monday's write failed, Tuesday's went out: Wednesday's replay changes neither company nor owner."""
    w = await open_whole(reps(["ann", "bob"]))
    w.org.post("/switches", {"duplicate_rule": "block"})
    (there,) = w.org.post("/seed", {"leads": [{"LastName": "P", "Company": "Old", "Email": "l1@gmail.com"}]})["leads"]
    await w.world.route({"email": "l1@gmail.com", "company": "A"}, *people(4))
    await w.deliver()
    assert len(await w.failed()) == 1
    w.org.post("/edit", {"object": "Lead", "id": there, "fields": {"IsDeleted": True}})
    await w.world.route({"email": "l1@gmail.com", "company": "B"})
    await w.deliver()
    assert w.records()["l1@gmail.com"]["Company"] == "B"
    owners, sent = w.owners(), len(w.org.writes())
    leads = tuple(row["id"] for row in await w.world.fetch("select id from lead"))
    acts = PostgresActs(w.world.database)
    assert (await acts.retry(FailedFilter(), OLGA)).writes == 0
    assert (await acts.retry(FailedFilter(leads=leads), OLGA)).writes == 0
    await w.deliver()
    assert w.records()["l1@gmail.com"]["Company"] == "B"
    assert (w.owners(), len(w.org.writes())) == (owners, sent)


async def test_case_103_fifty_failed_writes_replayed(open_whole: Wholes) -> None:
    """Each lead once, with what is known of it by now, its rep unchanged."""
    w = await open_whole(reps(["ann", "bob"]))
    w.org.faults({"kind": "lock", "on": "write", "times": 1})
    await w.world.route(*people(50))
    await w.deliver(max_attempts=1)
    assert await w.states() == {"failed": 50}
    given = await w.world.owners()
    assert (await PostgresActs(w.world.database).retry(FailedFilter(), OLGA)).writes == 50
    await w.deliver(max_attempts=1)
    assert await w.states() == {"done": 50}
    assert await w.world.owners() == given
    reps_of = {row["email"]: row["rep_id"] for row in await w.world.fetch(
        "select fields->'email'->>0 as email, rep_id from lead")}  # fmt: skip
    assert w.owners() == reps_of


async def test_case_128_retry_all_pressed_again_and_again(open_whole: Wholes) -> None:
    """Three failed writes, one retried before, then all of them, ten times by two operators: one send each."""
    w = await open_whole(reps(["ann", "bob"]))
    w.org.faults({"kind": "lock", "on": "write", "times": 1})
    await w.world.route(*people(3))
    await w.deliver(max_attempts=1)
    assert await w.states() == {"failed": 3}
    acts = PostgresActs(w.world.database)
    first = await w.world.value("select min(id) from lead")
    assert (await acts.retry(FailedFilter(leads=(first,)), OLGA)).writes == 1
    async with w.delivering(max_attempts=1):
        done = await asyncio.gather(*(acts.retry(FailedFilter(), By(who)) for who in ("olga", "pete") * 5))
        await w.quiet()
    assert sum(one.writes for one in done) == 2
    assert await w.states() == {"done": 3}
    assert sum(request["records"] for request in w.org.writes()) == 6
    assert w.org.get("/summary")["repeats"] == 0


async def test_case_107_a_second_destination_fails_alone(open_whole: Wholes) -> None:
    """The leads' accounts are refused twice; their leads are written once."""
    w = await open_whole(reps(["ann", "bob"]) + '\n[destinations.other]\ntype = "console"\n')
    w.org.faults({"kind": "unavailable", "on": "write", "object": "Account", "times": 2})
    await w.world.route(*people(10))
    mapping = {"Name": {"field": "last_name", "default": "Unknown"}}
    other = await w.station(name="other", object="Account", external_id="Legacy_Id__c", map=mapping)
    async with w.desk.running(await w.station(), other):
        await w.quiet()
    calls = [request["path"].split("/")[-2] for request in w.org.writes()]
    assert (calls.count("Lead"), calls.count("Account")) == (1, 3)
    rows = await w.world.fetch("select destination_id, count(*) from change where state = 'done' group by 1")
    assert {row["destination_id"]: row["count"] for row in rows} == {DESTINATION: 10, "other": 10}


async def test_case_110_a_limit_is_waited_out_and_uses_up_no_attempt(open_whole: Wholes) -> None:
    """Case 111 too: while the limit stands, the other rows wait as well instead of each trying."""
    w = await open_whole(reps(["ann", "bob"]))
    w.org.faults({"kind": "concurrent_limit", "on": "write", "times": 1})
    await w.world.route(*people(5))
    async with w.delivering(max_attempts=1):
        await w.desk.asked(1)
        await w.world.route(*people(5, 5))
        await w.quiet()
    assert await w.states() == {"done": 10}
    assert len(w.org.writes()) == 2
    assert await w.world.value("select max(attempts) from change") == 0
    waited = await w.world.value("select max(taken_at) - min(settled_at) from batch")
    assert waited.total_seconds() >= 1


async def test_case_130_stopped_by_the_ceiling_and_resumed(open_whole: Wholes) -> None:
    """The list says what the behaviour is; what waited goes out in order once a person resumes."""
    w = await open_whole(reps(["ann", "bob"]))
    await w.world.route(*({"email": "a@b", "visitor": n} for n in range(1)), *people(3))
    reads = w.desk.connection
    async with w.delivering(max_failed=1):
        await w.until_value("select paused_by from destination where id = 'crm'", "fairturn")
        await w.world.route(*people(20, 10))
        assert await reads.fetchval("select paused_reason from destination where id = 'crm'")
        assert await w.world.value("select count(*) from change where state = 'pending'") == 20
        assert await PostgresActs(w.world.database).resume_destination("crm", OLGA)
        await w.quiet()
    assert await w.states() == {"done": 23, "failed": 1}
    assert await w.world.value("select paused_at from destination where id = 'crm'") is None


async def test_case_130_a_limit_of_one_is_one_attempt(open_whole: Wholes) -> None:
    w = await open_whole(reps(["ann"]))
    w.org.faults({"kind": "lock", "on": "write"})
    await w.world.route(*people(1))
    await w.deliver(max_attempts=1)
    assert await w.states() == {"failed": 1}
    assert len(w.org.writes()) == 1


async def test_case_123_a_secret_that_the_crm_echoes_is_in_no_table(open_whole: Wholes, capfd, caplog) -> None:
    """Refused rows, a refused request, a login that is refused: every table and every line is searched."""
    w = await open_whole(reps(["ann", "bob"]))
    await w.world.route(*people(3))

    def answer(line: str, head: str, body: bytes) -> bytes:
        host = next(x[6:] for x in head.split("\r\n") if x.lower().startswith("host:"))
        if "oauth2" in line:
            return token(f"http://{host}")
        bearer = next(x for x in head.split("\r\n") if x.lower().startswith("authorization"))
        said = {"statusCode": "BAD", "message": f"you sent {bearer} with crm-SECRET123", "fields": [bearer]}
        return http(200, [{"success": False, "errors": [said]}] * body.count(b"attributes"))

    async with server(answer) as (url, _), contextlib.AsyncExitStack():
        await w.deliver(url=url, secret="crm-SECRET123")
    assert await w.states() == {"failed": 3}
    assert "you sent" in (await w.failed())[0]["message"]
    dump = await everything(w.desk.connection)
    said = capfd.readouterr()
    for text in (dump, said.out, said.err, caplog.text):
        assert "SECRET123" not in text
        assert "TOKEN123" not in text


async def everything(connection: asyncpg.Connection) -> str:
    """Every row of every table, as text."""
    tables = await connection.fetch("select table_name from information_schema.tables where table_schema = 'public'")
    parts = []
    for (table,) in tables:
        parts += [row[0] for row in await connection.fetch(f'select t::text from "{table}" t')]
    assert len(parts) > 10
    return "\n".join(parts)
