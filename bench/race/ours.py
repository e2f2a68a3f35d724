"""Fairturn in the race, as its users run it: its own processes, settings file and commands.

The source is unsigned, because the designs beside it look at no signature either; one field mapping, one rule, one
pool, no destination. A warm-up is undone by being whole rotations: every balance is 0 again, which is looked at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import asyncpg
import orjson

from bench.house import Failed, House
from bench.race.cells import Cell
from bench.race.entrants import WARM, Load, Run, changing, until
from bench.race.oracle import Step

SOURCE = "website"
TEXT = """\
database_url = "{url}"

[sources.{source}]
lane = "{lane}"
map.email = "email"
verify = {{ type = "unsigned" }}

{reps}
[pools.everyone]
members = {{ {members} }}
account_sticky = 0

[[rules]]
id = "everyone"
when = "true"
pool = "everyone"
"""


def settings(url: str, lane: str, weights: Mapping[str, int]) -> str:
    reps = "".join(f'[reps.{rep}]\nname = "{rep}"\n' for rep in weights)
    members = ", ".join(f"{rep} = {weight}" for rep, weight in weights.items())
    return TEXT.format(url=url, source=SOURCE, lane=lane, reps=reps, members=members)


class Fairturn:
    def __init__(self, name: str, house: House, load: Load, connection: asyncpg.Connection) -> None:
        self.name = name
        self._house = house
        self._load = load
        self._connection = connection
        self._queued = name == "fairturn_batch"
        self._port = 0
        self._warm = False

    def start(self, url: str, weights: Mapping[str, int]) -> None:
        self._house.config.write_text(settings(url, "batch" if self._queued else "sync", weights))
        self._port = self._house.start("intake")
        if self._queued:
            self._house.start("worker")

    async def race(self, cell: Cell, interval: float) -> Run:
        c = self._connection
        turns = sum(cell.weights.values())
        given = await c.fetchval("select coalesce(max(given), 0) from pool")
        warm = 2 * cell.concurrency if self._warm else WARM
        self._warm = True
        warm += -(given + warm) % turns
        await self._load.warm(self._port, f"/in/{SOURCE}", cell, warm, interval)
        await self._routed()
        if given + warm != await c.fetchval("select given from pool") or await c.fetchval(UNDONE):
            raise Failed(f"{self.name}: the warm-up is not undone")
        seq = await c.fetchval("select seq from pool")
        serial = await c.fetchval("select max(serial) from event")
        before = self._house.cpu()
        coming = asyncio.create_task(changing(cell, interval, self._change))
        said = await self._load.go()
        ended = await self._routed()
        after = self._house.cpu()
        await coming
        rows = await c.fetch(TURNS, seq)
        events = await c.fetch(EVENTS, serial)
        if len(events) != cell.requests:
            raise Failed(f"{self.name}: {cell.requests} requests were sent, {len(events)} are stored")
        return Run(
            cell=cell,
            history=steps(rows),
            unassigned=sum(event["rep_id"] is None for event in events),
            ms=[event["ms"] for event in events if event["ms"] is not None] if self._queued else said["ms"],
            answered_ms=said["ms"],
            seconds=ended - said["began"] if self._queued else said["seconds"],
            cpu={name: after[name] - was for name, was in before.items()},
            more={"answered_without_rep": cell.requests - sum(said["named"].values())} if not self._queued else {},
        )

    async def rest(self) -> None:
        """Its processes wait for events, and hold a handful of connections."""
        self._warm = False

    async def command(self) -> None:
        """One of those that people give, for how long it takes."""
        await asyncio.to_thread(self._house.ask, "reps", "list")

    def audit(self) -> dict[str, Any]:
        """What `fairturn audit` says of every turn of all runs. Raises Failed where it finds anything."""
        found = self._house.ask("audit")
        if not found["ok"]:
            raise Failed(f"{self.name}: the audit does not hold: {found}")
        return {"assignments": found["assignments"], "max_deviation": found["pools"]["everyone"]["max_deviation"]}

    async def _change(self, verb: str, rep: str) -> None:
        await asyncio.to_thread(self._house.ask, "reps", verb, rep, "--reason", "race")

    async def _routed(self) -> float:
        async def routed() -> bool:
            return not await self._connection.fetchval("select exists (select from event where state = 'pending')")

        return await until(routed)


UNDONE = "select exists (select from rotation where balance <> 0)"
TURNS = """
select a.rep_id, a.kind, s.members::text as members from assignment a left join share_set s on s.hash = a.share_hash
where a.seq > $1 order by a.seq
"""
EVENTS = """
select l.rep_id, (extract(epoch from a.at - e.received_at) * 1000)::float8 as ms
from event e left join lead l on l.id = e.lead_id left join assignment a on a.lead_id = l.id
where e.serial > $1
"""


def steps(rows: list[Any]) -> list[Step]:
    """Each turn with those who shared it, as the ledger has them."""
    sets: dict[str, dict[str, int]] = {}
    found = []
    for row in rows:
        if row["kind"] != "turn":
            raise Failed(f"a row of kind {row['kind']} in a race of turns alone")
        members = row["members"]
        if members not in sets:
            sets[members] = {rep: weight for rep, weight, _ in orjson.loads(members)}
        found.append(Step(row["rep_id"], sets[members]))
    return found
