"""Stations on a real database and, for delivery, a real simulated CRM."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from fairturn.stores.postgres.database import Database
from tests.destinations.simulated import simulated
from tests.flow.asking import Asked, asking
from tests.flow.links import no_stray_rows
from tests.flow.orgs import both
from tests.flow.whole import Whole, Wholes, whole
from tests.flow.world import World, Worlds


@pytest.fixture(scope="session")
def salesforce_process() -> Iterator[Any]:
    with simulated() as found:
        yield found


@pytest.fixture
def org(salesforce_process: Any) -> Any:
    """A simulated org with two reps, a deactivated one, a queue and two accounts."""
    salesforce_process.start()
    return salesforce_process


@pytest.fixture
async def world(database: str) -> AsyncIterator[Worlds]:
    """`w = await world(config(...))`."""
    opened: list[Database] = []

    async def make(text: str, *, batch: int = 500) -> World:
        store = await Database(database, size=8).open()
        opened.append(store)
        found = World(database, store, text)
        await found.apply(text)
        await found.add_station(batch=batch)
        return found

    yield make
    for store in opened:
        await store.close()
    await no_stray_rows(database)


@pytest.fixture
async def open_whole(database: str, org: Any) -> AsyncIterator[Wholes]:
    """`w = await open_whole(config(...))`: the whole way, from events to records of the simulated org."""
    async with AsyncExitStack() as stack:

        async def start(text: str) -> Whole:
            return await stack.enter_async_context(whole(database, org, text))

        yield start
    await no_stray_rows(database)


@pytest.fixture
async def open_asked(open_whole: Wholes, org: Any) -> Callable[..., Awaitable[Asked]]:
    """`a = await open_asked()`: the same with settings by which the org is asked first."""

    async def start(**more: Any) -> Asked:
        return Asked(await open_whole(asking(org, **more)))

    return start


@pytest.fixture(scope="session")
def crms() -> Iterator[Any]:
    with both() as (salesforce, hubspot):
        yield {"salesforce": salesforce, "hubspot": hubspot}


@pytest.fixture
def crm(crms: Any, request: pytest.FixtureRequest) -> Any:
    """As it is before a test: by the parameter `salesforce` or `hubspot`."""
    found = crms[request.param]
    found.start()
    return found
