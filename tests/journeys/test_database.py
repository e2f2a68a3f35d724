"""PostgreSQL is restarted in the middle, or drops the sessions that listen."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest

from fairturn.stores.postgres import embedded
from fairturn.stores.postgres.embedded import Embedded
from tests.journeys.conftest import Begin
from tests.journeys.house import until
from tests.journeys.proof import Journey
from tests.journeys.sender import form

# A commit must survive "immediate"; what a power cut would do is PostgreSQL's own business.
CLUSTER = {"fsync": "off", "shared_buffers": "32MB", "io_method": "sync", "logging_collector": "off"}
LISTENING = "pg_stat_activity where application_name = 'fairturn wake' and datname = current_database()"


class Cluster:
    """A PostgreSQL that the test itself restarts."""

    def __init__(self, data: Path, running: Embedded) -> None:
        self.data = data
        self.running = running

    async def restart(self, mode: Literal["fast", "immediate"]) -> None:
        await self.running.stop(mode)
        self.running = await embedded.start(self.data, settings=CLUSTER)


@pytest.fixture
async def cluster(place: Path) -> AsyncIterator[Cluster]:
    data = place / "cluster"
    found = Cluster(data, await embedded.start(data, settings=CLUSTER))
    yield found
    await found.running.stop("immediate")
    await embedded.discard(data)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
async def test_postgres_restarted_in_the_middle(begin: Begin, cluster: Cluster, mode: Literal["fast", "immediate"]):
    """Twice while a request is open in the org, so that its answer meets a database that is away."""
    async with begin(database=cluster.running.dsn) as journey:
        await journey.house.serve()
        async with journey.sender.stream("lead"):
            for _ in range(2):
                seen = (await journey.crm.numbers())["write_requests"]
                await journey.crm.wait(write_requests=seen + 2, in_flight=1)
                await cluster.restart(mode)
                await journey.sender.answered(len(journey.sender.answers) + 20)
        await journey.proves()
        assert (await journey.crm.summary())["repeats"] == 0


async def test_the_sessions_that_listen_are_lost(journey: Journey):
    """Case 62: the next event is served within the polling interval, and LISTEN comes back."""
    house = journey.house
    await house.serve()
    await until("both processes listen", lambda: house.ask(f"select count(*) = 2 from {LISTENING}"))
    assert await house.ask(f"select count(pg_terminate_backend(pid)) from {LISTENING}") == 2
    await journey.sender.send(form("quiet@quiet.com"))
    await journey.crm.wait(10, leads=1)
    await until("both listen again", lambda: house.ask(f"select count(*) = 2 from {LISTENING}"))
    await journey.proves()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
async def test_our_own_postgres_ends_and_is_started_again(home: Journey, number: int):
    """Killed as by a machine out of memory, or stopped by hand: serve keeps it, and nothing is lost."""
    house = home.house
    assert house.data is not None
    await house.serve()
    await home.sender.send(form("one@one.com"))
    before = (await embedded.status(house.data)).pid
    assert before
    os.kill(before, number)
    await until("another one runs", lambda: revived(house.data, before))
    await house.ready()
    await home.sender.send(form("two@two.com"))
    await home.proves()
    assert "database.revived" in house.log


async def revived(data: Path | None, before: int) -> bool:
    assert data is not None
    found = await embedded.status(data)
    return found.state == "running" and found.pid != before
