"""Orgs that are not empty, on an ordinary day: who is there is found, whose owner stands is left, a bad value costs no
lead, and requests are few. Each number is the simulator's.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from fairturn.cli import app
from tests.flow.orgs import EACH, MINUTE, Org, Site, person, site, strangers

WORDS = {
    "salesforce": {"code": "INVALID_EMAIL_ADDRESS", "message": "Email: invalid email address: pat.e17@nowhere"},
    "hubspot": {"code": "INVALID_EMAIL", "message": "Email address pat.e17@nowhere is invalid [email]"},
}


@EACH
async def test_fifty_records_of_which_one_has_a_malformed_address(database: str, crm: Org) -> None:
    """One request writes 49, whether or not the CRM has their firms; one is failed, with the CRM's message.

    HubSpot takes the others of a batch in the same request too, because each input bears a trace id of its own.
    """
    people = strangers(50)
    people[17] = person("pat.e17@nowhere", company="New 17")
    # Nobody is asked for such an address, so that its lead would leave before the others: it waits for company.
    async with site(database, crm.text(linger="2s", max_wait="4s")) as w:
        async with w.working():
            await w.send(people)
            await w.settled(50)
        assert await w.states() == {"done": 49, "failed": 1}
        assert await w.failures() == [{"email": "pat.e17@nowhere"} | WORDS[crm.kind]]
    [write] = crm.writes()
    assert (write["records"], len(crm.records())) == (50, 49)
    assert Counter(row["outcome"] for row in write["rows"]) == {"created": 49, WORDS[crm.kind]["code"]: 1}


# What is there of 300, and whose owners stay.
THERE = {
    "salesforce": {"owned": 100, "queue": 50, "inactive": 50, "converted": 50, "contacts": 50},
    "hubspot": {"owned": 50, "secondary": 50, "unowned": 50, "inactive": 100, "recycled": 50},
}
STAY = ("owned", "secondary", "converted", "contacts")


@EACH
async def test_five_hundred_leads_of_whom_three_hundred_are_there(database: str, crm: Org) -> None:
    """No new record for the 300, no owner taken from somebody active, at most 80 data requests, look-ups included."""
    made = crm.post("/seed", {"people": THERE[crm.kind] | {"domain": "gmail.com", "seed": 7}})["people"]
    assert Counter(one["kind"] for one in made) == THERE[crm.kind]
    before = crm.records_by_id()
    leads = [person(one["email"], title="CTO") for one in made] + strangers(200)
    leads = [leads[place * 7 % 500] for place in range(500)]  # those who are there come at any moment of the minute
    async with site(database, crm.text(recycle_statuses=["Unqualified"])) as w:
        async with w.working():
            await w.send(leads, MINUTE)
            await w.settled(500)
        await w.proves(crm, 500)
        requests, told = len(crm.requests()), crm.summary()["data_requests"]
        found = await w.reconciled()
    assert (found.ok, found.owner_differs, found.checked) == (True, [], 500)
    after, evidence = crm.records_by_id(), crm.get("/owners")
    recycled = {one["contact"] for one in made if one["kind"] == "recycled"}  # whoever has them
    assert (evidence["added"], set(evidence["taken"]) - recycled) == ([], set())
    assert len(after) == len(before) + 200
    ours = {crm.ids()[rep] for rep in ("ann", "bob")}
    for one in made:
        record = one.get("contact") or one["lead"]
        assert crm.owner(after[record]) in ({one["owner"]} if one["kind"] in STAY else ours), one
        assert after[record][crm.title] == "CTO"
        assert after[record][crm.key], one
    print(f"{crm.kind}: {requests} requests, {len(crm.writes())} of them writes")
    assert requests == told <= 80


@EACH
async def test_twenty_leads_moved_by_a_person_and_then_enriched(database: str, crm: Org) -> None:
    """Half to the other rep, half to somebody of whom Fairturn knows nothing: 20 owners stand."""
    leads, ids = strangers(20), crm.ids()
    moved = {}
    async with site(database, crm.text()) as w:
        async with w.working():
            await w.send(leads)
            await w.settled(20)
            for place, (email, owner) in enumerate(sorted(crm.owners_of().items())):
                other = ids["olga"] if place % 2 else next(ids[rep] for rep in ("ann", "bob") if ids[rep] != owner)
                crm.moved_by_a_person(email, other)
                moved[email] = other
            await w.send([{"email": one["email"], "title": "Chief Buyer"} for one in leads], source="enrich")
            await w.settled(40)
        await w.proves(crm, 20)
        found = await w.reconciled()
    assert {row["email"] for row in found.owner_differs} == set(moved)
    assert crm.owners_of() == moved
    assert {row[crm.title] for row in crm.records()} == {"Chief Buyer"}
    numbers = crm.summary()["owners"]
    assert (numbers["moved_by_hand"], numbers["moved_by_api"]) == (20, 0)


FIELDS = {
    "salesforce": {"Segment__c": '"segment"', "State": '"state"', "Country": '"country"'},
    "hubspot": {"segment": '"segment"'},
}
WITHOUT = {"salesforce": {"Segment__c": 25, "State": 25}, "hubspot": {"segment": 50}}


@EACH
async def test_fifty_leads_with_a_value_that_the_org_does_not_take(database: str, crm: Org, tmp_path: Path) -> None:
    """A picklist's unknown word, a state that is none: 50 written in two requests, and 50 listed by the command."""
    leads = strangers(50)
    for lead in leads:
        lead["segment"] = "Nobody knows"
    if crm.kind == "salesforce":
        crm.post("/switches", {"state_picklists": True})
        for lead in leads[::2]:
            lead |= {"segment": "SMB", "state": "Nowhere", "country": "US"}
    async with site(database, crm.text(FIELDS[crm.kind])) as w:
        async with w.working():
            await w.send(leads)
            await w.settled(50)
        await w.proves(crm, 50)
        listed = await told(w, tmp_path, "failed", "list", "--without", "--json")
    assert crm.emails() == Counter(str(lead["email"]) for lead in leads)
    assert len({row["lead"] for row in listed}) == 50
    assert Counter(name for row in listed for name in row["without"]) == WITHOUT[crm.kind]
    assert len(crm.writes()) == 2


async def told(w: Site, folder: Path, *words: str) -> Any:
    """What a command says, to somebody in the folder of the settings."""
    file = folder / "fairturn.toml"
    file.write_text(f'database_url = "{w.world.dsn}"\n{w.world.text}')
    env = {"FAIRTURN_CONFIG": str(file), "COLUMNS": "160"}
    said = await asyncio.to_thread(CliRunner().invoke, app, list(words), env=env, catch_exceptions=False)
    assert said.exit_code == 0, said.output
    return json.loads(said.stdout)
