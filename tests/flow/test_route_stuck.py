"""Held leads that nothing may leave lying: behind others, under a pool or rule that is gone, or by bad settings."""

import asyncio
from collections import Counter

import asyncpg
import pytest

from fairturn.errors import ConfigError, Fault
from fairturn.flow import turns
from tests.flow.test_route_concurrency import somebody_waits
from tests.flow.whole import people
from tests.flow.world import Worlds, config

GERMAN = """
[[rules]]
id = "german"
when = 'lead.language == "de"'
pool = "main"
require = { language = "de" }

[[rules]]
id = "rest"
when = "true"
pool = "main"
"""
SPEAKER = '[reps.ann.attributes]\nlanguage = ["de"]\n'


async def test_many_who_wait_for_one_rep_do_not_hide_those_behind_them(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are away; 25 wait for the one who speaks German, then ten for anybody. Anybody comes back."""
    monkeypatch.setattr(turns, "HELD", 5)
    w = await world(config("ann = 1, bob = 1", rules=GERMAN, more=SPEAKER))
    await w.pause("ann", "bob")
    await w.route(*people(25, language="de"), *people(10, 25))
    await w.resume("bob")
    for _ in range(3):  # polls
        await w.station.serve_held()
    assert await w.value("select count(*) from lead where status = 'assigned'") == 10
    assert await w.owners() == ["bob"] * 10
    order = await w.fetch("select lead_id from assignment where kind = 'turn' order by seq")
    assert [row[0] for row in order] == sorted(row[0] for row in order)
    await w.resume("ann")
    while await w.station.serve_held():
        pass
    assert Counter(await w.owners()) == {"bob": 10, "ann": 25}
    order = await w.fetch("select lead_id from assignment where kind = 'turn' and rep_id = 'ann' order by seq")
    assert [row[0] for row in order] == sorted(row[0] for row in order)


async def test_held_leads_whose_pool_leaves_the_settings_are_judged_anew(world: Worlds) -> None:
    two = '[[rules]]\nid = "rest"\nwhen = "true"\npool = "{}"\n'
    w = await world(config(rules=two.format("other"), more="[pools.other]\nmembers = { bob = 1 }\n"))
    await w.pause("bob")
    await w.route(*people(3))
    await w.apply(config(rules=two.format("main")))
    begun = await w.add_station()  # as a worker does for other settings
    assert await begun.serve_orphans() == 3
    assert await w.owners() == ["ann", "cid", "ann"]
    assert await begun.serve_orphans() == 0


async def test_held_leads_whose_rule_is_renamed_keep_its_filter(world: Worlds) -> None:
    """Nobody gets a German lead who does not speak it, just because the rule bears another name now."""
    w = await world(config("ann = 1, bob = 1", rules=GERMAN, more=SPEAKER))
    await w.pause("ann", "bob")
    await w.route(*people(2, language="de"))
    await w.apply(config("ann = 1, bob = 1", rules=GERMAN.replace('"german"', '"deutsch"'), more=SPEAKER))
    await w.resume("bob")
    await w.station.serve_held()
    await w.route(*people(1, 10))
    assert await w.value("select count(*) from lead where status = 'held'") == 2
    await w.station.serve_orphans()
    await w.resume("ann")
    await w.station.serve_held()
    assert await w.owners() == ["bob", "ann", "ann"]
    assert {row[0] for row in await w.fetch("select rule_id from lead")} == {"deutsch", "rest"}


async def test_held_leads_go_to_the_rep_of_their_company(world: Worlds) -> None:
    w = await world(config("ann = 1, bob = 1, cid = 1"))
    await w.route({"email": "a@acme-works.com"})
    await w.pause("ann", "bob", "cid")
    await w.route(*people(3), {"email": "b@acme-works.com"})
    await w.resume("ann", "bob", "cid")
    await w.station.serve_held()
    assert len(await w.fetch("select distinct rep_id from lead where account_id is not null")) == 1


async def test_held_leads_are_filtered_by_what_fairturn_works_out(world: Worlds) -> None:
    """`email_kind` is in no event, and a held lead has it all the same."""
    rules = GERMAN.replace('lead.language == "de"', 'lead.email_kind == "work"').replace(
        '{ language = "de" }', '{ desk = "{lead.email_kind}" }'
    )
    w = await world(config("ann = 1, bob = 1", rules=rules, more='[reps.ann.attributes]\ndesk = ["work"]\n'))
    await w.pause("ann")
    await w.route({"email": "a@one-works.com"})
    await w.station.serve_held()
    assert await w.value("select status from lead") == "held"


async def test_settings_that_this_process_cannot_read_set_no_event_aside(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saved by a newer release, say: the events wait until somebody can read them."""
    w = await world(config())
    await w.apply(config("ann = 1, bob = 1"))

    async def refuse() -> None:
        raise ConfigError((Fault("unknown key", "upgrade"),))

    monkeypatch.setattr(w.station._plans, "refresh", refuse)
    await w.post(*people(3))
    with pytest.raises(ConfigError):
        await w.station.route()
    assert await w.value("select count(*) from event where state = 'pending'") == 3
    monkeypatch.undo()
    await w.route()
    assert await w.value("select count(*) from lead where status = 'assigned'") == 3


async def test_the_heaviest_weights_and_the_narrowest_filter(world: Worlds) -> None:
    """Far more leads for one than her share: her balance goes where 64 bits end, and she still gets them."""
    reps = ["ann", *(f"r{number}" for number in range(99))]
    members = ", ".join(f"{rep} = 10000" for rep in reps)
    w = await world(config(members, rules=GERMAN, more=SPEAKER))
    await w.route(*people(2, language="de"))
    # As 50,000 more of them would have left it.
    more = 232_792_560 * 1_000_000 * 49_500
    await w.value("update rotation set balance = balance - $1::numeric where rep_id = 'ann'", more)
    await w.value("update rotation set balance = balance + $1::numeric where rep_id = 'r0'", more)
    await w.route(*people(3, 10, language="de"))
    assert await w.value("select count(*) from event where state = 'quarantined'") == 0
    assert (await w.owners())[-3:] == ["ann"] * 3


async def test_signals_that_wait_for_each_others_keys_all_find_their_lead(world: Worlds) -> None:
    """One names two keys, the next the second and a third: the lead that comes for the first is all of theirs."""
    w = await world(config().replace('ids = { visitor = "visitor" }', 'ids = { visitor = "visitor", k = "k" }'))
    for payload in ({"visitor": "v", "k": 1}, {"k": 1, "email": "a@gmail.com"}, {"email": "a@gmail.com", "score": 7}):
        await w.route(payload, source="enrich")
    assert await w.value("select count(*) from event where state = 'waiting'") == 3
    await w.route({"email": "b@gmail.com"}, {"k": 1, "visitor": "other"}, source="enrich")
    await w.route({"email": "a@gmail.com", "name": "Ann A"})
    states = await w.fetch("select state, count(*) from event group by 1")
    assert {row["state"]: row["count"] for row in states} == {"routed": 5, "waiting": 1}
    assert await w.value("select fields->'score'->>0 from lead") == "7.0"


async def test_a_signal_that_another_station_has_in_hand_is_waited_for(world: Worlds) -> None:
    """It is named by the keys of two leads. The other station rolls back; ours must not have passed it over."""
    w = await world(config(sources=(("web", ""), ("enrich", "starts = false\nrank = 1"))))
    await w.route({"email": "a@gmail.com", "visitor": "v", "score": 7}, source="enrich")
    other = await asyncpg.connect(w.dsn)
    transaction = other.transaction()
    await transaction.start()
    await other.execute("select from event where state = 'waiting' for update")
    [event] = await w.post({"email": "a@gmail.com"})
    ours = asyncio.create_task(w.station.route([event]))
    await somebody_waits(w)
    await transaction.rollback()
    await other.close()
    await ours
    assert await w.value("select fields->'score'->>0 from lead") == "7.0"
