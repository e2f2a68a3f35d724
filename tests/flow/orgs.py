"""Orgs that are not empty, the whole way in one process: what arrives is accepted, routed, asked about and delivered by
the stations that a worker runs, into a simulated Salesforce and a simulated HubSpot. What came of it is read from the
evidence of these two.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, ClassVar

import asyncpg
import pytest

from fairturn.assemble.deliveries import deliveries
from fairturn.assemble.operator import inspects
from fairturn.flow.accept import Accept
from fairturn.flow.engine import Engine
from fairturn.model import Arrival, Item
from fairturn.operate.audit import audit
from fairturn.operate.reconcile import Reconciled, reconcile
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.journal import PostgresJournal
from fairturn.stores.postgres.proofs import PostgresProofs
from fairturn.stores.postgres.wake import Listener
from tests.destinations.hubspot_simulated import HubspotAccount
from tests.destinations.simulated import Simulated
from tests.flow.world import World

SCALE = 0.05  # real seconds of a simulated one: a minute of arrivals is three seconds
MINUTE = 60 * SCALE
PATIENCE = 60.0  # seconds; only a test that fails waits so long
LATENCY = {"fixed": 0.5, "per_record": 0.01, "token": 0.1}  # simulated seconds
REPS = ("ann", "bob")  # both CRMs know them by their addresses
EVERYTHING = 100_000
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
EACH = pytest.mark.parametrize("crm", ["salesforce", "hubspot"], indirect=True)
SALESFORCE = pytest.mark.parametrize("crm", ["salesforce"], indirect=True)
ENV = {
    "SF_ID": "crmsim-client",
    "SF_SECRET": "crmsim-secret",
    "HUB_TOKEN": "pat-na1-crmsim",
    "HUB_REFRESH": "crmsim-refresh",
}
# Of an app whose tokens end, as Salesforce's do.
OAUTH = {"client_id": "env:SF_ID", "client_secret": "env:SF_SECRET", "refresh_token": "env:HUB_REFRESH"}


class Evidence:
    """What both CRMs saw alike."""

    kind: str
    name: str
    domain: str  # of the addresses of their users
    title: str  # the field that holds it
    key: str  # the field that bears ours
    map: ClassVar[Mapping[str, str]]

    def get(self, path: str, **query: Any) -> Any:
        raise NotImplementedError

    def requests(self) -> list[dict[str, Any]]:
        """Data requests, look-ups among them, in their order."""
        found = self.get("/requests", limit=EVERYTHING)["requests"]
        return [row for row in found if row["kind"] in ("read", "write")]

    def writes(self) -> list[dict[str, Any]]:
        return [row for row in self.requests() if row["kind"] == "write"]

    def summary(self) -> dict[str, Any]:
        return dict(self.get("/summary"))

    def records(self) -> list[dict[str, Any]]:
        raise NotImplementedError

    def emails(self) -> Counter[str]:
        """Records of each address."""
        return Counter(self.email(row) for row in self.records())

    def records_by_id(self) -> dict[str, dict[str, Any]]:
        return {str(row.get("Id") or row.get("id")): row for row in self.records()}

    def written(self) -> list[list[str]]:
        """The addresses that each request wrote, in the order of the requests."""
        emails = {record: self.email(row) for record, row in self.records_by_id().items()}
        done = ("created", "updated")
        return [[emails[row["id"]] for row in one["rows"] if row["outcome"] in done] for one in self.writes()]

    def email(self, row: Mapping[str, Any]) -> str:
        raise NotImplementedError

    def owner(self, row: Mapping[str, Any]) -> str | None:
        raise NotImplementedError

    def owners_of(self) -> dict[str, str | None]:
        return {self.email(row): self.owner(row) for row in self.records()}

    def moved_by_a_person(self, email: str, owner: str) -> None:
        raise NotImplementedError

    def ids(self) -> Mapping[str, str]:
        """Name -> the CRM's id of that user."""
        raise NotImplementedError

    def nothing_twice(self) -> None:
        """And no two requests in flight touched one account."""
        summary = self.summary()
        assert summary["duplicated"] == 0, self.get("/people")["twice"]
        assert summary["repeats"] == 0, self.get("/repeats")
        overlaps = {account for one in self.get("/overlaps")["overlaps"] for account in one["accounts"]}
        assert overlaps <= self.unknown_accounts()

    def unknown_accounts(self) -> set[str]:
        """Of people who were there under an account that nothing in their leads tells of: a free address alone."""
        return set()


class SalesforceOrg(Simulated, Evidence):
    """An org with our two reps, Olga who is none of them, somebody who left, and a queue."""

    kind = "salesforce"
    name = "crm"
    domain = "crm.test"
    title = "Title"
    key = "Fairturn_Id__c"
    map: ClassVar[Mapping[str, str]] = {
        "LastName": '{ field = "last_name", default = "Unknown" }',
        "Company": '{ field = "company", default = "Unknown" }',
        "Email": '"email"',
        "Title": '"title"',
        "Fairturn_Rule__c": '{ assignment = "rule" }',
    }

    def start(self) -> None:
        super().start()
        self.post("/latency", LATENCY)
        made = self.post("/seed", {"users": [{"name": "Olga Else", "email": "olga@crm.test"}]})
        self.users["olga"] = made["users"][0]["id"]

    def writes(self) -> list[dict[str, Any]]:
        return Evidence.writes(self)

    def records(self) -> list[dict[str, Any]]:
        """Leads and Contacts."""
        pages = (self.get(f"/records/{name}", limit=EVERYTHING)["records"] for name in ("Lead", "Contact"))
        return [row for page in pages for row in page if not row["_deleted"]]

    def email(self, row: Mapping[str, Any]) -> str:
        return str(row["Email"]).casefold()

    def owner(self, row: Mapping[str, Any]) -> str | None:
        return str(row["OwnerId"])

    def unknown_accounts(self) -> set[str]:
        contacts = self.get("/records/Contact", limit=EVERYTHING)["records"]
        return {str(row["AccountId"]) for row in contacts if self.email(row).endswith("@gmail.com")}

    def ids(self) -> Mapping[str, str]:
        return self.users

    def moved_by_a_person(self, email: str, owner: str) -> None:
        self.post("/owner", {"object": "Lead", "email": email, "owner": owner, "by": "a manager"})

    def text(self, fields: Mapping[str, str] | None = None, **given: object) -> str:
        own = {
            "client_id": "env:SF_ID",
            "client_secret": "env:SF_SECRET",
            "account_lookup": "Account__r.Fairturn_Key__c",
        }
        return settings(self, own, given, fields or {})


class HubSpotOrg(HubspotAccount, Evidence):
    """An account with our two reps, Olga who is none of them, and somebody who left."""

    kind = "hubspot"
    name = "hub"
    domain = "seller.test"
    title = "jobtitle"
    key = "fairturn_id"
    map: ClassVar[Mapping[str, str]] = {
        "email": '"email"',
        "lastname": '{ field = "last_name", default = "Unknown" }',
        "company": '"company"',
        "jobtitle": '"title"',
    }

    def start(self) -> None:
        super().start()
        self.post("/latency", LATENCY)
        made = self.seed(owners=[{"name": "Olga Else", "email": "olga@seller.test"}])
        self.owners["olga"] = made["owners"][0]["id"]

    def requests(self, part: str = "/crm/") -> list[dict[str, Any]]:
        del part
        return Evidence.requests(self)

    def records(self) -> list[dict[str, Any]]:
        return [row for row in self.get("/records/contacts", limit=EVERYTHING)["records"] if not row["_archived"]]

    def email(self, row: Mapping[str, Any]) -> str:
        return str(row["email"])

    def owner(self, row: Mapping[str, Any]) -> str | None:
        return row.get("hubspot_owner_id")

    def ids(self) -> Mapping[str, str]:
        return self.owners

    def moved_by_a_person(self, email: str, owner: str) -> None:
        self.post("/owner", {"object": "contacts", "email": email, "owner": owner, "by": "a manager"})

    def text(self, fields: Mapping[str, str] | None = None, **given: object) -> str:
        own = {} if "refresh_token" in given else {"token": "env:HUB_TOKEN"}
        return settings(self, own, given, fields or {})


Org = SalesforceOrg | HubSpotOrg


@contextlib.contextmanager
def both(scale: float = SCALE) -> Iterator[tuple[SalesforceOrg, HubSpotOrg]]:
    """One process with both CRMs."""
    command = [sys.executable, "-m", "crmsim", "serve", "--port", "0", "--hubspot-port", "0"]
    command += ["--time-scale", str(scale), "--exit-with-parent"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            ready = json.loads(process.stdout.readline())
            salesforce, hubspot = SalesforceOrg(ready), HubSpotOrg(ready)
            yield salesforce, hubspot
            salesforce.http.close()
            hubspot.http.close()
        finally:
            process.stdin.close()
            process.wait(10)


# Windows are the defaults in simulated seconds: 2 s are 100 ms. Owners are named, as people name them.
COMMON = """
[sources.web]
verify = { type = "unsigned" }

[sources.web.map]
email = "email"
last_name = "last"
company = "company"
title = "title"
state = "state"
country = "country"
segment = "segment"
crm_account_id = "account"

[sources.enrich]
verify = { type = "unsigned" }
starts = false
rank = 1

[sources.enrich.map]
email = "email"
title = "title"

[fields]
segment = "text"

[reps.ann]
name = "Ann"
email = "ann@DOMAIN"

[reps.bob]
name = "Bob"
email = "bob@DOMAIN"

[pools.main]
members = { ann = 1, bob = 1 }

[[rules]]
id = "rest"
when = "true"
pool = "main"
"""
WINDOWS = {"lookup_linger": "100ms", "linger": "100ms", "max_wait": "750ms", "allow_private": True}


def settings(org: Org, own: Mapping[str, object], given: Mapping[str, object], fields: Mapping[str, str]) -> str:
    """A settings file with one CRM. fields: CRM field -> what it is mapped from, as TOML."""
    values = {"type": org.kind, "url": org.url} | WINDOWS | dict(own) | dict(given)
    return "\n".join(
        [
            COMMON.replace("DOMAIN", org.domain),
            f"[destinations.{org.name}]",
            *(f"{name} = {json.dumps(value)}" for name, value in values.items()),
            f"[destinations.{org.name}.map]",
            *(f"{name} = {source}" for name, source in {**org.map, **fields}.items()),
        ]
    )


class Site:
    """What runs on one database. `working()`: everything that intake and worker run."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._accept: Accept | None = None

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        settings = (await self.world.load()).settings
        async with AsyncExitStack() as stack:
            apart = await stack.enter_async_context(Database(self.world.dsn, size=4))
            listener = Listener(self.world.dsn)
            route, again = await self.world.add_station(), await self.world.add_station()
            stations = await deliveries(stack, apart, settings, ENV, listener, again)
            bell = listener.bell("fairturn_event")
            engine = Engine([*stations, ("route", route, lambda: route.run(bell))])
            await stack.enter_async_context(listener)
            self._accept = await stack.enter_async_context(Accept(PostgresJournal(self.world.database)))
            running = asyncio.create_task(engine.run())
            try:
                yield
            finally:
                engine.stop()
                async with asyncio.timeout(PATIENCE):
                    await running

    async def send(self, payloads: Sequence[Mapping[str, object]], seconds: float = 0.0, source: str = "web") -> None:
        """Requests of one event each, evenly over so many seconds; every one is answered as durable."""
        loop = asyncio.get_running_loop()
        began = loop.time()

        async def one(place: int, payload: Mapping[str, object]) -> None:
            await asyncio.sleep(max(0.0, began + seconds * place / len(payloads) - loop.time()))
            body = json.dumps(payload).encode()
            event = blake2b(source.encode() + body, digest_size=16).digest()
            assert self._accept is not None
            await self._accept.put(Arrival(event, source, "application/json", body, (Item(event, 0, None),)))

        await asyncio.gather(*(one(place, payload) for place, payload in enumerate(payloads)))

    async def settled(self, events: int, *, seconds: float = PATIENCE) -> None:
        """Until so many events are routed, nobody is asked about any more, and every change is done or failed."""
        try:
            async with asyncio.timeout(seconds):
                while not await self.world.value(SETTLED, events):  # noqa: ASYNC110 (looks at a database)
                    await asyncio.sleep(0.05)
        except TimeoutError:
            left = [dict(row) for row in await self.world.fetch(LEFT)]
            raise AssertionError(f"not settled within {seconds:g} s: {left}") from None

    async def states(self) -> dict[str, int]:
        rows = await self.world.fetch("select state, count(*) from change group by state")
        return {row["state"]: row["count"] for row in rows}

    async def failures(self) -> list[dict[str, Any]]:
        rows = await self.world.fetch(
            "select l.fields->'email'->>0 as email, c.code, c.message from change c join lead l on l.id = c.lead_id "
            "where c.state = 'failed' order by l.id"
        )
        return [dict(row) for row in rows]

    async def reconciled(self) -> Reconciled:
        settings = (await self.world.load()).settings
        async with inspects(settings, ENV) as (crms, silent):
            return await reconcile(PostgresProofs(self.world.database), crms, silent, settings, LONG_AGO)

    async def proves(self, org: Org, leads: int) -> None:
        """All written, none failed, nobody and nothing twice, and the turns were fair."""
        assert await self.states() == {"done": leads}, await self.failures()
        assert (await audit(PostgresProofs(self.world.database))).ok
        org.nothing_twice()


SETTLED = """
select (select count(*) from event where state = 'routed') >= $1
   and not exists (select from event where state in ('pending', 'waiting'))
   and not exists (select from lead where status = 'waiting')
   and not exists (select from existing where state = 'due')
   and not exists (select from change where state in ('pending', 'in_flight'))
"""
LEFT = """
select 'event' as what, state, count(*), null as why from event group by 2
union all select 'lead', status, count(*), max(reason) from lead group by 2
union all select 'existing', state, count(*), max(why) from existing group by 2
union all select 'change', state, count(*), max(cause) from change group by 2
union all
select 'destination', id, failures, concat_ws(' ', paused_reason, blocked_cause, blocked_until) from destination
"""


@contextlib.asynccontextmanager
async def site(dsn: str, text: str) -> AsyncIterator[Site]:
    async with Database(dsn, size=8) as store:
        world = World(dsn, store, text)
        await world.apply(text)
        yield Site(world)


@contextlib.asynccontextmanager
async def fresh(cluster: Any, name: str) -> AsyncIterator[str]:
    """The DSN of one more migrated, empty database, for a second run of the same."""
    connection = await asyncpg.connect(cluster.dsn)
    try:
        await connection.execute(f'create database "{name}" template fairturn_template')
        yield cluster.dsn_of(name)
        await connection.execute(f'drop database "{name}" with (force)')
    finally:
        await connection.close()


def strangers(count: int, name: str = "new") -> list[dict[str, object]]:
    """People whose firms nobody knows, each of its own."""
    return [person(f"{name}{n}@{name}-{n}.com", company=f"{name.title()} {n}") for n in range(count)]


def colleagues(count: int, accounts: int) -> list[dict[str, object]]:
    """People of so many firms, in turn."""
    return [person(f"p{n}@firm{n % accounts}.com", company=f"Firm {n % accounts}") for n in range(count)]


def person(email: str, **more: object) -> dict[str, object]:
    return {"email": email, "last": email.partition("@")[0], "company": "Unknown", **more}
