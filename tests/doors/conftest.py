"""The door behind a real server: uvicorn on a loopback port, a real journal behind it."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import asyncpg
import httpx2
import pytest
import uvicorn

from fairturn.config import Settings
from fairturn.flow.accept import Accept, Bounds
from fairturn.intake.app import Door, Owners, build
from fairturn.intake.express import Express
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.journal import PostgresJournal


@dataclass
class Intake:
    """A running door, a client for it, and a session to see what it stored."""

    door: Door
    accept: Accept
    port: int
    client: httpx2.AsyncClient
    sql: asyncpg.Connection

    async def post(
        self, body: bytes, content_type: str | None = "application/json", source: str = "open", **headers: str
    ):
        sent = dict(headers)
        if content_type is not None:
            sent["content-type"] = content_type
        return await self.client.post(f"/in/{source}", content=body, headers=sent)

    async def stored(self, event: str) -> asyncpg.Record:
        row = await self.sql.fetchrow(
            "select e.*, coalesce(e.body, d.body) as seen, d.body as raw from event e "
            "join delivery d on d.id = e.delivery_id where e.id = $1",
            bytes.fromhex(event),
        )
        assert row is not None
        return row

    async def count(self, table: str = "event") -> int:
        return await self.sql.fetchval(f"select count(*) from {table}")


class Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # the test runner's signals stay its own


Serve = Callable[..., Any]
OPEN: Mapping[str, Any] = {"verify": {"type": "unsigned"}}


@contextlib.asynccontextmanager
async def running(
    dsn: str,
    sources: Mapping[str, Any],
    secrets: Mapping[str, tuple[bytes, ...]],
    *,
    owners: Owners | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    server: Mapping[str, Any] | None = None,
    bounds: Bounds | None = None,
    **more: Any,
) -> AsyncIterator[Intake]:
    settings = Settings.model_validate({"sources": sources, "server": server or {}, **more})
    async with Database(dsn) as database, Accept(PostgresJournal(database), bounds) as accept:
        door = build(settings, secrets, accept, owners, clock)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
            config = uvicorn.Config(
                door, access_log=False, log_level="warning", lifespan="off", proxy_headers=False, http=Express
            )
            http = Server(config)
            task = asyncio.create_task(http.serve([listening]))
            connection = await asyncpg.connect(dsn)
            try:
                async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30, verify=False) as client:
                    yield Intake(door, accept, port, client, connection)
            finally:
                await connection.close()
                http.should_exit = True
                await task


@pytest.fixture
async def serve(database: str) -> AsyncIterator[Serve]:
    """`intake = await serve(sources, secrets, ...)`; stopped at the end of the test."""
    async with contextlib.AsyncExitStack() as stack:

        async def start(
            sources: Mapping[str, Any] | None = None,
            secrets: Mapping[str, tuple[bytes, ...]] | None = None,
            **more: Any,
        ) -> Intake:
            return await stack.enter_async_context(running(database, sources or {"open": OPEN}, secrets or {}, **more))

        yield start
