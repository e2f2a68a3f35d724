"""Webhook to assigned: sustained, with everything running, and a backlog drained by one worker alone."""

from __future__ import annotations

import argparse
import asyncio
import signal
import time
from collections.abc import Sequence
from typing import Any

import asyncpg

from bench import machine
from bench.house import Failed, House, house, sender, until_routed
from bench.paper import cpu, markdown
from bench.quantities import count
from bench.settings import DESTINATION

HELP = "leads assigned per second, from the webhook to the ledger"
SHORT: Sequence[str] = ("--leads", "10000")
CLIENTS = 64


def options(ask: argparse.ArgumentParser) -> None:
    ask.add_argument("--leads", type=count, default=30_000, help="of each of the two parts (30,000)")


def run(args: argparse.Namespace) -> dict[str, Any]:
    return asyncio.run(measure(args.leads))


async def measure(leads: int) -> dict[str, Any]:
    facts = machine.facts()
    async with house() as home:
        port = home.start("intake")
        # The ledger takes every change, and no CRM is asked: what a CRM takes is another measurement.
        home.ask("destinations", "pause", DESTINATION, "--reason", "measuring")
        home.start("worker")
        connection = await asyncpg.connect(home.server.dsn)
        try:
            await warm(home, connection, port)
            sustained = await one(home, connection, port, leads, leads, held=False)
            backlog = await one(home, connection, port, 2 * leads, leads, held=True)
            proof = await proved(home, connection)
        finally:
            await connection.close()
    return {
        "bench": "flow",
        "machine": facts,
        "conditions": {"leads": leads, "clients": CLIENTS, "workers": 1},
        "sustained": sustained,
        "backlog": backlog,
        **proof,
    }


async def warm(home: House, connection: asyncpg.Connection, port: int) -> None:
    """A few leads through everything, so that no process is still starting when the clock does."""
    with sender(port, home.log, first=0, requests=200, clients=8) as load:
        load.go()
        load.said()
    until = time.monotonic() + 30
    while not await connection.fetchval("select exists (select from assignment)"):
        if time.monotonic() > until:
            raise Failed("the worker does not route")
        await asyncio.sleep(0.05)
    await until_routed(connection, 30)


async def one(
    home: House, connection: asyncpg.Connection, port: int, first: int, leads: int, *, held: bool
) -> dict[str, Any]:
    """`held`: the worker stands still until every webhook is answered."""
    worker = home.processes["worker"]
    before_leads = await connection.fetchval(ASSIGNED)
    with sender(port, home.log, first=first, requests=leads, clients=CLIENTS) as load:
        before = home.cpu()
        if held:
            worker.send_signal(signal.SIGSTOP)
        load.go()
        sent = await asyncio.to_thread(load.said)
    began = sent["began"]
    if held:
        before, began = home.cpu(), time.time()
        worker.send_signal(signal.SIGCONT)
    ended = await until_routed(connection)
    after = home.cpu()
    assigned = await connection.fetchval(ASSIGNED) - before_leads
    if sent["bad"] or assigned != leads:
        raise Failed(f"{leads} leads were sent, {sent['bad']} not taken, {assigned} assigned")
    return {
        "assigned": assigned,
        "seconds": ended - began,
        "per_second": assigned / (ended - began),
        **({} if held else {"answered_per_second": sent["answered"] / sent["seconds"]}),
        "cpu_s_per_1000": {
            name: 1000 * (after[name] - was) / leads for name, was in before.items() if not (held and name == "intake")
        },
    }


ASSIGNED = "select count(*) from lead where status = 'assigned'"


async def proved(home: House, connection: asyncpg.Connection) -> dict[str, Any]:
    """`fairturn audit` over all of it; raises Failed where it finds anything."""
    audit = await asyncio.to_thread(home.ask, "audit")
    rows = await connection.fetch(
        "select pool_id, rep_id, count(*) as n from lead where status = 'assigned' group by 1, 2 order by 1, 2"
    )
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        counts.setdefault(row["pool_id"], {})[row["rep_id"]] = row["n"]
    changes = await connection.fetchval("select count(*) from change where state = 'pending'")
    return {
        "audit": {
            "ok": audit["ok"],
            "assignments": audit["assignments"],
            "max_deviation": {name: pool["max_deviation"] for name, pool in audit["pools"].items()},
        },
        "counts": counts,
        "changes_pending": changes,
    }


def table(found: dict[str, Any]) -> str:
    rows = []
    for label, part in (("sustained", found["sustained"]), ("backlog", found["backlog"])):
        used = part["cpu_s_per_1000"]
        rows.append(
            (
                label,
                f"{part['assigned']:,}",
                f"{part['seconds']:.1f}",
                f"{part['per_second']:,.0f}",
                cpu(used.get("intake")),
                cpu(used.get("worker")),
                cpu(used.get("postgresql")),
            )
        )
    head = ("", "leads", "seconds", "assigned / s", "CPU ms / 1,000, intake", "worker", "PostgreSQL")
    worst = max(found["audit"]["max_deviation"].values())
    said = "holds" if found["audit"]["ok"] else "DOES NOT HOLD"
    return (
        f"{markdown(head, rows)}\n\nThe audit of all turns {said}; furthest from a fair share: {worst:.2f} of a lead."
    )


def counts(found: dict[str, Any]) -> str:
    rows = [(pool, ", ".join(f"{rep} {n:,}" for rep, n in reps.items())) for pool, reps in found["counts"].items()]
    return markdown(("pool", "leads per rep"), rows)
