"""Journeys: Fairturn, PostgreSQL, the org and the senders, each a process or a connection of its own.

    async def test_something(journey): await journey.sender.burst(...); await journey.proves()

`journey` works on a database of the test's cluster and starts nothing by itself; `home` has an embedded PostgreSQL.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairturn.stores.postgres import embedded
from tests.journeys.crm import Crm, Simulator, simulator
from tests.journeys.house import House, free_port
from tests.journeys.proof import Journey
from tests.journeys.sender import Sender
from tests.journeys.settings import render

SCALE = 0.1
FAST = 0.005  # thirty minutes are nine seconds

Begin = Callable[..., contextlib.AbstractAsyncContextManager[Journey]]


@pytest.fixture(scope="session")
def org() -> Iterator[Simulator]:
    with simulator(SCALE) as running:
        yield running


@pytest.fixture(scope="session")
def fast_org() -> Iterator[Simulator]:
    with simulator(FAST) as running:
        yield running


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that PostgreSQL's account may pass through, which pytest's own is not."""
    folder = Path(tempfile.mkdtemp(prefix="fairturn-journey-")).resolve()
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.asynccontextmanager
async def begun(
    org: Simulator, place: Path, *, data: Path | None = None, database: str | None = None, **settings: Any
) -> AsyncIterator[Journey]:
    async with Crm.of(org) as crm:
        port = free_port()
        config = place / "fairturn.toml"
        config.write_text(render(crm, data=data, port=port, **settings))
        house = House(place, config, port, data, database)
        async with Sender.to(house.url) as sender:
            try:
                yield Journey(house, sender, crm)
            except BaseException:
                print(house.log[-6000:] if (place / "log").exists() else "no process said anything")
                raise
            finally:
                await house.close()


@pytest.fixture
async def journey(org: Simulator, place: Path, database: str) -> AsyncIterator[Journey]:
    async with begun(org, place, database=database) as found:
        yield found


@pytest.fixture
async def home(org: Simulator, place: Path) -> AsyncIterator[Journey]:
    """With a PostgreSQL of its own, that Fairturn starts and stops."""
    data = place / "data"
    try:
        async with begun(org, place, data=data) as found:
            yield found
        assert (await embedded.status(data)).state in {"absent", "stopped"}, "PostgreSQL was left behind"
    finally:
        await embedded.discard(data)


@pytest.fixture
async def begin(org: Simulator, place: Path, database: str) -> Begin:
    """A journey with settings of its own."""

    def make(**given: Any) -> contextlib.AbstractAsyncContextManager[Journey]:
        return begun(given.pop("org", org), place, **({"database": database} | given))

    return make
