"""A lane of callers on a real database, and callers as the door makes them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import asyncpg

from fairturn.decide.splitting import Limits, split
from fairturn.errors import Overloaded
from fairturn.flow.accept import Accept, Bounds
from fairturn.flow.station import RouteStation
from fairturn.flow.sync import SyncLane
from fairturn.intake.caller import Caller
from fairturn.model import Arrival, Assigned
from fairturn.stores.postgres.journal import PostgresJournal
from fairturn.stores.postgres.wake import Listener
from tests.flow.world import World

Answer = Assigned | Overloaded | None  # None: let go, with the event durable


@asynccontextmanager
async def lane_of(
    w: World, bounds: Bounds | None = None, *, station: RouteStation | None = None
) -> AsyncIterator[SyncLane]:
    listener, journal = Listener(w.dsn), PostgresJournal(w.database)
    async with Accept(journal) as accept, listener:
        station = station or w.station
        async with SyncLane(station, journal, listener.bell("fairturn_change"), accept.enter, bounds) as lane:
            yield lane


def arrivals(*payloads: dict[str, Any], source: str = "web") -> list[Arrival]:
    """As the door makes them: each payload a request of its own."""
    return [split(source, "sync", "application/json", json.dumps(payload).encode(), Limits()) for payload in payloads]


def post(w: World, came: Sequence[Arrival]) -> Any:
    """Through the ordinary journal."""
    return PostgresJournal(w.database).append(came)


def broken(one: Arrival) -> Arrival:
    """One that no row can hold."""
    return replace(one, items=(replace(one.items[0], id=b"too short"),))


class Call:
    """One caller, told once."""

    def __init__(self, lane: SyncLane, arrival: Arrival, deadline: float = 20.0) -> None:
        self.event = arrival.items[0].id
        self.said: list[Answer] = []
        self.over = asyncio.Event()
        caller = Caller(arrival, self._tell, lambda _: self._tell(None), lane.secure)
        lane.enter(arrival, caller.told)
        caller.wait(deadline)

    def _tell(self, answer: Answer) -> None:
        self.said.append(answer)
        self.over.set()


async def told(*calls: Call) -> list[Answer]:
    async with asyncio.timeout(20):
        for call in calls:
            await call.over.wait()
    assert {len(call.said) for call in calls} <= {1}
    return [call.said[0] for call in calls]


def reps(answers: Sequence[Answer]) -> list[str | None]:
    return [answer.rep if isinstance(answer, Assigned) else None for answer in answers]


@asynccontextmanager
async def pool_held(w: World, pool: str = "%") -> AsyncIterator[asyncpg.Connection]:
    """Another has the pools until this is left."""
    other = await asyncpg.connect(w.dsn)
    try:
        async with other.transaction():
            await other.execute("select from pool where id like $1 for update", pool)
            yield other
    finally:
        await other.close()


async def waiting_sessions(w: World, count: int = 1) -> list[int]:
    """Their process ids, once `count` sessions wait for another's lock: the server says so."""
    waits = "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    async with asyncio.timeout(10):
        while len(found := await w.fetch(waits)) < count:  # noqa: ASYNC110  no signal tells of a waiting lock
            await asyncio.sleep(0.005)
    return [row[0] for row in found]


TURNS = "select count(*) from assignment where kind = 'turn'"
EVENTS = "select count(*) from event"
