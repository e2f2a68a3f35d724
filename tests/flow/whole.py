"""The whole way without the doors: events in, a route station, a deliver station, records in a simulated Salesforce."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from fairturn.flow.deliver import Deliver
from fairturn.stores.postgres.database import Database
from tests.destinations.simulated import Simulated
from tests.flow.delivering import Desk, desk
from tests.flow.world import World, config


class Whole:
    """`w.world` routes, `w.desk` delivers; owners whom the org refuses go back to the route station, as in a worker."""

    def __init__(self, world: World, at: Desk) -> None:
        self.world = world
        self.desk = at
        self.org: Simulated = at.org

    async def station(self, **settings: Any) -> Deliver:
        async def refused(rep: str, lead: int, message: str) -> None:
            await self.world.station.owner_refused(rep, lead, message)

        return await self.desk.station(faults=refused, **settings)

    @contextlib.asynccontextmanager
    async def delivering(self, **settings: Any) -> AsyncIterator[None]:
        async with self.desk.running(await self.station(**settings)):
            yield

    async def deliver(self, **settings: Any) -> None:
        """Run a deliver station until nothing waits any more."""
        async with self.delivering(**settings):
            await self.quiet()

    async def swallows(self, records: int) -> None:
        """It was learnt before that the org takes so many Leads at once."""
        sizes = {"Lead": [records, None, 0]}
        await self.world.fetch(
            "insert into destination (id, sizes) values ('crm', $1) on conflict (id) do update set sizes = $1", sizes
        )

    async def quiet(self) -> None:
        """Until every change is done or failed."""
        waits = "select not exists (select from change where state in ('pending', 'in_flight'))"

        async def nothing_waits() -> bool:
            return bool(await self.desk.connection.fetchval(waits))

        await self.desk.until(nothing_waits)

    async def until_value(self, sql: str, wanted: object) -> None:
        async def reached() -> bool:
            return bool(await self.world.value(sql) == wanted)

        await self.desk.until(reached)

    def records(self) -> dict[str, dict[str, Any]]:
        """Address -> the org's record."""
        return {
            row.get("Email", row["Id"]): row for row in self.org.get("/records/Lead")["records"] if not row["_deleted"]
        }

    def owners(self) -> dict[str, str]:
        """Address -> rep, queue or user in the org."""
        names = {user: rep for rep, user in self.org.users.items()} | {self.org.queue: "queue"}
        return {email: names.get(row["OwnerId"], row["OwnerId"]) for email, row in self.records().items()}

    async def states(self) -> dict[str, int]:
        rows = await self.world.fetch("select state, count(*) from change group by state")
        return {row["state"]: row["count"] for row in rows}

    async def failed(self) -> list[dict[str, Any]]:
        rows = await self.world.fetch(
            "select l.fields->'email'->>0 as email, c.code, c.message, c.attempts "
            "from change c join lead l on l.id = c.lead_id where c.state = 'failed' order by l.id"
        )
        return [dict(row) for row in rows]


@contextlib.asynccontextmanager
async def whole(dsn: str, org: Simulated, text: str) -> AsyncIterator[Whole]:
    async with Database(dsn, size=6) as store, desk(dsn, org) as at:
        world = World(dsn, store, text)
        await world.apply(text)
        await world.add_station()
        yield Whole(world, at)


def people(count: int, start: int = 0, **more: object) -> list[dict[str, object]]:
    """Strangers without a company in common."""
    return [{"email": f"p{n}@gmail.com", "name": f"Pat P{n}", **more} for n in range(start, start + count)]


def reps(names: Iterable[str]) -> str:
    return config(", ".join(f"{name} = 1" for name in names))


Wholes = Callable[..., Any]
