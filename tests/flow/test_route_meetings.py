"""Two leads that prove to be one person, at awkward moments: nobody is lost, nobody is in the CRM twice."""

from typing import Any

import pytest

from tests.flow.whole import Whole, Wholes, reps
from tests.flow.world import Worlds, config


async def test_leads_that_meet_after_the_pool_of_one_left_the_settings(world: Worlds) -> None:
    """There is no rotation left to give the turn back to; the event is the older lead's all the same."""
    two = '[[rules]]\nid = "rest"\nwhen = "true"\npool = "{}"\n'
    other = "[pools.other]\nmembers = { bob = 1 }\n"
    w = await world(config(rules=two.format("main"), more=other))
    await w.route({"email": "a@gmail.com"})
    await w.apply(config(rules=two.format("other"), more=other))
    await w.route({"visitor": "v1"})
    await w.apply(config(rules=two.format("main")))
    await w.route({"email": "a@gmail.com", "visitor": "v1"})
    states = await w.fetch("select state, problem from event where state <> 'routed'")
    assert [dict(row) for row in states] == []
    assert await w.value("select count(*) from lead where merged_into is null") == 1


@pytest.mark.parametrize("standing", ["held", "waiting", "parked", "assigned"])
async def test_an_ignored_lead_that_meets_one_with_a_claim_takes_it_over(world: Worlds, standing: str) -> None:
    """The older was nobody's, an anonymous visitor; the younger waits for its owner. The person must not be lost."""
    action = 'park = "00G000000000001"' if standing == "parked" else 'pool = "main"'
    text = (
        '[[rules]]\nid = "unknown"\nwhen = "!known.email && !known.company"\nignore = true\n'
        f'[[rules]]\nid = "rest"\nwhen = "true"\n{action}\n'
    )
    wait = 'wait_for = ["company"]\nat_most = "1h"' if standing == "waiting" else ""
    w = await world(config(rules=text, sources=(("web", ""), ("form", wait))))
    await w.route({"visitor": "v1"})
    if standing == "held":
        await w.pause("ann", "bob", "cid")
    await w.route({"email": "a@gmail.com", "visitor": "v2"}, source="form")
    assert await w.value("select status from lead order by id desc limit 1") == standing
    await w.route({"email": "a@gmail.com", "visitor": "v1"})
    kept = await w.fetch("select status, park from lead where merged_into is null")
    assert [row["status"] for row in kept] == ["assigned" if standing == "waiting" else standing]
    told = "select count(*) from change c join lead l on l.id = c.lead_id where l.merged_into is null"
    assert await w.value(told) == 1
    if standing == "parked":
        assert kept[0]["park"] == {"crm": "00G000000000001"}


def live(w: Whole) -> list[dict[str, Any]]:
    return [row for row in w.org.get("/records/Lead")["records"] if not row["_deleted"]]


FLYING = "select count(*) from change where state = 'in_flight'"
TOLD = """
select count(*) from change c join lead l on l.id = c.lead_id
where l.merged_into is null and c.state = 'done' and c.confirmed = c.version
"""


async def test_the_younger_is_in_flight_when_they_meet(open_whole: Wholes) -> None:
    """The CRM makes its record a moment later; the older must become that record's and not make a second one."""
    w = await open_whole(reps(["ann", "bob"]))
    await w.world.route({"visitor": "v1", "email": "a@gmail.com", "city": "Kiel"})
    await w.world.value("update change set due_at = now() + interval '1 hour'")
    await w.world.route({"visitor": "v2", "email": "b@gmail.com"})
    w.org.post("/latency", {"fixed": 50, "per_record": 0})  # a second in real time
    async with w.delivering():
        await w.desk.asked(1)
        await w.world.route({"visitor": "v1", "email": "b@gmail.com"})
        await w.world.value("update change set due_at = 'epoch'")
        assert await w.world.value(FLYING) == 1
        await w.until_value(TOLD, 1)
        await w.until_value(FLYING, 0)
    assert [row["City"] for row in live(w)] == ["Kiel"]
    assert w.owners() == {"b@gmail.com": "ann"}
    assert w.org.get("/summary")["overlaps"] == 0
    kinds = await w.world.fetch("select kind, rep_id from assignment where lead_id is not null order by seq")
    assert [tuple(row) for row in kinds] == [("turn", "ann"), ("turn", "bob"), ("returned", "bob")]


async def test_the_answer_about_the_younger_was_lost_before_they_met(open_whole: Wholes) -> None:
    """Its record is in the CRM and we do not know: the older writes under the younger's key all the same."""
    w = await open_whole(reps(["ann", "bob"]))
    await w.world.route({"visitor": "v1", "email": "a@gmail.com"})
    await w.world.value("update change set due_at = now() + interval '1 hour'")
    await w.world.route({"visitor": "v2", "email": "b@gmail.com"})
    w.org.faults({"kind": "reset_after", "on": "write", "nth": [1]})
    async with w.delivering():
        await w.until_value("select count(*) from write where outcome = 'unknown'", 1)
        await w.world.value("update destination set blocked_until = now() + interval '1 hour'")
    await w.world.route({"visitor": "v1", "email": "b@gmail.com"})
    await w.world.value("update change set due_at = 'epoch'")
    await w.world.value("update destination set blocked_until = null, failures = 0")
    async with w.delivering():
        await w.until_value(TOLD, 1)
    assert len(live(w)) == 1
    assert w.owners() == {"b@gmail.com": "ann"}


@pytest.mark.parametrize("standing", ["ignored", "waiting"])
async def test_an_older_that_was_never_told_to_the_crm_meets_one_that_is_there(
    open_whole: Wholes, standing: str
) -> None:
    text = config(
        "ann = 1, bob = 1",
        rules='[[rules]]\nid = "unknown"\nwhen = "!known.email"\nignore = true\n'
        '[[rules]]\nid = "rest"\nwhen = "true"\npool = "main"\n',
        sources=(("web", ""), ("chat", 'wait_for = ["company"]\nat_most = "1h"' if standing == "waiting" else "")),
    )
    w = await open_whole(text)
    await w.world.route({"visitor": "v1"}, source="chat")
    await w.world.route({"email": "a@gmail.com"})
    await w.deliver()
    await w.world.route({"email": "a@gmail.com", "visitor": "v1", "city": "Kiel"}, source="chat")
    await w.deliver()
    assert await w.world.value("select count(*) from lead where merged_into is null") == 1
    assert [row["City"] for row in live(w)] == ["Kiel"]
    assert w.owners() == {"a@gmail.com": "ann"}
    # A third that meets them later finds that there is a record.
    await w.world.route({"visitor": "v3", "email": "c@gmail.com"})
    await w.deliver()
    await w.world.route({"visitor": "v3", "email": "a@gmail.com"})
    assert await w.world.value("select count(*) from history where verb = 'two records'") == 1


async def test_a_source_on_trial_keeps_nobody_out_of_the_crm(open_whole: Wholes) -> None:
    """A person heard of by a shadow source, then by a live one, is written; so is one who turns out to be two leads."""
    w = await open_whole(config("ann = 1, bob = 1", sources=(("web", ""), ("trial", 'mode = "shadow"'))))
    await w.world.route({"email": "a@gmail.com"}, {"visitor": "v1"}, source="trial")
    await w.deliver()
    assert live(w) == []
    await w.world.route({"email": "a@gmail.com"}, {"email": "b@gmail.com"})
    await w.world.route({"email": "b@gmail.com", "visitor": "v1"}, source="trial")
    async with w.delivering():
        await w.until_value(TOLD, 2)
    assert w.owners() == {"a@gmail.com": "ann", "b@gmail.com": "bob"}
