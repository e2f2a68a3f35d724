"""A whole route station on a real database, without the doors: events in, leads and assignments out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import asyncpg

from fairturn.flow.plan import Plan, Plans, compile_plan, shapes
from fairturn.flow.station import RouteStation
from fairturn.model import Arrival, Item
from fairturn.operate import settings as settings_file
from fairturn.stores.postgres.configs import PostgresConfigs
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.journal import PostgresJournal
from fairturn.stores.postgres.router import PostgresRouter

SOURCE = """
[sources.{name}]
verify = {{ type = "unsigned" }}
ids = {{ visitor = "visitor" }}
occurred_at = "at"
{more}
[sources.{name}.map]
email = "email"
company = "company"
country = "country"
employees = "employees"
language = "language"
crm_account_id = "account"
score = "score"
full_name = "name"
city = "city"
title = "title"
"""


def config(
    members: str = "ann = 1, bob = 1, cid = 1",
    *,
    rules: str = '[[rules]]\nid = "rest"\nwhen = "true"\npool = "main"\n',
    sources: Iterable[tuple[str, str]] = (("web", ""), ("enrich", "starts = false\nrank = 1")),
    more: str = "",
    pool: str = "",
    reps: Iterable[str] = (),
) -> str:
    """A settings file with one pool `main`, a source `web` that starts leads and `enrich` that does not."""
    names = dict.fromkeys([part.split("=")[0].strip() for part in members.split(",") if part.strip()])
    names |= dict.fromkeys(reps)
    return "\n".join(
        [
            *(SOURCE.format(name=name, more=extra) for name, extra in sources),
            *(f'[reps.{name}]\nname = "{name.title()}"\n' for name in names),
            f"[pools.main]\nmembers = {{ {members} }}\n{pool}\n",
            rules,
            '[destinations.crm]\ntype = "console"\n',
            more,
        ]
    )


@dataclass
class World:
    """The station's surroundings, and questions to the database."""

    dsn: str
    database: Database
    text: str
    stations: list[RouteStation] = field(default_factory=list)
    plans: Plans | None = None

    @property
    def station(self) -> RouteStation:
        return self.stations[0]

    async def apply(self, text: str) -> None:
        """Put a configuration in force, as a start does."""
        settings = settings_file.parse(text, Path("test.toml"), {}, secrets=False).settings
        await PostgresConfigs(self.database).apply(
            text, shapes(settings), tuple(settings.reps), tuple(settings.destinations), "test"
        )

    async def load(self) -> Plan:
        version = await PostgresConfigs(self.database).current()
        assert version is not None
        settings = settings_file.parse(version.body, Path("test.toml"), {}, secrets=False).settings
        return compile_plan(version.id, settings, lambda _: lambda payload: payload)

    async def add_station(self, *, batch: int = 500) -> RouteStation:
        plans = Plans(await self.load(), self.load)
        station = RouteStation(PostgresRouter(self.database), plans, batch=batch)
        self.stations.append(station)
        return station

    async def post(self, *payloads: dict[str, Any], source: str = "web", lane: Any = "batch") -> list[bytes]:
        """Accept events as the door does; each payload a request of its own."""
        arrivals = []
        for payload in payloads:
            body = json.dumps(payload).encode()
            event = blake2b(source.encode() + body, digest_size=16).digest()
            arrivals.append(Arrival(event, source, "application/json", body, (Item(event, 0, None),), lane))
        await PostgresJournal(self.database).append(arrivals)
        return [arrival.delivery for arrival in arrivals]

    async def route(self, *payloads: dict[str, Any], source: str = "web") -> None:
        """Accept and route until nothing is left to do."""
        await self.post(*payloads, source=source)
        while await self.station.route():
            pass

    async def fetch(self, query: str, *args: object) -> list[asyncpg.Record]:
        async with self.database.connection() as connection:
            return await connection.fetch(query, *args)

    async def value(self, query: str, *args: object) -> Any:
        async with self.database.connection() as connection:
            return await connection.fetchval(query, *args)

    async def pause(self, *reps: str) -> None:
        await self.value(
            "update rep set paused_at = now(), paused_by = 'test', paused_reason = 'away' where id = any($1)",
            list(reps),
        )

    async def resume(self, *reps: str) -> None:
        await self.value(
            "update rep set paused_at = null, paused_by = null, paused_reason = null where id = any($1)", list(reps)
        )

    async def owners(self) -> list[str]:
        """Reps in the order in which the pools gave leads."""
        rows = await self.fetch(
            "select rep_id from assignment where kind in ('turn', 'credit', 'kept', 'owner') order by pool_id, seq, id"
        )
        return [row["rep_id"] for row in rows]


Worlds = Callable[..., Any]
