"""What HubSpot alone has: contacts that name themselves, owners who left, a token that lasts; all the way, as a worker
runs it. What it shares with Salesforce is shown in test_orgs_there and test_orgs_trouble.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

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
