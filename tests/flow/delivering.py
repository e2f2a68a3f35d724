"""Deliver stations on a real database against a simulated Salesforce."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import orjson

from fairturn.decide.outgoing import owner_rule
from fairturn.flow.account import Account
from fairturn.flow.deliver import Deliver, OwnerFault
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.ledger import PostgresLedger
from fairturn.stores.postgres.wake import Listener
from tests.contract.ledger_rows import DESTINATION, Rows
from tests.destinations.simulated import Simulated

PATIENCE = 20.0  # seconds; only a test that fails waits so long


class Desk:
    """A database with leads, and the stations that deliver them."""

    def __init__(
        self, dsn: str, connection: asyncpg.Connection, org: Simulated, stack: contextlib.AsyncExitStack
    ) -> None:
        self.dsn = dsn
        self.rows = Rows(connection)
        self.connection = connection
        self.org = org
        self._stack = stack

    async def station(
        self, *, name: str = DESTINATION, faults: OwnerFault | None = None, lease: float = 1.5, **settings: Any
    ) -> Deliver:
        """A station of its own process, as far as the ledger can tell: sessions, holder and connections of its own."""
        destination = self.org.destination(name=name, **settings)
        self._stack.push_async_callback(destination.close)
        database = await self._stack.enter_async_context(Database(self.dsn, size=3))
        ledger = PostgresLedger(database, owner_rule({pool: {name: self.org.queue} for pool in ("emea", "main")}))
        settings.pop("secret", None)
        given = self.org.settings(**({"linger": "100ms"} | settings))
        account = Account(ledger, destination, name=name, settings=given, lease=lease)
        return Deliver(account, on_owner_fault=faults)

    @contextlib.asynccontextmanager
    async def running(self, *stations: Deliver) -> AsyncIterator[None]:
        """Until the block ends; then each is stopped and finishes what it has in hand."""
        async with Listener(self.dsn) as listener:
            runs = [asyncio.create_task(one.run(listener.bell("fairturn_change"))) for one in stations]
            try:
                yield
            finally:
                for one in stations:
                    one.stop()
                async with asyncio.timeout(PATIENCE):
                    await asyncio.gather(*runs)

    async def start(self, station: Deliver) -> asyncio.Task[None]:
        """Runs until cancelled: as good as a kill -9, because a cancelled station settles and releases nothing."""
        listener = await self._stack.enter_async_context(Listener(self.dsn))
        return asyncio.create_task(station.run(listener.bell("fairturn_change")))

    async def until(self, condition: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not await condition():  # noqa: ASYNC110 (looks at another process and at a database)
                await asyncio.sleep(0.02)

    async def reaches(self, value: Callable[[], Awaitable[object]], wanted: object) -> None:
        async def reached() -> bool:
            return await value() == wanted

        await self.until(reached)

    async def all_in(self, state: str, count: int, name: str = DESTINATION) -> None:
        sql = "select count(*) from change where state = $1 and destination_id = $2"

        async def reached() -> bool:
            return bool(await self.connection.fetchval(sql, state, name) == count)

        await self.until(reached)

    async def asked(self, requests: int) -> None:
        """Until the simulator has read so many writes in this test."""

        async def reached() -> bool:
            return len(await asyncio.to_thread(self.org.writes)) >= requests

        await self.until(reached)

    async def destination(self, name: str = DESTINATION) -> dict[str, Any]:
        row = await self.connection.fetchrow("select *, clock_timestamp() as now from destination where id = $1", name)
        assert row is not None
        return dict(row)


@contextlib.asynccontextmanager
async def desk(dsn: str, org: Simulated) -> AsyncIterator[Desk]:
    async with contextlib.AsyncExitStack() as stack:
        connection = await asyncpg.connect(dsn)
        stack.push_async_callback(connection.close)
        await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=str, decoder=orjson.loads)
        made = Desk(dsn, connection, org, stack)
        await made.rows.destination()
        yield made
