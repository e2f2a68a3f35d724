"""From accepted events to owners, on a real database."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from fairturn.flow.station import RouteStation
from tests.flow.world import Worlds, config

TEN = ", ".join(f"r{number} = 1" for number in range(10))


def leads(count: int, start: int = 0) -> list[dict[str, object]]:
    return [{"email": f"lead{number}@gmail.com", "name": f"Lead {number}"} for number in range(start, start + count)]


async def test_a_lead_gets_its_owner_and_a_change(world: Worlds) -> None:
    w = await world(config())
    await w.route({"email": "Jane@Acme-Works.com", "company": "Acme"})
    [lead] = await w.fetch("select * from lead")
    assert (lead["status"], lead["rep_id"], lead["pool_id"], lead["rule_id"]) == ("assigned", "ann", "main", "rest")
    [change] = await w.fetch("select * from change")
    assert (change["state"], change["version"], change["owner_version"]) == ("pending", 1, 1)
    assert await w.value("select state from event") == "routed"


@pytest.mark.parametrize("stations", [1, 2, 4])
async def test_a_hundred_at_once_to_ten_reps(world: Worlds, stations: int) -> None:
    """Ten each, and no rep twice within any ten in a row, whatever the number of stations (case 21)."""
    w = await world(config(TEN), batch=7)
    for _ in range(stations - 1):
        await w.add_station(batch=7)
    await asyncio.gather(*(w.post(lead) for lead in leads(100)))

    async def drain(station: RouteStation) -> None:
        while await station.route():
            pass

    await asyncio.gather(*(drain(station) for station in w.stations))
    owners = await w.owners()
    assert Counter(owners) == {f"r{number}": 10 for number in range(10)}
    assert all(len(set(owners[start : start + 10])) == 10 for start in range(91))


async def test_case_2_one_request_and_six_give_the_same(world: Worlds) -> None:
    w = await world(config())
    await w.route(*leads(6))
    assert await w.owners() == ["ann", "bob", "cid"] * 2


async def test_case_23_and_24_later_events_take_no_turn(world: Worlds) -> None:
    w = await world(config())
    await w.route({"email": "a@one.com"})
    for again in range(5):
        await w.route({"email": "a@one.com", "score": again})
    await w.route({"email": "b@two.com"})
    await w.route({"email": "c@three.com"})
    assert await w.owners() == ["ann", "bob", "cid"]
    assert await w.value("select max(version) from change") == 6


async def test_case_27_the_same_person_twice_in_a_batch(world: Worlds) -> None:
    w = await world(config())
    await w.route({"email": "a@one.com", "n": 1}, {"email": "A@One.com", "n": 2}, {"email": "b@two.com"})
    assert await w.owners() == ["ann", "bob"]
    assert await w.value("select count(*) from lead") == 2


async def test_a_signal_waits_for_its_lead(world: Worlds) -> None:
    w = await world(config())
    await w.route({"email": "a@one.com", "score": 7}, source="enrich")
    assert await w.value("select count(*) from lead") == 0
    assert await w.value("select state from event") == "waiting"
    await w.route({"email": "a@one.com"})
    assert await w.value("select fields->'score'->>0 from lead") == "7.0"
    assert {row["state"] for row in await w.fetch("select state from event")} == {"routed"}


async def test_all_paused_then_resumed_oldest_first(world: Worlds) -> None:
    """Case 16: held with a reason; on return they go out oldest first."""
    w = await world(config())
    await w.pause("ann", "bob", "cid")
    await w.route(*leads(20))
    rows = await w.fetch("select status, reason from lead")
    assert {row["status"] for row in rows} == {"held"}
    assert "paused" in rows[0]["reason"]
    assert await w.value("select count(*) from change") == 20
    await w.resume("ann", "bob", "cid")
    assert await w.station.serve_held() == 20
    order = await w.fetch("select l.id from assignment a join lead l on l.id = a.lead_id order by a.seq")
    assert [row["id"] for row in order] == sorted(row["id"] for row in order)


async def test_case_17_a_held_lead_goes_before_a_newer_one(world: Worlds) -> None:
    w = await world(config("ann = 1"))
    await w.pause("ann")
    await w.route({"email": "first@x.com"})
    await w.resume("ann")
    await w.route({"email": "second@y.com"})
    rows = await w.fetch(
        "select l.fields->'email'->>0 as email from assignment a join lead l on l.id = a.lead_id order by seq"
    )
    assert [row["email"] for row in rows][-2:] == ["first@x.com", "second@y.com"]


async def test_twelve_people_of_one_company(world: Worlds) -> None:
    w = await world(config(TEN))
    await w.route(*({"email": f"p{number}@acme-works.com"} for number in range(12)))
    assert len(set(await w.owners())) == 1
    [owner] = set(await w.owners())
    await w.route(*leads(60))
    assert owner in (await w.owners())[12:62]


async def test_two_leads_that_prove_to_be_one_person(world: Worlds) -> None:
    """The older stays; the younger's unspent turn is given back."""
    w = await world(config())
    await w.route({"email": "a@gmail.com"})
    await w.route({"visitor": "v1"})
    await w.route({"email": "a@gmail.com", "visitor": "v1"})
    kept, gone = await w.fetch("select id, merged_into, rep_id from lead order by id")
    assert gone["merged_into"] == kept["id"]
    kinds = [row["kind"] for row in await w.fetch("select kind from assignment where lead_id is not null order by seq")]
    assert kinds == ["turn", "turn", "returned"]
    await w.route(*leads(2))
    assert (await w.owners())[-2:] == ["cid", "bob"]  # bob is owed a lead, and not at once after his last


async def test_a_config_saved_meanwhile_is_seen_in_the_turn(world: Worlds) -> None:
    w = await world(config())
    await w.apply(config("ann = 1, dee = 1"))
    await w.route(*leads(4))
    assert Counter(await w.owners()) == {"ann": 2, "dee": 2}
    kinds = [row["kind"] for row in await w.fetch("select kind from assignment order by seq")]
    assert kinds.count("left") == 2


async def test_rules_park_ignore_and_name_owners(world: Worlds) -> None:
    rules = """
[[rules]]
id = "junk"
when = "lead.email_kind == 'disposable'"
ignore = true
[[rules]]
id = "german"
when = "lead.country == 'DE'"
owner = "dora"
[[rules]]
id = "small"
when = "lead.employees < 5"
park = "00G000000000001"
[[rules]]
id = "rest"
when = "true"
pool = "main"
"""
    w = await world(config(rules=rules, reps=["dora"]))
    await w.route(
        {"email": "x@mailinator.com"},
        {"email": "hans@firma-gross.de", "country": "Germany"},
        {"email": "s@small-shop.com", "employees": 2},
        {"email": "b@big-shop.com", "employees": 2000},
    )
    rows = {row["rule_id"]: (row["status"], row["rep_id"]) for row in await w.fetch("select * from lead")}
    assert rows == {
        "junk": ("ignored", None),
        "german": ("assigned", "dora"),
        "small": ("parked", None),
        "rest": ("assigned", "ann"),
    }
    assert await w.value("select count(*) from change") == 3


async def test_a_pool_falls_back(world: Worlds) -> None:
    more = '[pools.spare]\nmembers = { zoe = 1 }\n[reps.zoe]\nname = "Zoe"\n'
    w = await world(config(pool='fallback = "spare"', more=more))
    await w.pause("ann", "bob", "cid")
    await w.route(*leads(2))
    assert await w.owners() == ["zoe", "zoe"]


async def test_wait_for_holds_no_place(world: Worlds) -> None:
    sources = (("web", 'wait_for = ["country"]\nat_most = "1h"'), ("enrich", "starts = false"))
    w = await world(config(sources=sources))
    await w.route({"email": "a@one.com"})
    assert await w.value("select status from lead") == "waiting"
    await w.route({"email": "a@one.com", "country": "FR"}, source="enrich")
    assert await w.value("select rep_id from lead") == "ann"


async def test_a_bad_event_costs_its_neighbours_nothing(world: Worlds) -> None:
    w = await world(config())
    await w.route({"email": "a@one.com"}, {"nothing": "known"}, {"email": "b@two.com"})
    states = Counter(row["state"] for row in await w.fetch("select state from event"))
    assert states == {"routed": 2, "quarantined": 1}
    assert await w.owners() == ["ann", "bob"]


async def test_case_96_an_owner_whom_the_crm_refuses(world: Worlds) -> None:
    """Out of every pool with a row for a person; the lead goes to the next rep, once."""
    w = await world(config())
    await w.route(*leads(1))
    lead = await w.value("select id from lead")
    assert await w.station.owner_refused("ann", lead, "operation performed with inactive user [005] as owner of lead")
    assert await w.value("select rep_id from lead") == "bob"
    assert "inactive user" in await w.value("select paused_reason from rep where id = 'ann'")
    assert await w.value("select object from history") == "rep ann"
    kinds = [row["kind"] for row in await w.fetch("select kind from assignment where lead_id is not null order by seq")]
    assert kinds == ["turn", "returned", "turn"]
    change = (await w.fetch("select state, version, owner_version from change"))[0]
    assert tuple(change) == ("pending", 2, 2)
    assert not await w.station.owner_refused("bob", lead, "inactive too")
    assert await w.value("select rep_id from lead") == "bob"


async def test_an_owner_is_refused_in_words_that_postgresql_cannot_hold(world: Worlds) -> None:
    w = await world(config())
    await w.route(*leads(1))
    assert await w.station.owner_refused("ann", await w.value("select id from lead"), "inactive \0 \ud83d")
    assert await w.value("select rep_id from lead") == "bob"
    assert (
        await w.value("select paused_reason from rep where id = 'ann'")
        == "the CRM refuses this owner: inactive \ufffd ?"
    )


async def test_a_kept_lead_that_took_no_turn_gives_none_back(world: Worlds) -> None:
    """A pool whose owners keep their company's leads for nothing: a refused owner is owed nothing for one of those."""
    w = await world(config(pool="counts = false"))
    await w.route({"email": "a@acme-works.com"}, {"email": "b@acme-works.com"})
    turn, kept = [row["id"] for row in await w.fetch("select id from lead order by id")]
    assert await w.station.owner_refused("ann", kept, "inactive")
    assert await w.value("select count(*) from credit") == 0
    assert await w.station.owner_refused("ann", turn, "inactive")
    assert await w.value("select count(*) from credit where kind = 'owed' and rep_id = 'ann'") == 1


async def test_two_records_of_one_person_are_listed(world: Worlds) -> None:
    """Both are in the CRM already: nothing is given back, and a person is told."""
    w = await world(config())
    await w.route({"email": "a@gmail.com"}, {"visitor": "v1"})
    await w.value("update change set confirmed = version, owner_confirmed = owner_version, state = 'done'")
    await w.route({"email": "a@gmail.com", "visitor": "v1"})
    assert await w.value("select count(*) from assignment where kind = 'returned'") == 0
    assert "merge them there" in await w.value("select reason from history where verb = 'two records'")


async def test_the_older_lead_takes_over_the_record_of_the_younger(world: Worlds) -> None:
    w = await world(config())
    await w.route({"email": "a@gmail.com"}, {"visitor": "v1"})
    _, younger = await w.fetch("select external_key from change order by lead_id")
    await w.value(
        "update change set confirmed = version, owner_confirmed = owner_version, state = 'done', record_id = '00Q1' "
        "where external_key = $1",
        younger["external_key"],
    )
    await w.route({"email": "a@gmail.com", "visitor": "v1"})
    [kept] = await w.fetch(
        "select c.external_key, c.record_id from change c join lead l on l.id = c.lead_id where l.merged_into is null"
    )
    assert (kept["external_key"], kept["record_id"]) == (younger["external_key"], "00Q1")


async def test_an_event_that_breaks_the_station_is_set_aside_alone(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever one event does to us, its neighbours get their reps; the store's own trouble sets nothing aside."""
    w = await world(config())
    plan = w.station._plans.current
    real = plan.rules.decide

    class Rules:
        def decide(self, values: dict[str, object], *rest: object) -> object:
            if values.get("email") == "boom@x-works.com":
                raise ZeroDivisionError("boom")
            return real(values, *rest)

    monkeypatch.setattr(w.station._plans, "current", replace(plan, rules=Rules()))
    await w.route({"email": "a@one.com"}, {"email": "boom@x-works.com"}, {"email": "b@two.com"})
    assert await w.owners() == ["ann", "bob"]
    assert await w.value("select problem from event where state = 'quarantined'") == "could not be routed: boom"


async def test_a_dropped_lead_that_comes_alive_takes_its_turn_again(world: Worlds) -> None:
    w = await world(config())
    await w.route(*leads(1))
    await w.value("update lead set status = 'ignored', rep_id = null, reason = 'dropped by kim: no reason given'")
    await w.route({"email": "lead0@gmail.com", "name": "Lead 0"})  # the same words again: nothing new is heard
    assert await w.value("select status from lead") == "ignored"
    await w.route({"email": "lead0@gmail.com", "score": 9})
    assert await w.value("select rep_id from lead") == "bob"
