"""What else grows, or must not: statements of a batch, bytes on disk, an operator's pages, memory under a backlog."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from bench.growth.people import person
from bench.growth.place import Place, memory
from bench.house import Failed
from bench.leads import COUNTRIES
from bench.settings import DESTINATION
from fairturn.assemble.operator import Operator, operator
from fairturn.desk import FailedFilter, LeadFilter
from fairturn.operate import destinations, failed, history, holds, leads, reps
from fairturn.operate.audit import audit
from fairturn.operate.why import giving, why
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.ledger import PostgresLedger
from fairturn.views import By, Story

TRIES = 3  # of a page; the median counts
SLOW = 2000.0  # ms: such a page is asked for once
PAGE = 1000  # changes that a gather looks at: a full request for each slot, and one more
REST = 5.0  # seconds that the log gets to come to rest
SIGNALS = 3  # batches sent before we say that none is logged: on a busy machine a signal may come late
LINE = re.compile(r"^\d{4}-\d\d-\d\d \S+ \S+ \[(\d+)\] ")
RAN = re.compile(r"duration: \S+ ms  (?:execute \S+|statement): (.*)", re.DOTALL)


async def statements(place: Place, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """How many statements route needs for batches of so many events: from PostgreSQL's own log."""
    c = place.connection
    log = Path(await c.fetchval("select current_setting('data_directory') || '/' || pg_current_logfile()"))
    found = []
    for events in sizes:
        began = log.stat().st_size
        await c.execute("alter system set log_min_duration_statement = 0")
        await c.execute("select pg_reload_conf()")
        for _ in range(SIGNALS):
            await asyncio.sleep(0.2)  # a signal to every session, obeyed between two statements
            await place.few(events)
            if batches := await logged(log, began):
                break
        else:
            raise Failed("the server's log shows no batch that was routed")
        await c.execute("alter system reset log_min_duration_statement")
        await c.execute("select pg_reload_conf()")
        found.append({"events": events, "batches": len(batches), "statements": max(map(len, batches))})
    return found


async def logged(log: Path, began: int) -> list[list[str]]:
    """The batches after this place of the log, once it rests: a commit is seen before its line is written."""
    until, before = time.monotonic() + REST, -1
    while (size := log.stat().st_size) != before and time.monotonic() < until:
        before = size
        await asyncio.sleep(0.2)
    with log.open(encoding="utf-8", errors="replace") as lines:
        lines.seek(began)
        return [ran for ran in transactions(lines) if any("set state = 'routed'" in text for text in ran)]


def transactions(lines: Iterator[str]) -> Iterator[list[str]]:
    """The statements of each transaction, session by session, without its begin and commit."""
    running: dict[str, list[str]] = {}
    for session, text in ran(lines):
        word = text.strip().rstrip(";").lower()
        if word.startswith("begin"):
            running[session] = []
        elif word in ("commit", "rollback"):
            yield running.pop(session, [])
        elif session in running:
            running[session].append(text)


def ran(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    """(session, statement) for each one that was executed; the lines of one begin with a tab, but for its first."""
    entry = ""
    for line in lines:
        if line.startswith("\t"):
            entry += line
            continue
        yield from told(entry)
        entry = line
    yield from told(entry)


def told(entry: str) -> Iterator[tuple[str, str]]:
    session, said = LINE.match(entry), RAN.search(entry)
    if session and said:
        yield session[1], said[1]


async def sizes(place: Place) -> dict[str, Any]:
    """Bytes of each table and index as the fill left them, all of it, and for each lead."""
    rows = await place.connection.fetch(SIZES)
    tables = [
        {"table": row["name"], "rows": row["rows"], "bytes": row["bytes"], "indexes": dict(row["indexes"])}
        for row in rows
        if row["rows"] > 0
    ]
    total = sum(table["bytes"] + sum(table["indexes"].values()) for table in tables)
    return {"bytes": total, "bytes_per_lead": total / place.base, "tables": tables}


SIZES = """
select c.relname as name, c.reltuples::bigint as rows, pg_table_size(c.oid) as bytes,
       coalesce(array_agg((i.indexrelid::regclass::text, pg_relation_size(i.indexrelid)))
                filter (where i.indexrelid is not null), '{}') as indexes
from pg_class c left join pg_index i on i.indrelid = c.oid
where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
group by c.oid, c.relname, c.reltuples order by 3 desc
"""


async def pages(place: Place) -> list[dict[str, Any]]:
    """Milliseconds of what an operator's commands do once they have started, on a session of their own."""
    newest, some = (person(n, place.base, "large", "everyone", COUNTRIES) for n in (place.base - 1, place.base // 2))
    record = await place.connection.fetchval(
        "select record_id from change where record_id is not null order by lead_id limit 1 offset $1", place.base // 3
    )
    async with operator(place.home.config) as op:
        settings = op.plan().settings
        shown = {
            "history": lambda: history.history(op.reads),
            "leads list": lambda: leads.leads(op.reads, LeadFilter()),
            "leads list --status held": lambda: leads.leads(op.reads, LeadFilter(status="held")),
            "leads list --rep ada": lambda: leads.leads(op.reads, LeadFilter(rep="ada")),
            "leads show EMAIL": lambda: story_of(op, some.email),
            "leads show CRM-RECORD": lambda: story_of(op, record),
            "why EMAIL": lambda: explained(op, newest.email),
            "why EMAIL (half a year ago)": lambda: explained(op, some.email),
            "failed list": lambda: failed.failed(op.reads, FailedFilter(), 100),
            "holds list": lambda: holds.holds(op.reads),
            "reps list": lambda: reps.reps(op.reads, settings),
            "destinations list": lambda: destinations.destinations(op.reads, settings),
        }
        return [{"page": name, "ms": await timed(page)} for name, page in shown.items()]


async def timed(page: Callable[[], Awaitable[object]]) -> float:
    """The median of three, in milliseconds; of one where that took seconds."""
    took: list[float] = []
    while len(took) < TRIES and (not took or took[0] < SLOW):
        began = time.monotonic()
        await page()
        took.append(1000 * (time.monotonic() - began))
    return median(took)


async def story_of(op: Operator, text: str) -> Story:
    return await leads.show(op.reads, await leads.locate(op.reads, text, op.plan().settings))


async def explained(op: Operator, text: str) -> object:
    story = await story_of(op, text)
    given = giving(story)
    return await why(op.reads, op.proofs, await op.plan_then(given.config if given else None), story)


async def audited(place: Place) -> dict[str, Any]:
    """`fairturn audit` over all of it. Raises Failed where it does not hold."""
    began = time.monotonic()
    async with operator(place.home.config) as op:
        found = await audit(op.proofs)
    if not found.ok:
        raise Failed(f"the audit does not hold: {found.as_json()}")
    return {"seconds": time.monotonic() - began, "assignments": found.assignments}


async def backlog(place: Place, events: int, seconds: float) -> dict[str, Any]:
    """So many events wait for the worker, then their changes for the CRM: memory, and how fast each is worked off."""
    home, c = place.home, place.connection
    routed = await place.send(events, updates=0, held=True)
    pids = {role: home.processes[role].pid for role in ("intake", "worker")}
    waiting = await c.fetchval(PENDING)
    looked = await gather_ms(place)
    before = home.cpu()
    async with operator(home.config) as op:
        await destinations.resume(op.acts, DESTINATION, By("bench", "measured"))
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        if not await c.fetchval(ANY, DESTINATION):
            break
        await asyncio.sleep(0.2)
    took, after = time.monotonic() - began, home.cpu()
    written = waiting - await c.fetchval(PENDING)
    return {
        "events": events,
        "intake_mb": routed["intake_mb"],
        "worker_mb": memory(pids["worker"]),
        "routed_per_second": events / routed["seconds"],
        "changes": waiting,
        "gather_ms": looked,
        "written": written,
        "written_per_second": written / took,
        "write_cpu_ms_per_1000": {
            name: 1e6 * (after[name] - was) / max(1, written) for name, was in before.items() if name != "intake"
        },
    }


# A count reads every change there is, and would be most of what is measured.
ANY = """
select exists (select from change where destination_id = $1 and state = 'pending')
    or exists (select from change where destination_id = $1 and state = 'in_flight')
"""
PENDING = "select count(*) from change where state in ('pending', 'in_flight')"


async def gather_ms(place: Place) -> float:
    """One look of gather at all that is pending."""
    async with Database(place.home.server.dsn, size=1) as database:
        ledger = PostgresLedger(database, lambda *_: (None, "raw"))
        took = []
        for _ in range(TRIES):
            began = time.monotonic()
            await ledger.pending(DESTINATION, PAGE)
            took.append(1000 * (time.monotonic() - began))
    return median(took)
