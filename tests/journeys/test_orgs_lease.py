"""Two deliverers, processes of their own, on one HubSpot account with a limit: what it saw of them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.destinations.hubspot_simulated import HubspotAccount
from tests.journeys.house import House, free_port, until
from tests.journeys.sender import Hook, Sender, strangers

MOST = 38  # requests in WINDOW; the real 190 in ten seconds
WINDOW = 2  # seconds
TAKEOVER = 2.0  # seconds: the lease
RENEWED = 0.6  # seconds between two looks of those who wait for it
LEADS = 80


@pytest.fixture(scope="module")
def account() -> Iterator[HubspotAccount]:
    """In real time: its limit is counted in the same seconds as ours."""
    command = [sys.executable, "-m", "crmsim", "serve", "--port", "0", "--hubspot-port", "0", "--exit-with-parent"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            found = HubspotAccount(json.loads(process.stdout.readline()))
            yield found
            found.http.close()
        finally:
            process.stdin.close()
            process.wait(10)


@pytest.fixture
async def house(account: HubspotAccount, place: Path, database: str) -> AsyncIterator[House]:
    account.start()
    account.post("/latency", {"fixed": 0.05, "per_record": 0, "search": 0, "token": 0})
    account.post("/limits", {"burst": MOST, "window": WINDOW})
    port = free_port()
    (place / "token").write_text("pat-na1-crmsim")
    config = place / "fairturn.toml"
    config.write_text(TEXT.format(port=port, takeover=f"{TAKEOVER:g}s", url=account.url))
    found = House(place, config, port, None, database)
    try:
        yield found
    except BaseException:
        print(found.log[-6000:])
        raise
    finally:
        await found.close()


async def test_two_deliverers_keep_one_limit_and_one_goes_on_alone(house: House, account: HubspotAccount) -> None:
    """Case 114: one record a request, so that the limit is what holds them; the holder of the lease is killed on the
    way. HubSpot refuses nothing, sees each lead once, and hears from the other within the lease.
    """
    await house.serve("--role", "intake")
    holder = house.spawn("--role", "worker")
    await until("it holds the lease", lambda: house.ask("select lease_holder is not null from destination"))
    house.spawn("--role", "worker")
    emails = strangers("lead", LEADS)
    async with Sender.to(house.url) as sender:
        await sender.burst([Hook("website", {"email": email, "last": "Doe"}) for email in emails], 0.5)
    await until("half are written", lambda: len(account.contacts()) >= LEADS // 2)
    assert await house.ask("select count(distinct holder) from batch") == 1, "the other waits, whatever it could send"
    killed = time.monotonic()
    await house.stop(holder, signal.SIGKILL)
    await until("all are written", lambda: house.ask(WRITTEN, LEADS))
    assert await house.ask("select count(distinct holder) from batch") == 2
    assert Counter(row["email"] for row in account.get("/records/contacts")["records"]) == Counter(emails)
    summary = account.get("/summary")
    assert (summary["refusals"]["burst"], summary["duplicated"]) == (0, 0)
    moments = [one["mono"] for one in account.get("/requests", limit=10_000)["requests"]]
    busiest = max(sum(start <= one < start + WINDOW for one in moments) for start in moments)
    silence = min(one for one in moments if one > killed) - killed
    print(
        f"{len(moments)} requests in {moments[-1] - moments[0]:.1f} s, at most {busiest} in {WINDOW} s; {silence=:.1f}"
    )
    assert MOST / 2 < busiest <= MOST, "the limit mattered, and was kept"
    assert silence <= TAKEOVER + RENEWED + 1.0


WRITTEN = "select count(*) = $1 and bool_and(state = 'done') from change"
TEXT = """
database_url = "env:JOURNEY_DATABASE"

[server]
host = "127.0.0.1"
port = {port}
takeover = "{takeover}"

[sources.website]
verify = {{ type = "unsigned" }}
map = {{ email = "email", last_name = "last" }}

[reps.ann]
name = "Ann"
email = "ann@seller.test"

[reps.bob]
name = "Bob"
email = "bob@seller.test"

[pools.team]
members = {{ ann = 1, bob = 1 }}

[[rules]]
id = "everyone"
when = "true"
pool = "team"

[destinations.hub]
type = "hubspot"
url = "{url}"
allow_private = true
token = "file:token"
window = "none"
max_records = 1
request_timeout = "1s"
lookup_linger = "300ms"

[destinations.hub.map]
email = "email"
lastname = {{ field = "last_name", default = "Unknown" }}
"""
