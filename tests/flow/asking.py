"""The whole way with a CRM that may know the person: route, ask and deliver stations on a real database, and an org."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from fairturn.assemble.questions import questions
from fairturn.flow.account import Account
from fairturn.flow.ask import Ask
from fairturn.flow.deliver import Deliver
from fairturn.stores.postgres.wake import Listener
from tests.destinations.simulated import Simulated
from tests.flow.delivering import PATIENCE
from tests.flow.whole import Whole
from tests.flow.world import config

CRM = """
[destinations.crm]
type = "salesforce"
url = "{url}"
allow_private = true
client_id = "env:ID"
client_secret = "env:SECRET"
lookup_linger = "100ms"
linger = "100ms"
{more}
[destinations.crm.map]
LastName = {{ field = "last_name", default = "Unknown" }}
Company = {{ field = "company", default = "Unknown" }}
Email = "email"
City = "city"
Title = "title"
"""


def asking(
    org: Simulated, members: str = "ann = 1, bob = 1", *, crm: str = "", reps: Sequence[str] = (), **more: Any
) -> str:
    """As `config`, with a Salesforce that is asked, and reps who are its users."""
    text = config(members, reps=reps, **more).replace('[destinations.crm]\ntype = "console"\n', "")
    for rep, user in org.users.items():
        text = text.replace(f"[reps.{rep}]\n", f'[reps.{rep}]\nids = {{ crm = "{user}" }}\n')
    return text + CRM.format(url=org.url, more=crm)


class Asked:
    """`a.world` routes; `a.asking()` runs the ask station alone, `a.running()` the deliver station too."""

    def __init__(self, whole: Whole) -> None:
        self.whole = whole
        self.world = whole.world
        self.desk = whole.desk
        self.org = whole.org

    async def stations(self, **settings: Any) -> tuple[Deliver, Ask]:
        deliver = await self.whole.station(**({"lookup_linger": "50ms"} | settings))
        return deliver, Ask(self.account_of(deliver), await self.questions())

    def account_of(self, deliver: Deliver) -> Account:
        return deliver._account

    async def questions(self) -> Any:
        return questions(self.world.database, (await self.world.load()).settings)

    @contextlib.asynccontextmanager
    async def running(self, *stations: Deliver | Ask) -> AsyncIterator[None]:
        """Until the block ends; then each is stopped and finishes what it has in hand."""
        async with Listener(self.world.dsn) as listener:
            bells = [listener.bell("fairturn_change", "fairturn_question") for _ in stations]
            runs = [asyncio.create_task(one.run(bell)) for one, bell in zip(stations, bells, strict=True)]
            try:
                yield
            finally:
                for one in stations:
                    one.stop()
                async with asyncio.timeout(PATIENCE):
                    await asyncio.gather(*runs)

    @contextlib.asynccontextmanager
    async def asking(self, **settings: Any) -> AsyncIterator[Ask]:
        _, ask = await self.stations(**settings)
        async with self.running(ask):
            yield ask

    @contextlib.asynccontextmanager
    async def working(self, **settings: Any) -> AsyncIterator[None]:
        """Everything that a worker runs."""
        async with Listener(self.world.dsn) as listener:
            route = asyncio.create_task(self.world.station.run(listener.bell("fairturn_event")))
            try:
                async with self.running(*await self.stations(**settings)):
                    yield
            finally:
                self.world.station.stop()
                await route

    async def answered(self, **settings: Any) -> None:
        """Until no question is open, and what they kept back has gone on."""
        async with self.asking(**settings):
            await self.until("select not exists (select from existing where state = 'due')")
        await self.go_on()

    async def go_on(self) -> None:
        while await self.world.station.serve_due():
            pass

    async def until(self, sql: str) -> None:
        async def reached() -> bool:
            return bool(await self.world.value(sql))

        await self.desk.until(reached)

    async def statuses(self) -> dict[str, tuple[str, str | None]]:
        """Address -> (status, rep)."""
        rows = await self.world.fetch(
            "select fields->'email'->>0 as email, status, rep_id from lead where merged_into is null"
        )
        return {row["email"]: (row["status"], row["rep_id"]) for row in rows}

    def seed(self, **people: Any) -> Any:
        return self.org.post("/seed", people)

    def look_ups(self) -> list[dict[str, Any]]:
        return [row for row in self.org.get("/requests")["requests"] if row["kind"] == "read"]


def there(name: str, owner: str, **more: object) -> dict[str, object]:
    """A Lead that the org has already."""
    return {"LastName": name, "Company": "Unknown", "Email": f"{name}@gmail.com", "Owner": owner} | more
