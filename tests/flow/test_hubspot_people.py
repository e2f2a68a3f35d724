"""HubSpot accounts that are not empty, moved by people, and out of order: the whole way, as a worker runs it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from fairturn.operate.audit import audit
from fairturn.stores.postgres.proofs import PostgresProofs
from tests.destinations.hubspot_simulated import hubspot_account
from tests.flow.hubspot_whole import HubWhole, hub_settings, hub_whole


@pytest.fixture(scope="session")
def hubspot_process() -> Iterator[Any]:
    with hubspot_account() as found:
        yield found


@pytest.fixture
def hub(hubspot_process: Any) -> Any:
    hubspot_process.start()
    return hubspot_process


@pytest.fixture
async def open_hub(database: str, hub: Any) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack:

        async def start(more: str = "", **changes: Any) -> HubWhole:
            return await stack.enter_async_context(hub_whole(database, hub, hub_settings(hub, more, **changes)))

        yield start


def strangers(count: int) -> list[dict[str, Any]]:
    return [{"email": f"new{n}@gmail.com", "name": f"New N{n}", "city": "Kiel"} for n in range(count)]


async def test_five_hundred_of_whom_three_hundred_are_there(open_hub: Any, hub: Any) -> None:
    """No new record for the 300, no owner taken from an active one, at most 80 data requests, look-ups included."""
    made = hub.seed(
        people={"owned": 100, "unowned": 50, "inactive": 50, "recycled": 50, "secondary": 50, "domain": "gmail.com",
                "seed": 7}
    )["people"]  # fmt: skip
    before = {row["id"]: row for row in hub.get("/records/contacts")["records"]}
    w = await open_hub()
    new = strangers(200)
    async with w.working():
        await w.events(*({"email": one["email"], "name": "There Already"} for one in made), *new)
        await w.written(500)
    rows = {row["id"]: row for row in hub.get("/records/contacts")["records"]}
    assert len(rows) == len(before) + 200
    kept = [one for one in made if one["kind"] in ("owned", "secondary")]
    assert all(rows[one["contact"]]["hubspot_owner_id"] == one["owner"] for one in kept)
    ours = {hub.owners["ann"], hub.owners["bob"]}
    freed = [one for one in made if one["kind"] not in ("owned", "secondary")]
    assert all(rows[one["contact"]]["hubspot_owner_id"] in ours for one in freed)
    assert all(rows[one["contact"]].get("fairturn_id") for one in made)
    assert len(hub.requests()) <= 80
    assert hub.get("/repeats")["count"] == 0
    assert (await audit(PostgresProofs(w.world.database))).ok


async def test_twenty_whom_somebody_moved_keep_the_owner_they_were_given(open_hub: Any, hub: Any) -> None:
    w = await open_hub()
    async with w.working():
        await w.events(*strangers(20))
        await w.written(20)
        moved = {}
        for email, row in hub.contacts().items():
            other = "Bob Baker" if row["hubspot_owner_id"] == hub.owners["ann"] else "Ann Able"
            hub.post("/owner", {"object": "contacts", "email": email, "owner": other, "by": "Gone Girl"})
            moved[email] = other
        await w.events(*({"email": email, "title": "CTO"} for email in moved), source="enrich")
        await w.until("select count(*) = 20 from lead where fields ? 'title'")
        await w.written(20)
    names = {hub.owners["ann"]: "Ann Able", hub.owners["bob"]: "Bob Baker"}
    after = hub.contacts()
    assert {email: names[row["hubspot_owner_id"]] for email, row in after.items()} == moved
    assert {row["jobtitle"] for row in after.values()} == {"CTO"}


async def calls_of(w: HubWhole, hub: Any, leads: list[dict[str, Any]]) -> int:
    before = len(hub.requests())
    async with w.working():
        await w.events(*leads)
        await w.written(len(leads))
    return len(hub.requests()) - before


def of_accounts(count: int, accounts: int, start: int = 0) -> list[dict[str, Any]]:
    return [
        {"email": f"p{n}@firm{n % accounts}.com", "name": f"Pat P{n}", "company": f"Firm {n % accounts}"}
        for n in range(start, start + count)
    ]


@pytest.mark.timeout(180)
async def test_every_lead_once_while_everything_goes_wrong(open_hub: Any, hub: Any) -> None:
    """500 leads of 120 accounts: limits, HTML pages, locks, and answers that are lost after the commit."""
    w = await open_hub('request_timeout = "5s"')
    hub.faults(
        {"kind": "bad_gateway", "path": "/batch/read", "nth": 1},
        {"kind": "search_limit", "path": "/batch/read", "nth": 3},
        {"kind": "reset_after", "path": "/batch/upsert", "nth": 1},
        {"kind": "bad_gateway", "path": "/batch/upsert", "nth": 3, "commit": True},
        {"kind": "broken", "path": "/batch/upsert", "nth": 5},
        {"kind": "locked", "path": "/batch/upsert", "nth": 7},
        {"kind": "search_limit", "path": "/batch/upsert", "nth": 9},
    )
    leads = of_accounts(500, 120)
    calls = await calls_of(w, hub, leads)
    there = Counter(row["email"] for row in hub.get("/records/contacts")["records"])
    assert there == Counter(lead["email"] for lead in leads)
    assert await w.world.value("select count(*) from change where state = 'failed'") == 0
    assert hub.get("/repeats")["count"] == 0
    assert hub.get("/overlaps")["count"] == 0
    assert calls <= 2 * 12  # of a run in which nothing goes wrong


async def test_a_contact_that_names_itself_is_not_asked_for_and_never_made_again(open_hub: Any, hub: Any) -> None:
    """HubSpot's workflow action sends a contact's own id: that record is written, and its owner is looked at first."""
    ids = [
        hub.contact(email=f"w{n}@gmail.com", owner=owner) for n, owner in enumerate((None, "Bob Baker", "Gone Girl"))
    ]
    w = await open_hub()
    async with w.working():
        await w.events(*({"email": f"w{n}@gmail.com", "vid": vid, "city": "Kiel"} for n, vid in enumerate(ids)))
        await w.written(3)
    rows = {row["id"]: row for row in hub.get("/records/contacts")["records"]}
    assert list(rows) == ids
    assert {row["city"] for row in rows.values()} == {"Kiel"}
    assert rows[ids[1]]["hubspot_owner_id"] == hub.owners["bob"]
    ours = {hub.owners["ann"], hub.owners["bob"]}
    assert {rows[ids[0]]["hubspot_owner_id"], rows[ids[2]]["hubspot_owner_id"]} <= ours
    assert await w.world.value("select count(*) from existing where state = 'due'") == 0


async def test_fifty_with_a_bad_option_are_written_and_listed(open_hub: Any, hub: Any) -> None:
    w = await open_hub()
    async with w.working():
        await w.events(*(one | {"status": "NO_SUCH"} for one in strangers(49)))
        await w.events({"email": "new99@gmail.con", "name": "Typing Error"})
        await w.written(50)
    assert len(hub.contacts()) == 49
    assert await w.world.value("select count(*) from change where without ? 'hs_lead_status'") == 49
    [failed] = await w.world.fetch("select code, message from change where state = 'failed'")
    assert failed["code"] == "INVALID_EMAIL"
    assert "new99@gmail.con" in failed["message"]
    assert hub.calls().count("upsert") <= 4


async def test_a_rep_who_left_hubspot_is_paused_and_the_lead_goes_to_the_next(open_hub: Any, hub: Any) -> None:
    """Case 96: at the first refusal, in every pool, and nobody else's lead suffers."""
    hub.post("/person", {"owner": "Ann Able", "archived": True})
    w = await open_hub()
    async with w.working():
        await w.events(*strangers(6))
        await w.until("select count(*) = 6 from change where state = 'done'")
    assert {row["hubspot_owner_id"] for row in hub.contacts().values()} == {hub.owners["bob"]}
    assert "Ann Able" in await w.world.value("select paused_reason from rep where id = 'ann'")


@pytest.mark.parametrize("path", ["/account-info", "/batch/"])
async def test_a_private_token_that_is_refused_once_stops_the_account_for_seconds(
    open_hub: Any, hub: Any, path: str
) -> None:
    """At the start as later; a person is not waited for."""
    hub.faults({"kind": "expired_token", "path": path})
    w = await open_hub()
    async with w.working():
        await w.events(*strangers(1))
        await w.until("select exists (select from destination where blocked_until is not null)")
        [row] = await w.world.fetch("select blocked_until < now() + interval '1 minute' as soon, * from destination")
    assert (row["soon"], row["blocked_person"]) == (True, False)
    assert "tried once more" in row["blocked_cause"]
