"""Orgs that are not empty: who is there already keeps record and owner, and nobody is made twice."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from fairturn.decide.drafts import claim
from fairturn.desk import FailedFilter, LeadFilter
from fairturn.destinations.salesforce.inspect import open_inspect
from fairturn.flow import judging
from fairturn.flow.accept import Accept
from fairturn.flow.plan import Plans
from fairturn.flow.station import RouteStation
from fairturn.flow.sync import SyncLane
from fairturn.intake.answers import owner
from fairturn.model import LookUp, Person
from fairturn.operate.audit import audit
from fairturn.operate.failed import drop
from fairturn.operate.leads import standing
from fairturn.operate.reconcile import reconcile
from fairturn.operate.why import why
from fairturn.stores.postgres.acts import PostgresActs
from fairturn.stores.postgres.journal import PostgresJournal
from fairturn.stores.postgres.proofs import PostgresProofs
from fairturn.stores.postgres.reads import PostgresReads
from fairturn.stores.postgres.router import PostgresRouter
from fairturn.stores.postgres.wake import Listener
from fairturn.views import By
from tests.flow.asking import there
from tests.flow.whole import people
from tests.flow.world import config

RULE = '[[rules]]\nid = "rest"\nwhen = "true"\n{}\n'


async def ok(a: Any) -> bool:
    return (await audit(PostgresProofs(a.world.database))).ok


async def test_whoever_is_not_there_is_assigned_and_made(open_asked: Any) -> None:
    a = await open_asked()
    await a.world.route(*people(3))
    assert await a.world.value("select count(*) from change") == 0
    assert {row["reason"] for row in await a.world.fetch("select reason from lead")} == {
        "asks crm whether the person is there"
    }
    await a.answered()
    assert {status for status, _ in (await a.statuses()).values()} == {"assigned"}
    await a.whole.deliver()
    assert len(a.org.leads()) == 3
    assert [row["why"] for row in await a.world.fetch("select why from existing")] == ["not there yet"] * 3
    [row] = await a.world.fetch("select * from look_up")
    assert (row["asked"], row["found"]) == (3, 0)


async def test_the_wait_for_the_answer_counts_as_waiting(open_asked: Any) -> None:
    """A change is as old as its lead's first event, so that nobody waits for company once more (and is measured so)."""
    a = await open_asked()
    await a.world.route({"email": "new@gmail.com"})
    await a.world.route({"email": "new@gmail.com", "title": "CTO"})
    await a.answered()
    assert await a.world.value("select count(*) from event") == 2
    assert await a.world.value("select first_event_at = (select min(received_at) from event) from change")
    await a.whole.deliver()
    await a.world.route({"email": "new@gmail.com", "title": "CEO"})
    assert await a.world.value("select first_event_at = (select max(received_at) from event) from change")


async def test_an_active_owner_keeps_the_lead_and_a_queue_does_not(open_asked: Any) -> None:
    """One of ours keeps it in the pool's book, somebody else outside it; queue, inactive and nobody's are assigned."""
    a = await open_asked()
    made = a.seed(
        users=[{"name": "Olga Else", "email": "olga@crm.test"}],
        leads=[
            there("mine", "bob@crm.test"),
            there("theirs", "olga@crm.test"),
            there("queued", "Held"),
            there("left", "gone@crm.test"),
        ],
    )["leads"]
    await a.world.route(
        *({"email": f"{name}@gmail.com", "title": "CTO"} for name in ("mine", "theirs", "queued", "left"))
    )
    await a.answered()
    found = await a.statuses()
    assert found["mine@gmail.com"] == ("assigned", "bob")
    assert found["theirs@gmail.com"] == ("owned", None)
    assert {found[f"{name}@gmail.com"][0] for name in ("queued", "left")} == {"assigned"}
    reasons = {row["lead_id"]: row["why"] for row in await a.world.fetch("select lead_id, why from existing")}
    assert f"Olga Else owns Lead {made[1]} and keeps it" in reasons.values()
    await a.whole.deliver()
    rows = {row["Email"]: row for row in a.org.get("/records/Lead")["records"]}
    assert len(rows) == 4
    owners = {name: rows[f"{name}@gmail.com"]["OwnerId"] for name in ("mine", "theirs", "queued", "left")}
    assert owners["mine"] == a.org.users["bob"]
    assert owners["theirs"] not in a.org.users.values()
    assert {owners["queued"], owners["left"]} <= {a.org.users["ann"], a.org.users["bob"]}
    assert {row["Title"] for row in rows.values()} == {"CTO"}
    assert {await a.world.value("select kind from assignment where reason like '%keeps it'")} == {"kept"}
    assert await ok(a)


async def test_a_contact_is_written_and_no_second_lead_made(open_asked: Any) -> None:
    a = await open_asked()
    [contact] = a.seed(contacts=[{"LastName": "Kim", "Email": "kim@gmail.com", "Owner": "Held"}])["contacts"]
    await a.world.route({"email": "kim@gmail.com", "title": "CTO"})
    await a.answered()
    [row] = await a.world.fetch("select record_id, record_type, found_at, owner from change")
    assert (row["record_id"], row["record_type"], row["owner"]) == (contact, "Contact", a.org.queue)
    assert row["found_at"] is not None


async def test_a_lead_beside_a_contact_where_the_rule_says_so(open_asked: Any) -> None:
    a = await open_asked(rules=RULE.format('pool = "main"\ncreate = "always"'))
    a.seed(contacts=[{"LastName": "Kim", "Email": "kim@gmail.com", "Owner": "bob@crm.test"}])
    await a.world.route({"email": "kim@gmail.com"})
    await a.answered()
    assert await a.world.value("select record_id is null and owner_version > owner_confirmed from change")
    assert (await a.world.value("select why from existing")).startswith("a record of its own, beside 003")


async def test_a_rule_assigns_what_somebody_owns(open_asked: Any) -> None:
    a = await open_asked(members="ann = 1", rules=RULE.format('pool = "main"\nexisting = "assign"'))
    a.seed(leads=[there("mine", "bob@crm.test")])
    await a.world.route({"email": "mine@gmail.com"})
    await a.answered()
    assert await a.statuses() == {"mine@gmail.com": ("assigned", "ann")}
    await a.whole.deliver()
    assert a.whole.owners() == {"mine@gmail.com": "ann"}


@pytest.mark.parametrize(
    ("action", "wanted"), [('owner = "ann"', ("assigned", "bob")), ('park = "Inbound"', ("assigned", "bob"))]
)
async def test_rules_that_name_owners_and_queues_leave_an_owner_too(
    open_asked: Any, action: str, wanted: tuple[str, str]
) -> None:
    a = await open_asked(rules=RULE.format(action))
    a.seed(leads=[there("mine", "bob@crm.test")])
    await a.world.route({"email": "mine@gmail.com"})
    await a.answered()
    assert await a.statuses() == {"mine@gmail.com": wanted}
    rows = await a.world.fetch("select kind, rep_id, pool_id from assignment where lead_id is not null")
    assert [tuple(row) for row in rows] == [("owner", "bob", None)]
    assert await a.world.value("select owner_version = owner_confirmed from change")


async def test_a_later_event_of_a_kept_lead_is_an_update_and_nothing_more(open_asked: Any) -> None:
    a = await open_asked()
    a.seed(users=[{"name": "Olga", "email": "olga@crm.test"}], leads=[there("theirs", "olga@crm.test")])
    await a.world.route({"email": "theirs@gmail.com"})
    await a.answered()
    await a.whole.deliver()
    await a.world.route({"email": "theirs@gmail.com", "title": "CEO"})
    assert await a.world.value("select count(*) from existing where state = 'due'") == 0
    await a.whole.deliver()
    [row] = a.org.get("/records/Lead")["records"]
    assert row["Title"] == "CEO"
    assert row["OwnerId"] not in a.org.users.values()
    assert await a.statuses() == {"theirs@gmail.com": ("owned", None)}
    assert await a.world.value("select count(*) from assignment where lead_id is not null") == 0


async def test_a_record_that_the_event_names_is_not_asked_for(open_asked: Any) -> None:
    a = await open_asked(sources=(("web", ""),))
    text = a.world.text.replace('title = "title"\n', 'title = "title"\ncrm_lead_id = "record"\n', 1)
    await a.world.apply(text)
    await a.world.station._plans.refresh()
    queued, mine = a.seed(leads=[there("queued", "Held"), there("mine", "ann@crm.test")])["leads"]
    await a.world.route({"email": "queued@gmail.com", "record": queued[:15]})
    await a.world.route({"email": "mine@gmail.com", "record": mine, "title": "CTO"})
    rows = await a.world.fetch("select record_id, found, found_at, owner_version from change order by lead_id")
    assert [tuple(row) for row in rows] == [(queued, None, None, 1), (mine, None, None, 1)]
    assert await a.world.value("select count(*) from existing") == 0
    await a.whole.deliver()
    assert len(a.whole.records()) == 2
    assert a.whole.records()["mine@gmail.com"]["Title"] == "CTO"
    # The queue's went to the turn's rep; an active owner, seen before the write, stands against the turn's (bob).
    assert a.whole.owners() == {"queued@gmail.com": "ann", "mine@gmail.com": "ann"}


async def test_nobody_is_asked_of_a_lead_that_no_rule_writes_or_without_an_address(open_asked: Any) -> None:
    a = await open_asked(
        rules=('[[rules]]\nid = "no"\nwhen = "lead.city == \'Kiel\'"\nignore = true\n' + RULE.format('pool = "main"'))
    )
    await a.world.route({"email": "a@gmail.com", "city": "Kiel"}, {"visitor": "v1"}, {"email": "not an address"})
    assert await a.world.value("select count(*) from existing") == 0
    assert await a.world.value("select count(*) from lead where status = 'waiting'") == 0


@pytest.mark.parametrize("more", ['existing = "ignore"', 'mode = "shadow"'])
async def test_a_destination_that_is_not_asked(open_asked: Any, more: str) -> None:
    a = await open_asked(crm=more)
    await a.world.route({"email": "a@gmail.com"})
    assert (await a.statuses())["a@gmail.com"][0] == "assigned"


async def test_a_source_on_trial_asks_nobody(open_asked: Any) -> None:
    a = await open_asked(sources=(("web", 'mode = "shadow"'),))
    await a.world.route({"email": "a@gmail.com"})
    assert (await a.statuses())["a@gmail.com"][0] == "assigned"


# ---- time ------------------------------------------------------------------------------------------------------------


async def test_no_answer_in_time_makes_a_new_record_and_says_so(open_asked: Any) -> None:
    a = await open_asked()
    await a.world.route({"email": "a@gmail.com"})
    await a.go_on()
    assert (await a.statuses())["a@gmail.com"][0] == "waiting"
    await a.world.value("update existing set since = since - interval '1 minute'")
    await a.world.value("update lead set wait_until = now()")
    await a.go_on()
    assert (await a.statuses())["a@gmail.com"][0] == "assigned"
    [row] = await a.world.fetch("select state, why from existing")
    said = "crm did not answer within 15 s whether the person is there; a new record was made"
    assert (row["state"], row["why"]) == ("unknown", said)


async def test_fields_and_the_answer_are_both_waited_for_each_its_own_time(open_asked: Any) -> None:
    a = await open_asked(
        sources=(("web", 'wait_for = ["company"]\nat_most = "1h"'), ("enrich", "starts = false\nrank = 1"))
    )
    await a.world.route({"email": "a@gmail.com"})
    [row] = await a.world.fetch("select reason, wait_until - created_at > interval '59 minutes' as long from lead")
    assert (row["reason"], row["long"]) == ("waits for company, and asks crm whether the person is there", True)
    await a.answered()
    [row] = await a.world.fetch("select status, reason, wait_until > now() + interval '50 minutes' as long from lead")
    assert (row["status"], row["reason"], row["long"]) == ("waiting", "waits for company", True)
    await a.world.route({"email": "a@gmail.com", "company": "Acme"}, source="enrich")
    await a.go_on()
    assert (await a.statuses())["a@gmail.com"][0] == "assigned"


async def test_the_fields_come_first_and_the_answer_is_waited_for_still(open_asked: Any) -> None:
    a = await open_asked(
        sources=(("web", 'wait_for = ["company"]\nat_most = "1h"'), ("enrich", "starts = false\nrank = 1"))
    )
    await a.world.route({"email": "a@gmail.com"})
    await a.world.route({"email": "a@gmail.com", "company": "Acme"}, source="enrich")
    await a.go_on()
    [row] = await a.world.fetch("select status, reason from lead")
    assert tuple(row) == ("waiting", "asks crm whether the person is there")
    await a.answered()
    assert (await a.statuses())["a@gmail.com"][0] == "assigned"


async def test_another_address_is_asked_for_anew_and_the_old_answer_is_none(open_asked: Any) -> None:
    a = await open_asked()
    a.seed(leads=[there("second", "bob@crm.test")])
    await a.world.route({"email": "first@gmail.com", "visitor": "v"})
    questions = await (await a.questions()).due("crm", 10)
    await a.world.route({"email": "second@gmail.com", "visitor": "v"})
    await (await a.questions()).answer("crm", questions, LookUp(()))
    assert [row["state"] for row in await a.world.fetch("select state from existing")] == ["due"]
    await a.answered()
    assert await a.statuses() == {"second@gmail.com": ("assigned", "bob")}


async def test_an_answer_that_comes_late_is_taken_if_nothing_was_written(open_asked: Any) -> None:
    """The owner that the CRM names is left alone, whatever the turn has said meanwhile."""
    a = await open_asked(members="ann = 1", reps=["bob"])
    await a.world.route({"email": "late@gmail.com"})
    [late] = a.seed(leads=[there("late", "bob@crm.test")])["leads"]
    asked = await (await a.questions()).due("crm", 10)
    await a.world.value("update existing set since = since - interval '1 minute' where state = 'due'")
    await a.world.value("update lead set wait_until = now() where status = 'waiting'")
    await a.go_on()
    destination = a.org.destination()
    said = await destination.look_up([asked[0].email], 10.0)
    await destination.close()
    await (await a.questions()).answer("crm", asked, said)
    [row] = await a.world.fetch("select record_id, owner_version, owner_confirmed from change")
    assert row["record_id"] == late
    assert row["owner_version"] == row["owner_confirmed"]
    assert await a.statuses() == {"late@gmail.com": ("assigned", "ann")}
    why = await a.world.value("select why from existing")
    assert why.startswith("crm answered when the lead had gone on without: Bob owns Lead")


async def test_a_destination_that_leaves_the_settings_keeps_nobody_back(open_asked: Any) -> None:
    a = await open_asked()
    await a.world.route({"email": "a@gmail.com"})
    await a.world.apply(config("ann = 1, bob = 1"))
    await a.world.station._plans.refresh()
    await a.world.value("update lead set wait_until = now()")
    await a.go_on()
    assert (await a.statuses())["a@gmail.com"][0] == "assigned"
    [row] = await a.world.fetch("select state, why from existing")
    assert tuple(row) == ("unknown", "crm was not asked any more")


# ---- two leads that are one person -----------------------------------------------------------------------------------


async def test_two_leads_that_meet_while_a_question_is_open(open_asked: Any) -> None:
    a = await open_asked()
    await a.world.route({"email": "a@gmail.com"}, {"visitor": "v"})
    await a.world.route({"email": "a@gmail.com", "visitor": "v"})
    assert await a.world.value("select count(*) from existing") <= 1
    await a.answered()
    assert [status for status, _ in (await a.statuses()).values()] == ["assigned"]
    async with a.whole.delivering():
        await a.until("select exists (select from change where state = 'done')")
    assert len(a.org.leads()) == 1
    assert await ok(a)


async def test_a_record_that_its_owner_keeps_is_his_also_when_an_older_lead_takes_it_over(open_asked: Any) -> None:
    a = await open_asked()
    a.seed(users=[{"name": "Olga", "email": "olga@crm.test"}], leads=[there("theirs", "olga@crm.test")])
    await a.world.route({"visitor": "v"})  # no address: nobody is asked, and it has a rep at once
    await a.world.route({"email": "theirs@gmail.com"})
    await a.answered()
    assert {status for status, _ in (await a.statuses()).values()} == {"assigned", "owned"}
    await a.world.route({"email": "theirs@gmail.com", "visitor": "v", "title": "CTO"})
    async with a.whole.delivering():
        await a.until("select exists (select from change where state = 'done')")
    [row] = a.org.get("/records/Lead")["records"]
    assert row["Title"] == "CTO"
    assert row["OwnerId"] not in a.org.users.values()
    assert await ok(a)


async def test_the_contact_of_a_converted_lead_is_written(open_asked: Any) -> None:
    a = await open_asked()
    a.seed(leads=[there("was", "Held", converted=True)])
    [contact] = [row["Id"] for row in a.org.get("/records/Contact")["records"]]
    await a.world.route({"email": "was@gmail.com"})
    await a.answered()
    assert await a.world.value("select record_id from change") == contact


def found(email: str, record: str, key: str | None = None) -> LookUp:
    """As HubSpot answers: a contact is found by any of its addresses."""
    return LookUp((Person(record, "Lead", email, None, key=key),))


async def test_case_73_two_addresses_of_one_record_are_one_lead(open_asked: Any) -> None:
    """Asked at once or one after the other, they take one turn, and nothing alternates."""
    a = await open_asked()
    ask = await a.questions()
    await a.world.route({"email": "ann@gmail.com"}, {"email": "ann.b@work.com"})
    for question in await ask.due("crm", 10):
        await ask.answer("crm", [question], found(question.email, "00Q000000000501AAA"))
    await a.go_on()
    assert [status for status, _ in (await a.statuses()).values()] == ["assigned"]
    await a.world.route({"email": "third@home.com"})
    [question] = await ask.due("crm", 10)
    await ask.answer("crm", [question], found(question.email, "00Q000000000501AAA"))
    await a.go_on()
    assert await a.world.value("select count(*) from lead where merged_into is null") == 1
    assert await a.world.value("select count(*) from assignment where lead_id is not null") == 1
    assert [row[0] for row in await a.world.fetch("select record_id from change")] == ["00Q000000000501AAA"]
    assert await ok(a)


async def test_a_record_that_bears_our_key_is_the_lead_that_it_was_made_for(open_asked: Any) -> None:
    a = await open_asked()
    await a.world.route({"email": "ann@gmail.com"})
    await a.answered()
    await a.whole.deliver()
    [row] = await a.world.fetch("select lead_id, record_id, external_key from change")
    await a.world.route({"email": "ann.b@work.com"})
    ask = await a.questions()
    [question] = await ask.due("crm", 10)
    await ask.answer("crm", [question], found(question.email, row["record_id"], row["external_key"]))
    await a.go_on()
    assert await a.world.value("select merged_into from lead where id > $1", row["lead_id"]) == row["lead_id"]
    assert await a.world.value("select count(*) from assignment where lead_id is not null") == 1


# ---- callers, faults, many -------------------------------------------------------------------------------------------


async def test_a_lead_that_breaks_us_is_set_aside_and_the_others_go_on(
    open_asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And comes back when its event is read again."""
    a = await open_asked()
    await a.world.route(*people(5))
    real = claim

    def broken(draft: Any, *rest: Any) -> None:
        if draft.email == "p3@gmail.com":
            raise ZeroDivisionError("a fault of ours")
        real(draft, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(judging, "claim", broken)
        await a.answered()
    found = await a.statuses()
    assert [email for email, (status, _) in found.items() if status != "assigned"] == ["p3@gmail.com"]
    [lead] = await a.world.fetch("select id, status, reason from lead where status = 'ignored'")
    assert lead["reason"] == "could not be routed: ZeroDivisionError: a fault of ours"
    [event] = await a.world.fetch("select id, problem from event where state = 'quarantined'")
    assert "could not be routed" in event["problem"]
    assert await a.world.value("select object from history where verb = 'set aside'") == f"lead {lead['id']}"
    await a.world.value("update event set state = 'pending', problem = null where id = $1", event["id"])
    while await a.world.station.route():
        pass
    await a.go_on()
    assert (await a.statuses())["p3@gmail.com"][0] == "assigned"
    assert await ok(a)


async def test_an_outage_of_the_crm_is_waited_out_or_not_as_the_settings_say(open_asked: Any) -> None:
    a = await open_asked()
    await a.world.route({"email": "a@gmail.com"})
    a.org.faults({"kind": "status", "status": 503, "times": 1000})
    async with a.asking(on_unknown="create"):
        await a.until("select exists (select from existing where state = 'unknown')")
    why = await a.world.value("select why from existing")
    assert why.startswith("crm could not be asked whether the person is there (")
    assert why.endswith("; a new record was made")
    await a.go_on()
    assert (await a.statuses())["a@gmail.com"][0] == "assigned"


async def test_five_hundred_addresses_are_three_look_ups(open_asked: Any) -> None:
    """At once, since each is full; and the pool's book is right with kept owners among the turns."""
    a = await open_asked(members="ann = 2, bob = 1")
    owners = ["ann@crm.test", "bob@crm.test", "Held", "gone@crm.test"]
    a.seed(leads=[{**there(f"p{n}", owners[n % 4]), "Email": f"p{n}@gmail.com"} for n in range(0, 500, 5)])
    await a.world.route(*people(500))
    await a.answered()
    rows = await a.world.fetch("select asked, calls from look_up")
    assert [row["asked"] for row in rows] == [200, 200, 100]
    assert sum(row["calls"] for row in rows) <= 6  # the owners are new to each of them
    kinds = {
        row["kind"]: row["n"] for row in await a.world.fetch("select kind, count(*) as n from assignment group by 1")
    }
    assert kinds["kept"] == 50
    assert kinds["turn"] == 450
    assert await ok(a)


async def test_with_a_fixed_window_all_are_asked_about_and_written_on_the_tick(open_asked: Any) -> None:
    """However they come within it: one look-up, and one request with whoever was known before."""
    a = await open_asked(crm='window = "fixed"\nevery = "3s"\n')
    deliver, ask = await a.stations(window="fixed", every="3s", linger="2s")
    deliver._settings.model_fields_set.discard("lookup_linger")  # as in a file that does not say it
    async with Listener(a.world.dsn) as listener:
        route = asyncio.create_task(a.world.station.run(listener.bell("fairturn_event")))
        async with a.running(deliver, ask):
            await a.until("select extract(epoch from clock_timestamp())::numeric % 3 < 1")
            await a.world.post({"email": "a@gmail.com"})
            await a.until("select exists (select from existing where state = 'due')")
            await a.world.post({"email": "b@gmail.com"})
            await a.until("select count(*) = 2 from change where confirmed > 0")
        a.world.station.stop()
        await route
    assert [row["asked"] for row in await a.world.fetch("select asked from look_up")] == [2]
    [request] = [one for one in a.org.get("/requests")["requests"] if one["kind"] == "write"]
    assert request["records"] == 2
    assert await a.world.value("select max(extract(epoch from at)::numeric % 3) from look_up") < 1


async def test_an_address_that_was_asked_for_lately_costs_no_call(open_asked: Any) -> None:
    a = await open_asked()
    async with a.asking():
        await a.world.route({"email": "a@gmail.com"})
        await a.until("select not exists (select from existing where state = 'due')")
        calls = await a.world.value("select count(*) from look_up")
        await a.world.value("update existing set state = 'due'")
        await a.world.value("notify fairturn_question")
        await a.until("select not exists (select from existing where state = 'due')")
        assert await a.world.value("select count(*) from look_up") == calls


async def test_a_worker_that_dies_between_question_and_answer(open_asked: Any) -> None:
    """The next holder of the lease asks again; nobody waits for the dead one beyond that."""
    a = await open_asked()
    await a.world.route({"email": "a@gmail.com"})
    a.org.faults({"kind": "slow", "seconds": 500, "times": 1})
    _, first = await a.stations(lease=0.6)
    async with Listener(a.world.dsn) as listener:
        run = asyncio.create_task(first.run(listener.bell("fairturn_question")))
        await a.until("select exists (select from destination where lease_holder is not null)")
        run.cancel()
    await a.world.value("update destination set lease_until = now() - interval '1 second'")
    a.org.faults()
    await a.answered()
    assert (await a.statuses())["a@gmail.com"][0] == "assigned"


async def test_a_caller_who_waits_is_told_who_owns_the_lead(open_asked: Any) -> None:
    """Within its deadline: a rep of ours, or by name and address the owner whom the CRM names."""
    a = await open_asked()
    a.seed(
        users=[{"name": "Olga Else", "email": "olga@crm.test"}],
        leads=[there("mine", "bob@crm.test"), there("theirs", "olga@crm.test")],
    )
    async with a.working(), Listener(a.world.dsn) as listener:
        door = RouteStation(PostgresRouter(a.world.database), Plans(await a.world.load(), a.world.load))
        journal = PostgresJournal(a.world.database)
        lane = SyncLane(door, journal, listener.bell("fairturn_change"), Accept(journal).enter)
        names = ("mine", "theirs", "new")
        events = await a.world.post(*({"email": f"{name}@gmail.com"} for name in names), lane="sync")
        told = await lane.owners(events, 15.0)
    mine, theirs, new = (told[event] for event in events)
    assert (mine.status, mine.rep, mine.pool, mine.owner) == ("assigned", "bob", "main", None)
    assert (theirs.status, theirs.rep, new.status) == ("owned", None, "assigned")
    assert theirs.owner is not None
    reply = owner(theirs, {})
    assert reply["owner"] == {"id": theirs.owner.id, "name": "Olga Else", "email": "olga@crm.test"}
    assert "Olga Else owns Lead" in str(reply["why"])


async def test_what_becomes_of_it_is_told(open_asked: Any) -> None:
    """why and leads show; reconcile has nothing to say against an owner who kept the lead."""
    a = await open_asked()
    made = a.seed(
        users=[{"name": "Olga Else", "email": "olga@crm.test"}],
        leads=[there("theirs", "olga@crm.test"), there("mine", "bob@crm.test")],
        contacts=[{"LastName": "Else", "Email": "theirs@gmail.com", "Owner": "Held"}],
    )
    await a.world.route({"email": "theirs@gmail.com"}, {"email": "mine@gmail.com"})
    await a.answered()
    await a.whole.deliver()
    reads = PostgresReads(a.world.database)
    number = await a.world.value("select id from lead where status = 'owned'")
    story = await reads.story(number)
    assert story is not None
    [line] = story.existing
    assert (line.state, line.records) == ("answered", (made["leads"][0], made["contacts"][0]))
    assert line.why == f"Olga Else owns Lead {made['leads'][0]} and keeps it; there are also {made['contacts'][0]}"
    proofs = PostgresProofs(a.world.database)
    told = (await why(reads, proofs, await a.world.load(), story)).as_json()
    assert str(made["contacts"][0]) in str(told["existing"])
    assert standing(story.line.lead).startswith("its owner in the CRM keeps it: Olga Else owns")
    wanted = await reads.leads(LeadFilter(status="owned"))
    assert [line.lead.id for line in wanted] == [number]
    crm = open_inspect("crm", a.org.settings(), client_id="crmsim-client", client_secret="crmsim-secret")
    settings = (await a.world.load()).settings
    found = await reconcile(proofs, {"crm": crm}, {}, settings, datetime(2020, 1, 1, tzinfo=UTC))
    await crm.close()
    assert (found.missing, found.owner_differs, found.checked) == ([], [], 2)


async def test_a_write_that_is_dropped_leaves_the_lead_with_its_owner(open_asked: Any) -> None:
    """The CRM has the person: giving up an update of the record gives up nothing else."""
    a = await open_asked()
    a.seed(leads=[there("mine", "bob@crm.test")])
    await a.world.route({"email": "mine@gmail.com"})
    await a.answered()
    await a.world.value("update change set state = 'failed', failed_at = now(), code = 'X', attempts = 1")
    given = await drop(
        PostgresReads(a.world.database),
        PostgresActs(a.world.database),
        await a.world.load(),
        FailedFilter(),
        By("olga"),
    )
    assert (len(given.dropped), list(given.returned)) == (1, [])
    assert await a.statuses() == {"mine@gmail.com": ("assigned", "bob")}
    assert await ok(a)


@pytest.mark.parametrize("before", ['existing = "ignore"', 'mode = "shadow"'])
async def test_who_came_before_the_destination_was_asked_is_asked_for_before_the_first_write(
    open_asked: Any, before: str
) -> None:
    """A day in shadow, then live: nobody who is in the org already is made there again, or taken from an owner."""
    a = await open_asked(crm=before)
    a.seed(users=[{"name": "Olga Else", "email": "olga@crm.test"}])
    a.seed(leads=[there("p0", "olga@crm.test"), there("p1", "Held")])
    await a.world.route(*people(3))
    assert {status for status, _ in (await a.statuses()).values()} == {"assigned"}
    deliver, ask = await a.stations(existing="ask", mode="live")
    deliver._before = ask.once_more
    async with a.running(deliver):
        await a.whole.quiet()
    assert sorted(row["Email"] for row in a.org.get("/records/Lead")["records"]) == [
        f"p{n}@gmail.com" for n in range(3)
    ]
    states = await a.world.fetch("select email, state from existing order by email")
    assert [(row["email"], row["state"]) for row in states] == [(f"p{n}@gmail.com", "answered") for n in range(3)]
    assert a.org.get("/owners")["taken"] == []
