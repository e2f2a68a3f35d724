"""The demo from start to end: processes up, the burst, the wait until all is in the CRM, the numbers."""

from __future__ import annotations

import asyncio
import secrets as dice
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from fairturn.assemble.demo import measure, processes, there, words
from fairturn.assemble.demo.crm import Crm
from fairturn.assemble.demo.processes import DemoFailed, Process, Simulator
from fairturn.assemble.demo.scenario import Scenario, scenario
from fairturn.assemble.demo.sending import Sent, send
from fairturn.assemble.demo.settings import CRMS, SOURCES, render
from fairturn.assemble.stopping import stop_signal
from fairturn.errors import StoreError
from fairturn.stores.postgres import embedded
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.progress import PostgresProgress, Standing

LOOK: Final = 0.5  # seconds between two looks at how far it has come
STALLED: Final = 60.0  # seconds without any progress after which the wait is given up
SHOWN: Final = 5  # of the lost
PLACED: Final = ("assigned", "owned", "parked")
Phase = Literal["starting", "burst", "settling", "measuring", "stopping"]


@dataclass(frozen=True, slots=True)
class Options:
    leads: int = 500
    seconds: float = 60.0
    events: int = 3
    crm_seconds: float = 0.5
    record_ms: float = 10.0
    seed: int = 8
    crm: str = "salesforce"


@dataclass(frozen=True, slots=True)
class Moment:
    """How far it has come, for whoever watches."""

    phase: Phase
    leads: int
    events: int
    arrived: int = 0  # events answered 2xx
    placed: int = 0  # leads whose owner is known
    in_crm: int = 0
    waiting: int = 0  # leads with something that the CRM does not know yet
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    summary: measure.Summary
    report: list[str]
    ways_on: list[str]


@dataclass(frozen=True, slots=True)
class _Parts:
    """Everything that runs."""

    options: Options
    crm: Crm
    plan: Scenario
    known: tuple[there.Known, ...]
    config: Path
    url: str
    secrets: dict[str, str]
    simulator: Simulator
    server: Process
    progress: PostgresProgress

    def check(self) -> None:
        self.server.check()
        self.simulator.process.check()


def demo(
    options: Options, tell: Callable[[Moment], None], show: Callable[[Result], None], *, stay: bool
) -> Result | None:
    """None: it was stopped before there was a result. Raises DemoFailed, StoreError.

    `stay`: goes on after `show`, until SIGINT, SIGTERM or SIGHUP. All that was started is ended, whatever happens.
    """
    return asyncio.run(_until_stopped(options, tell, show, stay=stay))


async def _until_stopped(
    options: Options, tell: Callable[[Moment], None], show: Callable[[Result], None], *, stay: bool
) -> Result | None:
    processes.require_simulator()
    stop = stop_signal()
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, stop.set)
    results: list[Result] = []

    async def work() -> None:
        async with _parts(options, tell) as parts:
            results.append(await _measured(parts, tell))
            show(results[0])
            while stay:
                await asyncio.sleep(LOOK)
                parts.check()

    working = asyncio.create_task(work())
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not working.done():
        tell(Moment("stopping", options.leads, options.leads * options.events))
        working.cancel()
        await asyncio.wait({working})  # the cleaning up
    if not working.cancelled() and (error := working.exception()) is not None:
        raise error
    return results[0] if results else None


@asynccontextmanager
async def _parts(options: Options, tell: Callable[[Moment], None]) -> AsyncIterator[_Parts]:
    crm = CRMS[options.crm]
    plan = scenario(options.leads, options.seconds, options.events, options.seed)
    known = there.known(plan, options.seed)
    tell(Moment("starting", len(plan.people), plan.count("event")))
    async with AsyncExitStack() as stack:
        place = await stack.enter_async_context(processes.folder())
        secrets = _secrets(place, crm)
        simulator = await stack.enter_async_context(
            processes.simulator(
                place,
                crm,
                crm.seed(plan.companies, known),
                seconds=options.crm_seconds,
                per_record=options.record_ms / 1000,
                rng=options.seed,
                keep=max(20_000, 3 * len(plan.posts)),
            )
        )
        port = processes.free_port()
        config, url = place / "fairturn.toml", f"http://127.0.0.1:{port}"
        org = await measure.Simulated(crm, simulator.control).org()
        config.write_text(render(place, crm, url=simulator.url, org=org, port=port), encoding="utf-8")
        server = await stack.enter_async_context(processes.fairturn(config, place, url))
        dsn = (await embedded.attach(place / "data")).dsn
        database = await stack.enter_async_context(Database(dsn, size=2))
        progress = PostgresProgress(database)
        parts = _Parts(options, crm, plan, known, config, url, secrets, simulator, server, progress)
        await _worker_up(parts)
        yield parts


def _secrets(place: Path, crm: Crm) -> dict[str, str]:
    """Files that only we may read, beside the settings that name them. Those of the sources."""
    found = {name: dice.token_hex(24) for name in SOURCES}
    own = {name: f"pat-na1-{dice.token_hex(24)}" if name == "crm.token" else dice.token_hex(24) for name in crm.secrets}
    for name, text in {**{f"{name}.secret": text for name, text in found.items()}, **own, **crm.texts}.items():
        path = place / name
        path.touch(mode=0o600)
        path.write_text(text)
    return found


async def _worker_up(parts: _Parts) -> None:
    """The door may open before the worker is there; the burst is not to measure that."""
    deadline = asyncio.get_running_loop().time() + processes.START
    while not await parts.progress.served(parts.crm.name):
        parts.check()
        if asyncio.get_running_loop().time() > deadline:
            raise DemoFailed(f"No worker delivers to {parts.crm.name}.{parts.server.last_words()}")
        await asyncio.sleep(0.1)


async def _measured(parts: _Parts, tell: Callable[[Moment], None]) -> Result:
    sent = Sent()
    before = await measure.Simulated(parts.crm, parts.simulator.control).records()
    sending = asyncio.create_task(send(parts.url, parts.plan.posts, parts.secrets, sent))
    try:
        while not sending.done():
            await asyncio.wait({sending}, timeout=LOOK)
            await _look(parts, sent, "burst", tell)
        await sending
        standing = await _settled(parts, sent, tell)
    finally:
        sending.cancel()
    tell(_moment(parts, sent, "measuring", standing))
    summary = await _summary(parts, standing, before)
    options, plan = parts.options, parts.plan
    under = words.Conditions.of(parts.crm, plan, options.seconds, options.crm_seconds, options.record_ms)
    emails = [person.email for person in plan.people]
    ways_on = words.ways_on(parts.config, parts.url, parts.crm, parts.simulator.control, emails)
    return Result(summary, words.report(summary, under), ways_on)


async def _look(parts: _Parts, sent: Sent, phase: Phase, tell: Callable[[Moment], None]) -> Standing | None:
    """None while the database does not answer: it may be restarted under us, and the burst goes on."""
    parts.check()
    try:
        found = await parts.progress.standing(parts.crm.name)
    except StoreError:
        return None
    tell(_moment(parts, sent, phase, found))
    return found


def _moment(parts: _Parts, sent: Sent, phase: Phase, found: Standing) -> Moment:
    return Moment(
        phase,
        len(parts.plan.people),
        parts.plan.count("event"),
        arrived=sent.taken["event"],
        placed=sum(found.leads.get(status, 0) for status in PLACED),
        in_crm=found.written,
        waiting=found.open,
        failed=found.failed,
    )


async def _settled(parts: _Parts, sent: Sent, tell: Callable[[Moment], None]) -> Standing:
    """Once nothing is on its way, or nothing has moved for long: what is missing is counted, not waited for."""
    loop = asyncio.get_running_loop()
    before, moved = None, loop.time()
    while True:
        found = await _look(parts, sent, "settling", tell)
        if found is not None and not (found.unrouted or found.signals or found.open or found.leads.get("waiting")):
            return found
        if found != before:
            before, moved = found, loop.time()
        if loop.time() - moved > STALLED + 20 * parts.options.crm_seconds:
            if found is None:
                raise DemoFailed(f"The database does not answer.{parts.server.last_words()}")
            return found
        await asyncio.sleep(LOOK / 2)


async def _summary(parts: _Parts, standing: Standing, before: measure.Records) -> measure.Summary:
    plan, progress, crm = parts.plan, parts.progress, parts.crm.name
    found = await measure.Simulated(parts.crm, parts.simulator.control).evidence()
    audit = await processes.ask("audit", parts.config)
    missing = measure.lost(there.told(plan.people, parts.known), found)
    in_crm = sum(person.email in found.people for person in plan.people)
    events = plan.count("event")
    return measure.Summary(
        leads=len(plan.people),
        events=events,
        assigned=standing.leads.get("assigned", 0),
        held=standing.leads.get("held", 0),
        parked=standing.leads.get("parked", 0),
        owned=standing.leads.get("owned", 0),
        in_crm=in_crm,
        failed=standing.failed,
        lost=len(missing),
        duplicated=found.duplicated + found.repeats,
        seconds_to_crm=measure.percentiles(await progress.waits(crm)),
        api_calls={crm: found.data_calls},
        reads=found.reads,
        writes_per_lead=round(found.rows / in_crm, 3) if in_crm else 0.0,
        calls_one_per_event=events,
        failed_calls=found.failed_calls,
        pools=measure.pools(await progress.owners(), await progress.kept(), audit),
        there=there.compared(parts.known, before, found.records, found.taken),
        audited=audit["ok"],
        missing=missing[:SHOWN],
    )
