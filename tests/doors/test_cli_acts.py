"""Acts of people by the command line: what they change, what they leave in the history, what they refuse."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from fairturn.desk import FailedFilter
from fairturn.stores.postgres.acts import PostgresActs
from fairturn.views import By
from tests.doors.commands import Open, Shell, lead, shells
from tests.flow.world import config


@pytest.fixture
async def shell(database, tmp_path) -> AsyncIterator[Open]:
    async with shells(database, tmp_path) as start:
        yield start


async def fail(shell: Shell, *leads: int, code: str = "BAD_FIELD", outcome: str = "refused") -> None:
    """As if the CRM had refused these leads' writes."""
    await shell.world.fetch(
        """with b as (insert into batch (destination_id, holder, deadline, records, settled_at)
                      values ('crm', gen_random_uuid(), now(), 1, now()) returning id),
           w as (insert into write (batch_id, lead_id, destination_id, version, oldest_event_at, outcome, code,
                                    answered_at)
                 select b.id, c.lead_id, 'crm', c.version, now(), $3, $2, now()
                 from b cross join change c where c.lead_id = any($1))
           update change set state = 'failed', failed_at = now(), code = $2, message = 'no such field', attempts = 1,
                  sent_version = version
           where lead_id = any($1)""",
        list(leads),
        code,
        outcome,
    )


async def test_a_paused_rep_gets_no_turn_and_is_at_par_when_back(shell: Open):
    run = await shell()
    said = await run("reps", "pause", "ann", "--reason", "on holiday", "--actor", "olga")
    assert "ann is paused" in said.out
    again = await run("reps", "pause", "ann", "--reason", "again", "--actor", "pete", "--json")
    assert again.json == [{"rep": "ann", "paused": True, "changed": False}]
    await run.world.route(*(lead(n) for n in range(4)))
    assert await run.world.value("select count(*) from lead where rep_id = 'ann'") == 0
    listed = {row["rep"]: row for row in (await run("reps", "list", "--json")).json}
    assert listed["ann"]["reason"] == "on holiday"
    assert listed["ann"]["paused_by"] == "olga"
    assert listed["bob"]["pools"] == {"main": 1}
    assert listed["bob"]["leads_24h"] == 2
    await run("reps", "resume", "ann", "--actor", "olga")
    past = (await run("history", "rep ann", "--json")).json
    assert [(row["act"], row["actor"], row["reason"]) for row in past] == [
        ("resume", "olga", None),
        ("pause", "olga", "on holiday"),
    ]


async def test_a_rep_whom_the_crm_refuses_has_a_next_step(shell: Open):
    run = await shell()
    await run("reps", "pause", "bob", "--reason", "ill", "--actor", "olga")
    assert "reps resume" not in (await run("reps", "list")).out
    await run.world.route(lead(1))
    number = await run.world.value("select id from lead")
    await run.world.station.owner_refused("ann", number, "INACTIVE_OWNER_OR_USER: inactive")
    said = " ".join((await run("reps", "list")).out.split())
    assert "correct the rep's ids in the settings and restart; then `fairturn reps resume ann`." in said


async def test_what_does_not_exist_is_named_with_what_does(shell: Open):
    run = await shell()
    for words in (("reps", "pause", "anne"), ("destinations", "pause", "crn")):
        said = await run(*words, "--reason", "x", code=2)
        assert "Known:" in said.err
        assert "Traceback" not in said.err
    assert "There is no lead 'nobody@x.com'" in (await run("why", "nobody@x.com", code=2)).err
    assert "There is no pool 'mian'" in (await run("holds", "release", "--pool", "mian", "--reason", "x", code=2)).err


async def test_an_act_wants_a_reason(shell: Open):
    run = await shell()
    assert "--reason" in (await run("reps", "pause", "ann", code=2)).err
    assert await run.world.value("select count(*) from history") == 0


async def test_a_paused_destination_says_so_everywhere_and_resumes_in_order(shell: Open):
    """Case 130: one truth for the list, the explanation and what is sent."""
    run = await shell()
    await run("destinations", "pause", "crm", "--reason", "data load", "--actor", "olga")
    await run.world.route(lead(1))
    (row,) = (await run("destinations", "list", "--json")).json
    assert (row["state"], row["cause"], row["waiting"]) == ("paused", "by olga: data load", 1)
    assert "by olga: data load" in (await run("why", "p1@c1.com")).out
    await run("destinations", "resume", "crm")
    (row,) = (await run("destinations", "list", "--json")).json
    assert row["state"] == "stopped"  # no worker runs in this test, and the list says so
    assert "was open already" in (await run("destinations", "resume", "crm")).out


async def test_all_failed_writes_are_retried_once_however_often_one_asks(shell: Open):
    """Cases 128 and 129."""
    run = await shell()
    await run.world.route(*(lead(n) for n in range(25)))
    ids = [row["id"] for row in await run.world.fetch("select id from lead order by id")]
    await fail(run, *ids)
    single = await run("failed", "retry", str(ids[0]), "--json")
    assert single.json == {"retried": 1, "under_way": 0}
    listed = (await run("failed", "list", "--limit", "5", "--json")).json
    assert len(listed) == 5
    first = await run("failed", "retry", "--all", "--code", "BAD_FIELD", "--json", "--reason", "mended")
    assert first.json == {"retried": 24, "under_way": 1}
    second = await run("failed", "retry", "--all", "--code", "BAD_FIELD")
    assert "already under way" in second.out
    assert await run.world.value("select count(*) from change where state = 'pending' and attempts = 0") == 25
    detail = await run.world.fetch("select detail from history where verb = 'retry' order by id")
    assert [row["detail"]["writes"] for row in detail] == [1, 24]
    past = (await run("history")).out
    assert f"lead {ids[0]}; 1 write" in past
    assert "24 writes" in past


async def test_fields_that_the_crm_did_not_take_are_listed_and_sent_again(shell: Open):
    run = await shell()
    await run.world.route(lead(1), lead(2))
    first, second = [row["id"] for row in await run.world.fetch("select id from lead order by id")]
    await fail(run, second)
    await run.world.fetch(
        """update change
           set state = 'done', first_event_at = null, confirmed = 1, owner_confirmed = 1, found_at = now(),
               without = '{"Rating": "bad value: Lukewarm"}', refused = '{"Rating": "Lukewarm"}'
           where lead_id = $1""",
        first,
    )
    listed = await run("failed", "list")
    assert "BAD_FIELD" in listed.out
    assert "bad value: Lukewarm" in listed.out
    assert [row["lead"] for row in (await run("failed", "list", "--json")).json] == [second]
    (row,) = (await run("failed", "list", "--without", "--json")).json
    assert (row["lead"], row["without"], row["destination"]) == (first, {"Rating": "bad value: Lukewarm"}, "crm")
    assert "Rating" not in (await run("failed", "list", "--code", "BAD_FIELD")).out
    said = await run("why", str(first))
    assert "without Rating" in said.out
    assert "--code" in (await run("failed", "retry", "--all", "--without", "--code", "X", code=2)).err

    assert (await run("failed", "retry", "--all", "--without", "--json")).json == {"retried": 1, "under_way": 0}
    assert await run.world.value("select state from change where lead_id = $1", second) == "failed"
    assert (await run("failed", "list", "--without", "--json")).json == []
    assert "No lead was written without a field" in (await run("failed", "retry", "--all", "--without")).out


async def test_a_lead_that_is_named_is_sent_whole(shell: Open):
    """Its failed write in one CRM, and the field that another did not take."""
    run = await shell()
    await run.world.route(lead(1))
    number = await run.world.value("select id from lead")
    await run.world.fetch(
        """update change
           set state = 'done', first_event_at = null, confirmed = 1, owner_confirmed = 1, found_at = now(),
               without = '{"Rating": "no"}'"""
    )
    assert (await run("failed", "retry", str(number), "--json")).json == {"retried": 1, "under_way": 0}


async def test_whose_owner_stands_is_told(shell: Open):
    run = await shell()
    await run.world.route(lead(1))
    number = await run.world.value("select id from lead")
    await run.world.fetch(
        """with b as (
               insert into batch (destination_id, holder, deadline, records, settled_at, calls)
               values ('crm', gen_random_uuid(), now(), 1, now(), 1) returning id
           )
           insert into write (batch_id, lead_id, destination_id, version, oldest_event_at, outcome, record_id,
                              answered_at, owner_stands, without)
           select id, $1, 'crm', 1, now(), 'written', '00Q1', now(), '005BOB', '{"Rating": "not an option"}' from b""",
        number,
    )
    said = await run("why", str(number))
    assert "005BOB has it there, changed by somebody in crm since" in said.out.replace("\n", " ")
    assert "without Rating: not an option" in said.out
    (write,) = (await run("why", str(number), "--json")).json["writes"]
    assert (write["owner_stands"], write["without"]) == ("005BOB", {"Rating": "not an option"})


async def test_two_operators_retry_at_once(shell: Open):
    """Case 128: each write once."""
    run = await shell()
    await run.world.route(*(lead(n) for n in range(10)))
    await fail(run, *[row["id"] for row in await run.world.fetch("select id from lead")])
    acts = PostgresActs(run.world.database)
    done = await asyncio.gather(*(acts.retry(FailedFilter(), By(who)) for who in ("olga", "pete")))
    assert sum(one.writes for one in done) == 10


async def test_a_dropped_write_gives_the_turn_back(shell: Open):
    run = await shell()
    await run.world.route(*(lead(n) for n in range(6)))
    one = (await run.world.fetch("select id, rep_id from lead order by id limit 1"))[0]
    await fail(run, one["id"])
    said = await run("failed", "drop", str(one["id"]), "--reason", "a test", "--json", "--actor", "olga")
    assert said.json == {"dropped": 1, "turns_given_back": [{"lead": one["id"], "pool": "main", "rep": one["rep_id"]}]}
    assert await run.world.value("select status from lead where id = $1", one["id"]) == "ignored"
    await run.world.route(*(lead(n) for n in range(10, 14)))
    audit = (await run("audit", "--json")).json
    assert audit["ok"]
    assert audit["pools"]["main"]["credit"] == {}  # settled with the next leads
    counts = await run.world.fetch("select rep_id, count(*) from lead where status = 'assigned' group by 1")
    assert sorted(row["count"] for row in counts) == [3, 3, 3]
    (row,) = (await run("history", "lead", "--json")).json
    assert (row["act"], row["actor"], row["detail"]["turn"]["rep"]) == ("drop", "olga", one["rep_id"])
    assert (await run("failed", "drop", str(one["id"]), "--reason", "twice", "--json")).json["dropped"] == 0


async def test_a_turn_stands_where_the_crm_may_have_the_lead(shell: Open):
    run = await shell()
    await run.world.route(lead(1), lead(2))
    have, may = [row["id"] for row in await run.world.fetch("select id from lead order by id")]
    await fail(run, have)
    await run.world.fetch("update change set confirmed = 1, version = 2 where lead_id = $1", have)
    await fail(run, may, outcome="unknown")
    said = await run("failed", "drop", "--all", "--reason", "give up", "--json")
    assert said.json == {"dropped": 2, "turns_given_back": []}
    assert await run.world.value("select count(*) from lead where status = 'assigned'") == 2


async def test_held_leads_are_tried_given_and_parked(shell: Open):
    run = await shell()
    for rep in ("ann", "bob", "cid"):
        await run("reps", "pause", rep, "--reason", "closed")
    await run.world.route(*(lead(n) for n in range(5)))
    listed = (await run("holds", "list", "--json")).json
    ids = [row["lead"] for row in listed]
    assert len(ids) == 5
    assert all("paused" in row["reason"] for row in listed)
    given = await run(
        "holds", "release", "p0@c0.com", "--to", "bob", "--reason", "knows them", "--actor", "olga", "--json"
    )
    assert given.json["released"] == {str(ids[0]): "bob"}
    parked = await run("holds", "release", str(ids[1]), "--park", "00G000000000001", "--reason", "later", "--json")
    assert parked.json["released"] == {str(ids[1]): "00G000000000001"}
    refused = await run("holds", "release", str(ids[0]), "--to", "ann", "--reason", "x", code=2)
    assert "it is bob's" in refused.err
    stuck = await run("holds", "release", "--pool", "main", "--reason", "try", "--json")
    assert (stuck.json["by_turn"], stuck.json["held"]) == (0, 3)
    await run.world.fetch("update rep set paused_at = null, paused_by = null, paused_reason = null")
    done = await run("holds", "release", "--pool", "main", "--reason", "back", "--json")
    assert (done.json["by_turn"], done.json["held"]) == (3, 0)
    audit = (await run("audit", "--json")).json
    assert audit["ok"]
    assert audit["assignments"] == 4
    kinds = await run.world.fetch("select kind, reason from assignment where lead_id = $1", ids[0])
    assert [(row["kind"], row["reason"]) for row in kinds] == [("kept", "given by olga: knows them")]


async def test_history_is_read_without_braces(shell: Open):
    """What is kept beside an act is said in words; --json has it as it is stored."""
    run = await shell()
    await run("reps", "pause", "ann", "--reason", "ill", "--actor", "olga")
    await run("reps", "resume", "ann", "--reason", "well again")
    said = (await run("history", "rep ann")).out
    assert "well again · paused since 20" in said
    assert "by olga: ill" in said
    assert "{" not in said
    assert (await run("history", "rep zoe")).out.strip() == "Nothing yet of 'rep zoe'."


async def test_a_list_for_a_name_that_is_not_there_says_so(shell: Open):
    run = await shell()
    said = (await run("leads", "list", "--rep", "anne")).out
    assert said.startswith("No leads like that.")
    assert "The settings have no rep 'anne'. Known: ann, bob, cid." in said
    assert (await run("leads", "list", "--rep", "ann")).out.strip() == "No leads like that."


async def test_another_records_id_is_no_queue(shell: Open):
    """Salesforce would refuse the write, after the lead was parked under a queue that there is not."""
    crm = '[destinations.sf]\ntype = "salesforce"\nmode = "shadow"\nurl = "https://acme.my.salesforce.com"\n'
    crm += 'map = { LastName = "last_name", Company = "company" }\n'
    run = await shell(config(more=crm))
    for rep in ("ann", "bob", "cid"):
        await run("reps", "pause", rep, "--reason", "closed")
    await run.world.route(lead(0))
    for wrong in ("00Q5g00000AbCdE", "00G5g00000AbC"):  # a Lead, and a queue's id that was cut
        refused = await run("holds", "release", "p0@c0.com", "--park", wrong, "--reason", "x", code=2)
        assert f'"{wrong}" is no id of a queue or user in Salesforce. Write its name, or copy its id' in refused.err
    assert await run.world.value("select status from lead") == "held"
    done = await run("holds", "release", "p0@c0.com", "--park", "Competitors", "--reason", "x")  # a queue by its name
    assert done.out == "Lead 1: parked under Competitors.\n"


async def test_a_limit_of_requests_a_day(shell: Open):
    run = await shell()
    said = await run("destinations", "limit", "crm", "--daily", "5000", "--reason", "data load", "--actor", "olga")
    assert "5,000 requests a day" in said.out
    (row,) = (await run("destinations", "list", "--json")).json
    assert (row["daily_limit"], row["calls_24h"]) == (5000, 0)
    assert "of 5,000" in (await run("destinations", "list")).out
    again = await run("destinations", "limit", "crm", "--daily", "5000", "--json")
    assert again.json == {"destination": "crm", "daily_limit": 5000, "changed": False}
    await run("destinations", "limit", "crm", "--daily", "none")
    (row,) = (await run("destinations", "list", "--json")).json
    assert row["daily_limit"] is None
    past = (await run("history", "destination crm", "--json")).json
    assert [(one["act"], one["reason"]) for one in past] == [("limit", None), ("limit", "data load")]
    for wrong in ("0", "-1", "many", "1.5"):
        assert "--daily" in (await run("destinations", "limit", "crm", f"--daily={wrong}", code=2)).err
    assert "Known: crm" in (await run("destinations", "limit", "crn", "--daily", "5", code=2)).err
