"""The tail-latency tax: what a burst of leads costs in seconds, calls and failures, for each way of writing to a CRM.

burst     the webhooks as data           vendors    the CRMs: who is there, what is called how
simulated the CRM's process, evidence    calls      the CRMs' APIs as handlers call them
sync, microbatch   the baselines, as processes of their own      settings   Fairturn's
routers   what is compared               sending    the burst over HTTP, in real time
running   one run                        figures    evidence -> numbers
plan      the runs, several at a time    words      numbers -> tables      explaining  what they mean
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from bench.machine import facts
from bench.quantities import amount, amounts, cost, count
from bench.tail import explaining, plan, words
from bench.tail.plan import MODELS, SCENARIOS
from bench.tail.vendors import VENDORS

HELP = "a burst into each CRM, by one call per event, by the article's micro-batch, and by Fairturn's windows"
SHORT: Sequence[str] = (
    *("--leads", "60", "--seconds", "8", "--models", "sync,redis_microbatch,adaptive", "--crms", "salesforce"),
    *("--scenarios", "empty", "--lingers", "2", "--timer", "4"),
)


def options(ask: argparse.ArgumentParser) -> None:
    ask.add_argument("--leads", type=count, default=500, help="in a burst (500)")
    ask.add_argument("--seconds", type=amount, default=60, help="of the burst, real ones (60)")
    ask.add_argument("--models", type=some_of(MODELS), default=list(MODELS), help=",".join(MODELS))
    ask.add_argument("--crms", type=some_of(tuple(VENDORS)), default=list(VENDORS), help=",".join(VENDORS))
    ask.add_argument("--scenarios", type=some_of(SCENARIOS), default=list(SCENARIOS), help=",".join(SCENARIOS))
    ask.add_argument("--lingers", type=amounts, default=[0.5, 1.0, 2.0, 4.0, 8.0], help="of the sweep (0.5,1,2,4,8)")
    ask.add_argument("--rounds", type=count, default=1, help="the one with the median p95 counts (1)")
    ask.add_argument("--parallel", type=count, default=3, help="runs at a time (3)")
    ask.add_argument("--transaction", type=amount, default=1.5, help="seconds of a write in Salesforce (1.5)")
    ask.add_argument("--record-ms", type=cost, default=10, help="of each record in it (10)")
    ask.add_argument("--read", type=cost, default=0.15, help="seconds of a query in Salesforce (0.15)")
    ask.add_argument("--timer", type=amount, default=15, help="seconds, of redis_microbatch (15)")
    ask.add_argument("--timeout", type=amount, default=30, help="seconds that a sender of webhooks waits (30)")


def some_of(known: Sequence[str]) -> Any:
    def chosen(text: str) -> list[str]:
        found = [one.strip() for one in text.split(",") if one.strip()]
        if unknown := [one for one in found if one not in known]:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: there are {', '.join(known)}")
        return found

    return chosen


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Raises Failed."""
    machine = facts()
    done = asyncio.run(plan.all_of(plan.runs(args), args.parallel))
    rounds: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for one, figures in done:
        rounds.setdefault((one.crm, one.scenario.name, f"{one.model.name} {one.model.linger}"), []).append(figures)
    found = [plan.median(some) for some in rounds.values()]
    rows = words.saved(sorted((row for row in found if row["scenario"] in SCENARIOS[:3]), key=place))
    why = sorted((row for row in found if row["scenario"] in words.WHY), key=place)
    even = sorted((row for row in found if row["scenario"] in plan.EVEN), key=place)
    loads = [row["cpu_busy"] for row in found if row["cpu_busy"] is not None]
    conditions = conditions_of(args) | {"cpu_busy": round(fmean(loads), 2) if loads else None}
    return {
        "bench": "tail",
        "machine": machine,
        "conditions": conditions,
        "rows": rows,
        "why": why,
        "even": even,
        "calls_per_day": words.days(rows, even),
        "article": words.ARTICLE,
        "notes": explaining.notes(conditions, rows, why),
    }


def place(row: dict[str, Any]) -> tuple[object, ...]:
    """In the order of the options, the sweep by its linger."""
    names = ["sync", "redis_microbatch", "fairturn fixed 15", "fairturn fixed 10", "fairturn adaptive"]
    scenarios = [*SCENARIOS[:3], *words.WHY, *plan.EVEN]
    return (
        list(VENDORS).index(row["crm"]), scenarios.index(row["scenario"]), names.index(row["model"]),
        row.get("linger") or 0.0,
    )  # fmt: skip


def conditions_of(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "leads": args.leads,
        "seconds": args.seconds,
        "events": 3,
        "transaction_s": args.transaction,
        "record_ms": args.record_ms,
        "read_s": args.read,
        "timer_s": args.timer,
        "webhook_timeout_s": args.timeout,
        "rounds": args.rounds,
        "parallel": args.parallel,
    }


def table(found: dict[str, Any]) -> str:
    return words.table(found)
