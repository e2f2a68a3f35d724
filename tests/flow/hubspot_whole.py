"""The whole way into a simulated HubSpot: a route station, and the destination's stations as a worker wires them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

from fairturn.assemble.deliveries import deliveries
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.wake import Listener
from tests.destinations.hubspot_simulated import HubspotAccount
from tests.flow.delivering import PATIENCE
from tests.flow.world import World, config

MORE = """title = "title"
status = "status"
crm_lead_id = "vid"
"""
HUB = """
[destinations.hub]
type = "hubspot"
url = "{url}"
allow_private = true
token = "env:HUBSPOT_TOKEN"
lookup_linger = "200ms"
linger = "200ms"
recycle_statuses = ["UNQUALIFIED"]
{more}
[destinations.hub.map]
email = "email"
firstname = "first_name"
lastname = {{ field = "last_name", default = "Unknown" }}
company = "company"
city = "city"
jobtitle = "title"
hs_lead_status = {{ field = "status", mode = "always" }}
"""


def hub_settings(hub: HubspotAccount, more: str = "", **changes: Any) -> str:
    """Ann and Bob take turns; both are known to HubSpot by their addresses."""
    text = config("ann = 1, bob = 1", **changes).replace('[destinations.crm]\ntype = "console"\n', "")
    text = 'fields.status = "text"\n' + text.replace('title = "title"\n', MORE)
    for rep in ("ann", "bob"):
        text = text.replace(f"[reps.{rep}]\n", f'[reps.{rep}]\nemail = "{rep}@seller.test"\n')
    return text + HUB.format(url=hub.url, more=more)


class HubWhole:
    def __init__(self, world: World, hub: HubspotAccount) -> None:
        self.world = world
        self.hub = hub

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Everything that a worker runs."""
        settings = (await self.world.load()).settings
        async with AsyncExitStack() as stack:
            listener = await stack.enter_async_context(Listener(self.world.dsn))
            route = await self.world.add_station()
            stations = await deliveries(
                stack, self.world.database, settings, {"HUBSPOT_TOKEN": "pat-na1-crmsim"}, listener, route
            )
            runs: list[asyncio.Future[None]] = [asyncio.ensure_future(run()) for _, _, run in stations]
            runs.append(asyncio.create_task(route.run(listener.bell("fairturn_event"))))
            try:
                yield
            finally:
                route.stop()
                for _, station, _ in stations:
                    station.stop()
                async with asyncio.timeout(PATIENCE):
                    await asyncio.gather(*runs)

    async def until(self, sql: str, *args: object, seconds: float = 60.0) -> None:
        async with asyncio.timeout(seconds):
            while not await self.world.value(sql, *args):  # noqa: ASYNC110 (looks at a database)
                await asyncio.sleep(0.05)

    async def written(self, leads: int) -> None:
        """Until so many leads are there, and HubSpot has all that is to be told of them."""
        await self.until("select count(*) = $1 from change", leads)
        await self.until("select not exists (select from change where state in ('pending', 'in_flight'))")

    async def events(self, *payloads: dict[str, Any], source: str = "web") -> None:
        await self.world.post(*payloads, source=source)
        await self.world.value("select pg_notify('fairturn_event', '')")


@contextlib.asynccontextmanager
async def hub_whole(dsn: str, hub: HubspotAccount, text: str) -> AsyncIterator[HubWhole]:
    async with Database(dsn, size=8) as store:
        world = World(dsn, store, text)
        await world.apply(text)
        yield HubWhole(world, hub)
