"""Reconcile in orgs that are not empty: who was there twice before us is no fault of ours, a double of ours is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fairturn.desk import Found, Sent
from fairturn.model import Batch, Outgoing, Written
from fairturn.operate.reconcile import Reconciled, judge
from tests.flow.orgs import EACH, SALESFORCE, HubSpotOrg, Org, SalesforceOrg, Site, person, site, strangers


async def written(w: Site, *people: dict[str, object], all_in_all: int | None = None) -> None:
    async with w.working():
        await w.send(people)
        await w.settled(all_in_all or len(people))


async def made_by_us(crm: Org, email: str, key: str, **changes: Any) -> str:
    """One more record of this person, as the integration's user makes them."""
    if isinstance(crm, SalesforceOrg):
        fields = {"LastName": "last_name", "Company": {"value": "Unknown"}, "Email": "email"}
    else:
        fields = {"lastname": "last_name", "email": "email"}
    destination = crm.destination(map=fields, **changes)
    now = datetime.now(UTC)
    record = Outgoing(9, 1, 1, key, None, {"last_name": "Twin", "email": email}, None, "rep", None, None, now, None)
    try:
        [outcome] = (await destination.write(Batch(1, "x", (record,), now))).outcomes
    finally:
        await destination.close()
    assert isinstance(outcome, Written)
    return outcome.record_id


@SALESFORCE
async def test_several_whom_the_look_up_found_are_listed_apart(database: str, crm: SalesforceOrg) -> None:
    """One of them is written from here on; the twin was there, and so is one that a colleague makes afterwards."""
    there = [
        {"LastName": "T", "Company": "C", "Email": "twin@gmail.com", "Owner": name} for name in ("Ann", "Olga Else")
    ]
    made = crm.post("/seed", {"leads": there})["leads"]
    async with site(database, crm.text()) as w:
        await written(w, person("twin@gmail.com"), *strangers(2))
        assert (await w.reconciled()).as_json()["twins_of_others"] == [
            {
                "lead": 1,
                "destination": "crm",
                "key": key_of(crm, made),
                "email": "twin@gmail.com",
                "records": sorted(made),
            }
        ]
        by_hand = {"LastName": "N", "Company": "C", "Email": str(strangers(1)[0]["email"])}
        crm.post("/seed", {"leads": [by_hand]})
        found = await w.reconciled()
    assert found.ok
    assert (len(found.twins_of_others), found.twice, found.owner_differs, found.checked) == (2, [], [], 3)


def key_of(crm: SalesforceOrg, ids: list[str]) -> Any:
    [key] = [row["Fairturn_Id__c"] for row in crm.records() if row["Id"] in ids and row.get("Fairturn_Id__c")]
    return key


@SALESFORCE
async def test_a_double_of_ours_is_a_fault(database: str, crm: SalesforceOrg) -> None:
    """With a key of ours, or without one and made by our user."""
    one, two, three = strangers(3)
    async with site(database, crm.text()) as w:
        await written(w, one, two, three)
        double = await made_by_us(crm, str(one["email"]), "ft-other")
        keyless = await made_by_us(crm, str(two["email"]), "no-key", external_id="Legacy_Id__c")
        found = await w.reconciled()
    assert not found.ok
    assert found.twins_of_others == []
    assert {row["email"]: set(row["records"]) & {double, keyless} for row in found.twice} == {  # type: ignore[call-overload]
        one["email"]: {double},
        two["email"]: {keyless},
    }


@SALESFORCE
async def test_a_converted_lead_and_its_contact_are_one(database: str, crm: SalesforceOrg) -> None:
    """Both bear our key, where the Contact was written after the conversion."""
    people = strangers(1)
    async with site(database, crm.text()) as w:
        await written(w, *people)
        [lead] = crm.records()
        crm.post("/convert", {"id": lead["Id"]})
        async with w.working():
            await w.send([{"email": people[0]["email"], "title": "CTO"}], source="enrich")
            await w.settled(2)
        assert [row["Fairturn_Id__c"] for row in crm.records()] == [lead["Fairturn_Id__c"]] * 2
        found = await w.reconciled()
    assert (found.ok, found.twins_of_others, found.checked) == (True, [], 1)


@pytest.mark.parametrize("crm", ["hubspot"], indirect=True)
async def test_twins_in_hubspot(database: str, crm: HubSpotOrg) -> None:
    """An address is one contact's alone: twins are there where somebody gave ours another one."""
    one, two = strangers(2)
    async with site(database, crm.text()) as w:
        await written(w, one, two)
        ids = {str(row["email"]): str(row["id"]) for row in crm.records()}
        for lead in (one, two):
            crm.post("/edit", {"id": ids[str(lead["email"])], "fields": {"email": f"other-{lead['email']}"}})
        theirs = crm.contact(email=one["email"], owner="Olga Else")
        double = await made_by_us(crm, str(two["email"]), "ft-other")
        found = await w.reconciled()
    assert [row["records"] for row in found.twins_of_others] == [sorted([ids[str(one["email"])], theirs])]
    assert [row["records"] for row in found.twice] == [sorted([ids[str(two["email"])], double])]
    assert found.owner_differs == []


@EACH
async def test_reps_who_are_named_by_their_addresses_alone(database: str, crm: Org) -> None:
    leads, ids = strangers(4), crm.ids()
    async with site(database, crm.text()) as w:
        await written(w, *leads)
        owners = crm.owners_of()
        (first, had), (second, _), *_ = sorted(owners.items())
        crm.moved_by_a_person(first, next(ids[rep] for rep in ("ann", "bob") if ids[rep] != had))
        crm.moved_by_a_person(second, ids["olga"])
        found = await w.reconciled()
    assert found.ok
    rows = {str(row["email"]): row for row in found.owner_differs}
    assert set(rows) == {first, second}
    assert {rows[first]["wanted_name"], str(rows[first]["found_name"]).split()[0]} == {"Ann", "Bob"}
    assert rows[second]["found_name"] == "Olga Else"
    assert str(rows[second]["wanted"]).endswith(f"@{crm.domain}")


NOW = datetime(2026, 3, 2, tzinfo=UTC)
LEAD = Sent(1, "ft-1", "done", True, "00Q1", None, "a@b.com", heard_at=NOW)
OURS = Found("00Q1", "ft-1", None, "a@b.com", created_at=NOW + timedelta(seconds=9), by_us=True)
TWIN = Found("00Q2", None, None, "A@b.com", created_at=NOW + timedelta(seconds=5), by_us=False)


@pytest.mark.parametrize(
    ("lead", "twin", "fault"),
    [
        (LEAD, TWIN, False),
        (LEAD, replace(TWIN, by_us=None), False),
        (LEAD, replace(TWIN, by_us=True), True),
        (LEAD, replace(TWIN, key="ft-2"), True),
        (LEAD, replace(TWIN, key="ft-2", created_at=NOW - timedelta(hours=1)), False),
        (LEAD, replace(TWIN, key="ft-2", created_at=NOW - timedelta(seconds=9)), True),  # clocks may differ by more
        (LEAD, replace(TWIN, key="ft-2", created_at=None), True),
        (LEAD, replace(TWIN, key="ft-1"), True),
        (replace(LEAD, there=frozenset({"00Q1", "00Q2"})), replace(TWIN, by_us=True), False),
        # It was known, and another one was made all the same.
        (replace(LEAD, there=frozenset({"00Q2"})), replace(TWIN, created_at=NOW - timedelta(days=9)), True),
        (
            replace(LEAD, there=frozenset({"00Q2"}), rule="beside"),
            replace(TWIN, created_at=NOW - timedelta(days=9)),
            False,
        ),
        # Nobody answered, and ours was made beside one that was there.
        (replace(LEAD, unheard=True), replace(TWIN, created_at=NOW - timedelta(days=9)), True),
        (replace(LEAD, unheard=True), TWIN, False),
    ],
)
def test_whose_a_second_record_is(lead: Sent, twin: Found, fault: bool) -> None:
    result = Reconciled()
    judge(result, "crm", [lead], [OURS, twin], {}, {"beside"})
    assert (len(result.twice), len(result.twins_of_others)) == (int(fault), int(not fault))
    assert result.ok is not fault
