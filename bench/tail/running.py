"""One run: a CRM, a router, the burst, the wait until nothing is left to be told, and the figures."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.house import Failed
from bench.tail import figures
from bench.tail.burst import Burst, burst, warm
from bench.tail.routers import Model, Router, router
from bench.tail.sending import send
from bench.tail.simulated import Costs, simulator
from bench.tail.vendors import VENDORS
from fairturn.assemble.demo.scenario import ZIPF

LOOK: Final = 0.5
AFTER: Final = 1.0  # seconds after a tick of its clock at which a burst begins, so that each meets as many ticks
STALLED: Final = 90.0  # seconds without any movement after which the wait is given up: what is missing is counted


@dataclass(frozen=True, slots=True)
class Scenario:
    """`each`: events of a lead. `every`: seconds from lead to lead; None = a burst. `there`: share of the people.
    `learnt`: Fairturn knows how many records the org bears, as it does from its first day on.
    """

    name: str
    leads: int
    seconds: float
    costs: Costs
    each: int = 3
    every: float | None = None
    there: float = 0.0
    zipf: float = ZIPF
    switches: dict[str, object] = field(default_factory=dict)
    learnt: bool = True

    def burst(self) -> Burst:
        return burst(self.leads, self.seconds, each=self.each, every=self.every, there=self.there, zipf=self.zipf)


@dataclass(frozen=True, slots=True)
class Run:
    model: Model
    crm: str
    scenario: Scenario
    timeout: float  # seconds that a sender waits for its answer
    round: int = 1

    @property
    def label(self) -> str:
        linger = "" if self.model.linger is None else f" {self.model.linger:g}"
        return f"{self.crm}, {self.scenario.name}: {self.model.name}{linger}, round {self.round}"

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        return self.scenario.seconds + (self.model.timer or 5.0)


async def measured(run: Run) -> dict[str, Any]:
    """The figures of one run, under what they were taken. Raises Failed."""
    place = Path(tempfile.mkdtemp(prefix="fairturn-tail-")).resolve()
    vendor, plan = VENDORS[run.crm], run.scenario.burst()
    try:
        async with (
            simulator(place, vendor, vendor.seed(plan), run.scenario.costs, run.scenario.switches) as crm,
            router(run.model, crm, place) as way,
        ):
            if run.model.kind == "fairturn" and run.scenario.learnt:
                await _learn(way, vendor.most)
            await crm.begin()
            if run.model.timer is not None:
                await asyncio.sleep((AFTER - time.time()) % run.model.timer)
            before, began = busy(), time.monotonic()
            sent = await send(way.url, plan, run.timeout)
            await _settled(way)
            took, load = time.monotonic() - began, _share(before, busy())
            found = await crm.evidence()
            if found.summary["requests_dropped"]:
                raise Failed(f"{run.label}: the simulator's evidence is not whole")
            said = figures.row(plan, sent, found, crm)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    about: dict[str, Any] = {"model": run.model.name, "crm": run.crm, "scenario": run.scenario.name}
    about |= {"linger": run.model.linger} if run.model.linger is not None else {}
    about |= {"timer": run.model.timer} if run.model.timer is not None else {}
    return about | said | {"took_s": round(took, 1), "cpu_busy": load, "round": run.round}


async def _learn(way: Router, most: int) -> None:
    """Requests begin at 50 records, and double after a full one that went well."""
    first = 0
    for count in (60, 110) if most > 100 else (60,):
        await send(way.url, warm(first, count), STALLED)
        await _settled(way)
        first += count


async def _settled(way: Router) -> None:
    before, moved = None, time.monotonic()
    while not await way.settled():
        if (now := await way.progress()) != before:
            before, moved = now, time.monotonic()
        if time.monotonic() - moved > STALLED:
            return
        await asyncio.sleep(LOOK)


def busy() -> tuple[int, int]:
    """(ticks in which the processors worked, all of them) since the start of the machine; zeros without /proc."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0, 0
    ticks = [int(word) for word in stat.read_text().splitlines()[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def _share(before: tuple[int, int], after: tuple[int, int]) -> float | None:
    """Of the machine's processors that was in use, by everybody."""
    total = after[1] - before[1]
    return round((after[0] - before[0]) / total, 2) if total else None
