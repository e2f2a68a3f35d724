"""Who gets what, as the CRM sees it: owners that cannot own, people who change owners, repeats, returns."""

from collections import Counter

from tests.flow.test_route_concurrency import Run, somebody_waits
from tests.flow.whole import Wholes, people, reps
from tests.flow.world import Worlds, config


async def test_case_11_a_user_deactivated_after_the_routing(open_whole: Wholes) -> None:
    """Six leads for three reps, one of them inactive in the org: three each for the others, each written once."""
    w = await open_whole(reps(["ann", "gone", "bob"]))
    await w.world.route(*people(6))
    async with w.delivering():
        await w.until_value("select count(*) from change where state = 'done'", 6)
    assert Counter(w.owners().values()) == {"ann": 3, "bob": 3}
    assert await w.world.value("select count(*) from rep where paused_at is not null") == 1
    assert "inactive" in await w.world.value("select paused_reason from rep where id = 'gone'")
    assert await w.world.value("select count(*) from history where object = 'rep gone'") == 1
    # The others did not wait for the second try.
    outcomes = await w.world.fetch("select batch_id, outcome from write order by batch_id")
    first = [row["outcome"] for row in outcomes if row["batch_id"] == outcomes[0]["batch_id"]]
    assert Counter(first) == {"written": 4, "refused": 2}
    # Out of every pool: the next ones go past him.
    await w.world.route(*people(4, 10))
    await w.deliver()
    assert "gone" not in w.owners().values()
    assert w.org.get("/summary")["duplicated"] == 0


async def test_case_11_the_only_rep_is_inactive(open_whole: Wholes) -> None:
    """Nobody is left: the lead is in the CRM under the queue, held, and given out when somebody is there."""
    w = await open_whole(reps(["gone"]))
    await w.world.route(*people(2))
    async with w.delivering():
        await w.until_value("select count(*) from change where state = 'done'", 2)
    assert set(w.owners().values()) == {"queue"}
    assert await w.world.value("select count(*) from lead where status = 'held'") == 2
    await w.world.apply(reps(["gone", "ann"]))
    await w.world.station.serve_held()
    assert await w.world.station.serve_held() == 0
    await w.deliver()
    assert set(w.owners().values()) == {"ann"}


async def test_case_11_the_next_rep_is_inactive_too(open_whole: Wholes) -> None:
    """Routed again once; then it is in the list of failed writes, with the CRM's words, and both reps are paused."""
    w = await open_whole(reps(["gone", "left"]))
    w.org.users["left"] = w.org.post("/seed", {"users": [{"name": "Left", "email": "l@crm.test", "active": False}]})[
        "users"
    ][0]["id"]
    await w.world.route(*people(1))
    async with w.delivering():
        await w.until_value("select count(*) from change where state = 'failed'", 1)
        await w.until_value("select count(*) from rep where paused_at is not null", 2)
    (failed,) = await w.failed()
    assert failed["code"] == "INACTIVE_OWNER_OR_USER"


async def test_case_11_a_rep_who_leaves_the_settings_before_the_write(open_whole: Wholes) -> None:
    """The lead is routed again at once, nobody is owed anything, and a return to the settings finds no pause."""
    w = await open_whole(reps(["ann", "bob"]))
    await w.world.route(*people(2))
    await w.world.apply(reps(["bob"]))
    await w.world.station._plans.refresh()
    del w.org.users["ann"]
    async with w.delivering():
        await w.until_value("select count(*) from change where state = 'done' and owner_confirmed > 0", 2)
    assert w.owners() == {"p0@gmail.com": "bob", "p1@gmail.com": "bob"}
    assert await w.world.value("select count(*) from rep where paused_at is not null") == 0
    assert await w.world.value("select count(*) from credit where closed_seq is null") == 0


async def test_case_11_an_owner_named_to_a_caller_who_waited_is_final(open_whole: Wholes) -> None:
    """A meeting was booked with him: the write fails for a person to see, and he gets nothing further."""
    w = await open_whole(reps(["gone", "ann"]))
    await w.world.station.route(await w.world.post({"email": "p0@gmail.com"}, lane="sync"))
    await w.world.route(*people(2, 1))
    async with w.delivering():
        await w.until_value("select count(*) from change where state = 'done'", 2)
        await w.until_value("select count(*) from change where state = 'failed'", 1)
        await w.until_value("select count(*) from rep where paused_at is not null", 1)
    assert w.owners() == {"p1@gmail.com": "ann", "p2@gmail.com": "ann"}
    assert await w.world.value("select rep_id from lead order by id limit 1") == "gone"
    (failed,) = await w.failed()
    assert (failed["email"], failed["code"]) == ("p0@gmail.com", "INACTIVE_OWNER_OR_USER")


async def test_case_10_only_turns_of_the_pool_move_its_rotation(open_whole: Wholes) -> None:
    """A lead with a rep's own address, one that a person gave to bob in the CRM, one that bob owned there before."""
    w = await open_whole(reps(["ann", "bob"]))
    w.org.post("/seed", {"leads": [{"LastName": "Old", "Company": "Old", "Email": "old@old.com", "Owner": "Bob"}]})
    await w.world.route({"email": "bob@crm.test", "name": "Bob"}, {"email": "x@gmail.com", "name": "X"})
    await w.deliver()
    assert w.owners()["bob@crm.test"] == "ann"
    w.org.post("/owner", {"object": "Lead", "email": "bob@crm.test", "owner": "bob@crm.test"})
    await w.world.route(*people(4))
    await w.deliver()
    assert Counter(w.owners()[f"p{n}@gmail.com"] for n in range(4)) == {"ann": 2, "bob": 2}
    assert w.owners()["bob@crm.test"] == "bob"
    assert w.owners()["old@old.com"] == "bob"


async def test_case_26_another_automation_flips_the_owner_back(open_whole: Wholes) -> None:
    """Three times: the queue stands, we write no owner again, no turn is used."""
    w = await open_whole(reps(["ann", "bob"]))
    await w.world.route({"email": "l1@gmail.com", "name": "L One"})
    await w.deliver()
    assert w.owners() == {"l1@gmail.com": "ann"}
    for turn in range(3):
        w.org.post("/owner", {"object": "Lead", "email": "l1@gmail.com", "owner": w.org.queue})
        await w.world.route({"email": "l1@gmail.com", "city": f"City {turn}"})
        await w.deliver()
        assert w.owners() == {"l1@gmail.com": "queue"}
        assert w.records()["l1@gmail.com"]["City"] == f"City {turn}"
    rows = await w.world.fetch("select owner from write order by batch_id")
    assert [row["owner"] for row in rows] == ["ann", None, None, None]
    assert await w.world.owners() == ["ann"]
    await w.world.route({"email": "l2@gmail.com"})
    assert await w.world.owners() == ["ann", "bob"]


async def test_case_24_updates_while_its_rep_is_away_move_nothing(open_whole: Wholes) -> None:
    w = await open_whole(reps(["ann", "bob"]))
    await w.world.route({"email": "l1@gmail.com"})
    await w.deliver()
    await w.world.pause("ann")
    for turn in range(3):
        await w.world.route({"email": "l1@gmail.com", "city": f"City {turn}"})
        await w.deliver()
    await w.world.resume("ann")
    await w.world.route({"email": "l2@gmail.com"})
    await w.deliver()
    assert w.owners() == {"l1@gmail.com": "ann", "l2@gmail.com": "bob"}


async def test_case_29_one_source_one_millisecond_two_leads(world: Worlds) -> None:
    w = await world(config("ann = 1, bob = 1"))
    moment = "2026-03-02T10:00:00.000Z"
    await w.route({"email": "a@gmail.com", "at": moment}, {"email": "b@gmail.com", "at": moment})
    assert await w.owners() == ["ann", "bob"]


async def test_case_3_another_process_goes_on_where_the_last_one_ended(world: Worlds) -> None:
    w = await world(config())
    await w.route(*people(4))
    w.stations.clear()
    await w.add_station()
    await w.route(*people(2, 4))
    assert await w.owners() == ["ann", "bob", "cid", "ann", "bob", "cid"]


async def test_case_9_rewritten_tables_change_no_order(world: Worlds) -> None:
    w = await world(config())
    await w.route(*people(3))
    for table in ("rotation", "rep", "pool"):
        await w.fetch(f"create table moved as select * from {table} order by 1 desc, 2 desc")
        await w.fetch("drop table moved")
        await w.fetch(f"vacuum full {table}")
    await w.fetch("update rotation set balance = balance where rep_id = 'ann'")  # its row moves to the end
    await w.route(*people(3, 3))
    assert await w.owners() == ["ann", "bob", "cid"] * 2


async def test_case_4_and_18_settings_saved_midway(world: Worlds) -> None:
    """A newcomer enters at par; a new weight counts from the next lead on."""
    w = await world(config("ann = 1, bob = 1"))
    await w.route(*people(80))
    await w.apply(config("ann = 1, bob = 1, new = 1"))
    await w.route(*people(45, 80))
    last = Counter((await w.owners())[80:])
    assert all(14 <= last[rep] <= 16 for rep in ("ann", "bob", "new"))
    await w.apply(config("ann = 3, bob = 3, new = 6"))
    await w.route(*people(40, 200))
    last = Counter((await w.owners())[125:])
    assert 19 <= last["new"] <= 21


async def test_case_14_a_rep_leaves_and_comes_back(world: Worlds) -> None:
    w = await world(config("a = 1, b = 1, c = 1, d = 1"))
    await w.route(*people(2))
    await w.apply(config("a = 1, c = 1, d = 1"))
    await w.route(*people(1, 2))
    await w.apply(config("a = 1, b = 1, c = 1, d = 1"))
    await w.route(*people(4, 3))
    owners = await w.owners()
    assert owners[:4] == ["a", "b", "c", "d"]
    assert sorted(owners[3:]) == ["a", "b", "c", "d"]


async def test_case_58_a_stalled_station_keeps_the_order_and_holds_up_nobody_else(world: Worlds) -> None:
    """Ten events of one lead, five in a station that stalls with its lock, five in another; other leads pass both."""
    w = await world(config(), batch=5)
    first = await w.post(*({"email": "l1@gmail.com", "city": f"City {n}"} for n in range(5)))
    then = await w.post(*({"email": "l1@gmail.com", "city": f"City {n}"} for n in range(5, 10)))
    stalled = Run(w, first, "turn")
    await stalled.until_held()
    blocked = Run(w, then, "nothing")
    await somebody_waits(w)
    await w.station.route(await w.post(*people(5)))
    assert await w.value("select count(*) from lead") == 5
    assert not stalled.task.done()
    await stalled.finish()
    await blocked.finish()
    assert await w.value("select fields->'city'->>0 from lead where fields->'email'->>0 = 'l1@gmail.com'") == "City 9"
    assert await w.value("select count(*) from lead") == 6
    assert len(await w.owners()) == 6


async def test_case_58_a_slow_request_keeps_the_order_and_holds_up_nobody_else(open_whole: Wholes) -> None:
    """While the request with a lead is out, its updates wait and other leads are written."""
    w = await open_whole(reps(["ann", "bob"]))
    w.org.faults({"kind": "slow", "on": "write", "nth": [1], "seconds": 10_000})
    await w.world.route({"email": "l1@gmail.com", "city": "City 0"})
    async with w.delivering(max_wait="200ms"):
        await w.desk.asked(1)
        for n in range(1, 9):
            await w.world.route({"email": "l1@gmail.com", "city": f"City {n}"})
        await w.world.route(*people(5))
        await w.until_value("select count(*) from change where state = 'done'", 5)
        assert await w.world.value("select count(*) from change where state = 'in_flight'") == 1
        w.org.post("/release", {})
        await w.quiet()
    assert w.records()["l1@gmail.com"]["City"] == "City 8"
    cities = await w.world.fetch(
        "select w.record->>'City' as city from write w join lead l on l.id = w.lead_id"
        " where l.fields->'email'->>0 = 'l1@gmail.com' order by batch_id"
    )
    assert [row["city"] for row in cities] == ["City 0", "City 8"]
