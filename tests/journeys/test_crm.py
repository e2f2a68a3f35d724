"""The org answers nothing, answers after all, is away for half an hour, is changed by people, is paused."""

from __future__ import annotations

from tests.journeys.conftest import Begin
from tests.journeys.crm import Simulator
from tests.journeys.house import until
from tests.journeys.proof import Journey
from tests.journeys.sender import form, people, strangers, visits


async def test_no_answer_for_a_while(begin: Begin):
    """Requests hang beyond their time-out: the first two before any work, the third after its commit (case 91).

    It is nobody's fault, so that one permitted attempt is enough.
    """
    async with begin(crm_more={"max_attempts": 1}) as journey:
        await journey.crm.faults(
            {"kind": "hang", "on": "write", "nth": [2, 3], "seconds": 3.0, "then": "reset"},
            {"kind": "hang", "on": "write", "nth": [4], "seconds": 3.0, "commit": True},
        )
        await journey.house.serve()
        await journey.sender.burst(visits(people("lead", 60)), 5)
        await journey.proves()
        summary = await journey.crm.summary()
        assert [line["fired"] for line in summary["faults"]] == [2, 1]
        assert summary["undelivered"] == 3
        assert await journey.house.ask("select count(*) from write where outcome = 'unknown'") > 0


async def test_answers_lost_after_the_commit(journey: Journey):
    """Case 91: reset, cut off, a gateway's time-out and an answer without rows, each after the org had committed."""
    await journey.crm.faults(
        {"kind": "reset_after", "on": "write", "nth": [1, 3]},
        {"kind": "broken", "on": "write", "nth": [5]},
        {"kind": "gateway_timeout", "on": "write", "nth": [6], "commit": True},
        {"kind": "silent", "on": "write", "nth": [7], "commit": True},
    )
    await journey.house.serve()
    async with journey.sender.stream("lead"):
        await journey.crm.wait(write_requests=8)
    await journey.proves()
    assert [line["fired"] for line in (await journey.crm.summary())["faults"]] == [2, 1, 1, 1]


async def test_half_an_hour_of_outage(begin: Begin, fast_org: Simulator):
    """Case 104: 100 leads during 30 minutes of 503: none failed, oldest first when it is back, no stampede."""
    async with begin(org=fast_org, crm_more={"max_attempts": 1}) as journey:
        house, crm = journey.house, journey.crm
        await house.serve()
        await journey.sender.send(form("before@before.com"))
        await journey.settled()
        await crm.faults({"kind": "unavailable", "on": "any", "until": 1800 * fast_org.scale})
        committed = (await crm.numbers())["committed"]
        await journey.sender.burst([form(email) for email in strangers("lead", 100)], 6)
        await crm.wait(60, committed=committed + 1)
        await journey.proves()
        assert await house.ask("select count(*) from history where verb = 'pause'") == 0
        refused = [row for row in (await crm.get("/requests"))["requests"] if row["status"] == 503]
        assert 2 <= len(refused) <= 8, "a probe now and then, not a request per lead"
        order = await house.ask(WRITTEN)
        assert order == sorted(order)


async def test_the_owner_whom_a_person_set_stands(journey: Journey):
    """Enrichment never carries an owner."""
    emails = strangers("taken", 6)
    await journey.house.serve()
    await journey.sender.burst([form(email) for email in emails], 0.5)
    await journey.settled()
    owners = {row["Email"]: row["OwnerId"] for row in await journey.crm.leads()}
    for email in emails[:3]:
        other = next(user for user in journey.crm.users.values() if user != owners[email])
        journey.by_hand[email] = other
        await journey.crm.post("/owner", {"object": "Lead", "email": email, "owner": other, "by": "a manager"})
    await journey.sender.burst([hook for hook in visits(emails) if hook.source == "enrichment"], 1)
    await journey.proves()


async def test_a_paused_destination_stops_neither_intake_nor_turns(journey: Journey):
    house = journey.house
    await house.serve()
    await journey.sender.burst([form(email) for email in people("first", 10)], 0.5)
    await journey.settled()
    await house.command("destinations", "pause", "crm", "--reason", "the org is being moved")
    seen = (await journey.crm.numbers())["write_requests"]
    await journey.sender.burst([form(email) for email in people("second", 30)], 2)
    await until("all have owners", lambda: house.ask("select count(*) = 40 from lead where status = 'assigned'"))
    assert (await journey.crm.numbers())["write_requests"] == seen
    [shown] = await house.cli("destinations", "list")
    assert "the org is being moved" in str(shown)
    await house.command("destinations", "resume", "crm")
    await journey.proves()


async def test_a_session_that_dies_in_the_middle_is_renewed_once(journey: Journey):
    """Case 115: 401 is refreshed and resent; both kinds of REQUEST_LIMIT_EXCEEDED are waited out; nothing fails."""
    await journey.crm.faults(
        {"kind": "expired_session", "on": "write", "nth": [2]},
        {"kind": "concurrent_limit", "on": "write", "nth": [4]},
    )
    await journey.house.serve()
    async with journey.sender.stream("lead"):
        await journey.crm.wait(write_requests=5)
    await journey.sender.send(form("last@last.com"))
    await journey.settled()
    assert (await journey.crm.numbers())["token_requests"] == 2
    await journey.proves()


WRITTEN = """
select array_agg(w.lead_id order by w.batch_id, w.oldest_event_at) from write w where w.outcome = 'written'
"""
