"""Cost against what is already there: a few leads in the tables, and a year of a million."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from statistics import median
from typing import Any

from bench import machine
from bench.growth import looks
from bench.growth.fill import RECORDS, UPDATED
from bench.growth.load import CLIENTS
from bench.growth.place import UPDATES, Place, place
from bench.paper import markdown
from bench.quantities import amount, count

HELP = "what a lead costs with ten thousand in the tables, and with a million"
SHORT: Sequence[str] = ("--small", "1000", "--large", "30000", "--events", "2000", "--rounds", "1", "--backlog", "5000")
BATCHES = (1, 40, 400)  # events, each in one transaction of route


def options(ask: argparse.ArgumentParser) -> None:
    ask.add_argument("--small", type=count, default=10_000, help="leads that are there (10,000)")
    ask.add_argument("--large", type=count, default=1_000_000, help="leads that are there at the same time (1,000,000)")
    ask.add_argument("--events", type=count, default=5_000, help="of a round, a fifth about people of before (5,000)")
    ask.add_argument("--rounds", type=count, default=3, help="of each, taking turns; medians count (3)")
    ask.add_argument("--backlog", type=count, default=100_000, help="events that wait for the worker (100,000)")
    ask.add_argument("--seconds", type=amount, default=60, help="at most, for writing what the backlog left (60)")


def run(args: argparse.Namespace) -> dict[str, Any]:
    return asyncio.run(measure(args))


async def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Two installations side by side, so that a round of one is followed by a round of the other. Raises Failed."""
    facts = machine.facts()
    async with AsyncExitStack() as stack:
        small = await stack.enter_async_context(place(args.small))
        large = await stack.enter_async_context(place(args.large))
        both = (small, large)
        disk = [await looks.sizes(one) for one in both]
        rounds = [[await one_round(one, args.events) for one in both] for _ in range(args.rounds)]
        rows = [
            {
                **summary(one, [pair[number] for pair in rounds]),
                **disk[number],
                "statements": await looks.statements(one, BATCHES),
                "pages": await looks.pages(one),
                "audit": await looks.audited(one),
                "backlog": await looks.backlog(one, args.backlog, args.seconds),
            }
            for number, one in enumerate(both)
        ]
    return {
        "bench": "growth",
        "machine": facts,
        "conditions": {
            "events": args.events,
            "rounds": args.rounds,
            "clients": CLIENTS,
            "updates": UPDATES,
            "second_events": UPDATED,
            "records_per_request": RECORDS,
            "backlog": args.backlog,
        },
        "rows": rows,
        "ratio": median(last["ms"] / first["ms"] for first, last in rounds),
        "cpu_ratio": median(last["cpu_ms"] / first["cpu_ms"] for first, last in rounds),
    }


async def one_round(one: Place, events: int) -> dict[str, Any]:
    """Just after a checkpoint, when every page that is touched is written whole once: the dearest moment of a base."""
    await one.connection.execute("checkpoint")
    sent = await one.send(events)
    used = {name: 1e6 * seconds / events for name, seconds in sent["cpu_s"].items()}
    return {
        "ms": 1e6 * sent["seconds"] / events,
        "cpu_ms": sum(used.values()),
        "cpu": used,
        "wal": sent["wal_bytes"] / events,
    }


def summary(one: Place, rounds: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "base": one.base,
        "fill_s": one.fill_s,
        "ms_per_1000": median(found["ms"] for found in rounds),
        "cpu_ms_per_1000": {name: median(found["cpu"][name] for found in rounds) for name in rounds[0]["cpu"]},
        "wal_bytes_per_event": median(found["wal"] for found in rounds),
        "rounds": rounds,
    }


def table(found: dict[str, Any]) -> str:
    parts = [costs(found), disk(found), pages(found)]
    return "\n\n".join(parts)


def costs(found: dict[str, Any]) -> str:
    first, last = found["rows"]
    waiting = f"{found['conditions']['backlog']:,}"
    told: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        ("ms for 1,000 events, webhook to ledger", lambda row: f"{row['ms_per_1000']:.0f}"),
        ("CPU ms for 1,000, intake", lambda row: f"{row['cpu_ms_per_1000']['intake']:.0f}"),
        ("CPU ms for 1,000, worker", lambda row: f"{row['cpu_ms_per_1000']['worker']:.0f}"),
        ("CPU ms for 1,000, PostgreSQL", lambda row: f"{row['cpu_ms_per_1000']['postgresql']:.0f}"),
        ("bytes of write-ahead log, each event", lambda row: f"{row['wal_bytes_per_event']:,.0f}"),
        ("statements of a batch of " + ", ".join(str(n) for n in BATCHES), statements),
        ("bytes on disk, each lead", lambda row: f"{row['bytes_per_lead']:,.0f}"),
        (f"intake, MB at most, {waiting} waiting", lambda row: mb(row["backlog"]["intake_mb"])),
        ("worker, MB at most, after all of them", lambda row: mb(row["backlog"]["worker_mb"])),
        ("backlog routed / s", lambda row: f"{row['backlog']['routed_per_second']:,.0f}"),
        ("one look at its changes, ms", lambda row: f"{row['backlog']['gather_ms']:.1f}"),
        ("changes written / s, to the console", lambda row: f"{row['backlog']['written_per_second']:,.0f}"),
        ("audit of all turns, s", lambda row: f"{row['audit']['seconds']:.1f}"),
    ]
    head = ("leads there", f"{first['base']:,}", f"{last['base']:,}")
    ratio = f"Ratio of the times: {found['ratio']:.2f}; of processor time: {found['cpu_ratio']:.2f}."
    return f"{markdown(head, [(label, tell(first), tell(last)) for label, tell in told])}\n\n{ratio}"


def statements(row: dict[str, Any]) -> str:
    return ", ".join(str(one["statements"]) for one in row["statements"])


def mb(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


def disk(found: dict[str, Any]) -> str:
    last = found["rows"][-1]
    rows = [
        (
            one["table"],
            f"{one['rows']:,}",
            f"{one['bytes'] / 1e6:,.1f}",
            f"{sum(one['indexes'].values()) / 1e6:,.1f}",
        )
        for one in last["tables"]
        if one["bytes"] + sum(one["indexes"].values()) >= last["bytes"] / 200
    ]
    return markdown((f"table, {last['base']:,} leads", "rows", "MB", "MB of indexes"), rows)


def pages(found: dict[str, Any]) -> str:
    first, last = found["rows"]
    rows = [
        (f"fairturn {one['page']}", f"{one['ms']:.0f}", f"{other['ms']:.0f}")
        for one, other in zip(first["pages"], last["pages"], strict=True)
    ]
    return markdown(("ms", f"{first['base']:,}", f"{last['base']:,}"), rows)
