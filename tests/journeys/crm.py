"""crmsim as a process of its own: the org that the journeys write into, and what it saw."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2

REPS = tuple(f"r{n:02}" for n in range(1, 11))
COMPANIES = 12
SEED = {
    "users": [{"name": rep.upper(), "email": f"{rep}@seller.test"} for rep in REPS],
    "queues": [{"name": "Nobody yet"}],
    "accounts": [{"Name": f"Firm {n}", "Fairturn_Key__c": f"firm{n}.com"} for n in range(COMPANIES)],
}


@dataclass(frozen=True, slots=True)
class Simulator:
    """A running process. `scale`: real seconds of a simulated one."""

    url: str
    control: str
    scale: float


@contextlib.contextmanager
def simulator(scale: float) -> Iterator[Simulator]:
    command = [sys.executable, "-m", "crmsim", "serve", "--port", "0", "--exit-with-parent", "--time-scale", str(scale)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            ready = json.loads(process.stdout.readline())
            yield Simulator(ready["salesforce"], ready["control"], scale)
        finally:
            process.stdin.close()
            process.wait(10)


@dataclass(slots=True)
class Crm:
    """The control endpoints of a simulator. Seconds are real ones here."""

    sim: Simulator
    http: httpx2.AsyncClient
    users: dict[str, str] = field(default_factory=dict)  # rep -> the org's user id
    queue: str = ""

    @classmethod
    @contextlib.asynccontextmanager
    async def of(cls, sim: Simulator, *, request: float = 0.15, per_record: float = 0.002) -> AsyncIterator[Crm]:
        """An org just founded: ten users, a queue, some accounts. A request takes `request` + rows x `per_record`."""
        async with httpx2.AsyncClient(base_url=sim.control, timeout=60, trust_env=False, verify=False) as http:
            crm = cls(sim, http)
            await crm.post("/release")
            await crm.post("/reset")
            seconds = {"fixed": request, "per_record": per_record, "token": 0.02}
            await crm.post("/latency", {name: value / sim.scale for name, value in seconds.items()})
            made = await crm.post("/seed", SEED)
            crm.users = dict(zip(REPS, (user["id"] for user in made["users"]), strict=True))
            crm.queue = made["queues"][0]["id"]
            yield crm
            await crm.post("/release")

    async def get(self, path: str, **query: Any) -> Any:
        answer = await self.http.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, body: Any = None) -> Any:
        answer = await self.http.post(path, json=body or {})
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def faults(self, *faults: dict[str, Any]) -> None:
        """In place of those before; without any: none. Their seconds are real ones."""
        plan = [
            {
                name: value / self.sim.scale if name in {"seconds", "from", "until"} else value
                for name, value in one.items()
            }
            for one in faults
        ]
        await self.post("/faults", {"seed": 1, "faults": plan})

    async def wait(self, seconds: float = 30, **numbers: int) -> dict[str, int]:
        """Until the simulator has seen so much."""
        return await self.get("/wait", timeout=seconds, **numbers)

    async def numbers(self) -> dict[str, int]:
        return await self.get("/wait", timeout=0)

    async def summary(self) -> dict[str, Any]:
        return await self.get("/summary")

    async def leads(self) -> list[dict[str, Any]]:
        return (await self.get("/records/Lead", limit=10_000))["records"]

    async def writes(self) -> list[dict[str, Any]]:
        return (await self.get("/requests", limit=10_000, kind="write"))["requests"]

    async def repeats(self) -> list[str]:
        """Keys of rows whose very content had been taken before, in an answer that was delivered; once per repeat."""
        return [row["key"] for row in (await self.get("/repeats"))["repeats"]]
