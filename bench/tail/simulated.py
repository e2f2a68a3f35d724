"""The simulated CRM of one run: its process, and what it saw."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2
import orjson

from bench.house import START, Failed
from bench.tail.vendors import SECRET, TOKEN, Vendor
from fairturn.assemble.demo.processes import started

PAGE: Final = 5000
KEPT: Final = 50_000  # requests of which the evidence is kept: more than any run makes


@dataclass(frozen=True, slots=True)
class Costs:
    """Simulated seconds, which are real ones here: of a write's transaction, of each record in it, of a read."""

    transaction: float
    record: float
    read: float


@dataclass(frozen=True, slots=True)
class Evidence:
    summary: Mapping[str, Any]
    requests: list[dict[str, Any]]  # of the data API, since the start of the burst
    versions: list[dict[str, Any]]
    emails: Mapping[str, str]  # record -> address, lower case


@dataclass(slots=True)
class Simulator:
    vendor: Vendor
    url: str
    control: str
    first: int = 0  # requests before the burst
    before: dict[str, Any] = field(default_factory=dict)

    async def get(self, path: str, **query: object) -> dict[str, Any]:
        async with httpx2.AsyncClient(base_url=self.control, trust_env=False, timeout=60) as client:
            answer = await client.get(path, params={name: str(value) for name, value in query.items()})
            answer.raise_for_status()
            found: dict[str, Any] = answer.json()
            return found

    async def begin(self) -> None:
        """What was asked before the burst is no part of the figures."""
        self.before = await self.get("/summary")
        self.first = self.before["requests"]

    async def quiet(self) -> bool:
        """Whether no request is open now."""
        return bool((await self.get("/summary"))["in_flight"] == 0)

    async def evidence(self) -> Evidence:
        requests = await self._all("/requests", "requests", self.first)
        versions = await self._all("/versions", "versions", -1)
        records = await self._all(f"/records/{self.vendor.people}", "records", 0)
        ids = "Id" if self.vendor.name == "salesforce" else "id"
        emails = {row[ids]: str(row.get(self.vendor.email) or "").casefold() for row in records}
        data = [one for one in requests if one["kind"] in ("read", "write")]
        return Evidence(await self.get("/summary"), data, versions, emails)

    async def _all(self, path: str, name: str, after: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while page := (answer := await self.get(path, after=after, limit=PAGE))[name]:
            found += page
            after = answer["next"]
        return found


@asynccontextmanager
async def simulator(
    place: Path, vendor: Vendor, seed: Mapping[str, Any], costs: Costs, switches: Mapping[str, object]
) -> AsyncIterator[Simulator]:
    """Raises Failed."""
    org = place / "org.json"
    org.write_bytes(orjson.dumps(seed))
    option = "--" if vendor.name == "salesforce" else "--hubspot-"
    command = [sys.executable, "-m", "crmsim", "serve", "--exit-with-parent", "--evidence-requests", str(KEPT)]
    command += [f"{option}port=0", f"{option}seed-file={org}", f"{option}latency={costs.transaction}"]
    command += [f"{option}latency-per-record={costs.record}"]
    command += [f"--latency-read={costs.read}"] if vendor.name == "salesforce" else []
    command += [f"{option}switch={name}={orjson.dumps(value).decode()}" for name, value in switches.items()]
    env = {**os.environ, "CRMSIM_CLIENT_SECRET": SECRET, "CRMSIM_HUBSPOT_TOKEN": TOKEN}
    async with started("crmsim", command, env, place / "crmsim.log", ready_line=True) as process:
        assert process.running.stdout is not None
        try:
            line = await asyncio.wait_for(process.running.stdout.readline(), START)
            ready: dict[str, Any] = orjson.loads(line)
        except (TimeoutError, orjson.JSONDecodeError):
            raise Failed(f"crmsim did not start.{process.last_words()}") from None
        yield Simulator(vendor, ready[vendor.name], ready[vendor.control])
