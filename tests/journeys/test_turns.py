"""Who gets what, through the whole house."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter

from tests.journeys.house import until
from tests.journeys.proof import Journey
from tests.journeys.sender import Hook, form, strangers
from tests.journeys.settings import TEAM


async def test_a_hundred_who_wait_are_told_their_owners_at_once(journey: Journey):
    """Case 21: ten reps, ten each, and nobody twice within ten in a row."""
    await journey.house.serve()
    hooks = [Hook("chat", form(email).body) for email in strangers("chat", 100)]
    answers = await asyncio.gather(*(journey.sender.send(hook) for hook in hooks))
    told = {hook.body["email"]: said["rep"]["id"] for hook, said in zip(hooks, answers, strict=True)}
    assert sorted(Counter(told.values()).values()) == [10] * 10
    turns = await journey.house.ask("select array_agg(rep_id order by seq) from assignment where kind = 'turn'")
    assert len(turns) == 100
    assert all(len(set(turns[at : at + 10])) == 10 for at in range(91))
    await journey.proves()
    owners = {row["Email"]: row["OwnerId"] for row in await journey.crm.leads()}
    assert owners == {email: journey.crm.users[rep] for email, rep in told.items()}


async def test_everybody_paused_then_back(journey: Journey):
    """20 leads are in the org under the queue; when they come back, 20 get owners, oldest first, each a fair share."""
    house, crm = journey.house, journey.crm
    await house.serve()
    await house.command("reps", "pause", *TEAM, "--reason", "company meeting")
    await journey.sender.burst([form(email) for email in strangers("held", 20)], 1)
    await crm.wait(leads=20)
    await journey.settled()
    assert {row["OwnerId"] for row in await crm.leads()} == {crm.queue}
    code, _, complaint = await house.command("reps", "resume", *TEAM)
    assert code == 0, complaint
    await until("all have owners", lambda: house.ask("select count(*) = 20 from lead where status = 'assigned'"))
    await journey.proves()
    rows = "select rep_id, count(*) from lead group by rep_id"
    async with house.ledger() as ledger:
        counts = {row["rep_id"]: row["count"] for row in await ledger.fetch(rows)}
    assert all(abs(counts[rep] - 20 * weight / sum(TEAM.values())) < 1 for rep, weight in TEAM.items()), counts
    order = await house.ask("select array_agg(lead_id order by seq) from assignment where lead_id is not null")
    assert order == sorted(order)
    assert crm.queue not in {row["OwnerId"] for row in await crm.leads()}


async def test_junk_takes_no_turn(journey: Journey):
    """40 of 100: colleagues, test addresses, ten-minute mailboxes."""
    junk = [f"colleague{n}@seller.com" for n in range(14)]
    junk += [f"someone{n}@example.com" for n in range(13)] + [f"gone{n}@mailinator.com" for n in range(13)]
    emails = junk + strangers("real", 60)
    random.Random(40).shuffle(emails)
    journey.ignored.update(junk)
    await journey.house.serve()
    await journey.sender.burst([form(email) for email in emails], 2)
    await journey.proves()
    assert await journey.house.ask("select count(*) from assignment where lead_id is not null") == 60
    assert await journey.house.ask("select given from pool where id = 'team'") == 60


async def test_one_webhook_46_times_across_restarts(journey: Journey):
    """Case 55: one event, one turn, one write."""
    house = journey.house
    serving = await house.serve()
    again = form("again@again.com")
    for number in (signal.SIGKILL, signal.SIGTERM):
        await asyncio.gather(*(journey.sender.send(again) for _ in range(15)))
        await journey.settled()
        serving = await house.again(serving, number)
        await house.ready(serving)
    await asyncio.gather(*(journey.sender.send(again) for _ in range(16)))
    await journey.proves()
    assert len(journey.sender.answers) == 46
    assert await house.ask("select count(*) from event") == 1
    assert await house.ask("select count(*) from assignment where lead_id is not null") == 1
    assert await house.ask("select count(*) from batch") == 1
    assert (await journey.crm.summary())["rows"] | {"refused": 0} == {"created": 1, "updated": 0, "refused": 0}
