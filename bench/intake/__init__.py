"""Webhooks answered durably per second, against the same server's bare echo and the usual ways, in the same run."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from statistics import median
from typing import Any, Final

from bench import machine
from bench.intake import load
from bench.intake.servers import NAMES, field_of
from bench.page.intake import ceiling_table, rate_table
from bench.quantities import amount, count, counts

HELP = "webhooks answered durably per second, against the server's bare echo and the usual ways"
SHORT: Sequence[str] = ("--seconds", "1", "--rounds", "1", "--rates", "1000", "--rate-seconds", "1")
UP_TO: Final = 0.9  # of its ceiling: beyond it no server keeps up
# What the bars compare: server, the one that it is measured against.
RATIOS: Final = {
    "fairturn_to_echo": ("fairturn", "echo"),
    "fairturn_to_echo_fast": ("fairturn", "echo_fast"),
    "fairturn_to_echo_starlette": ("fairturn", "echo_starlette"),
    "fairturn_to_insert": ("fairturn", "insert"),
    "fairturn_sync_to_skip_locked": ("fairturn_sync", "skip_locked"),
    "fairturn_sync_to_skip_locked_kept": ("fairturn_sync", "skip_locked_kept"),
    "fairturn_valkey_to_echo": ("fairturn_valkey", "echo"),
}
NOTES: Final = (
    "`insert` and `skip_locked` have a warm connection for each client, at most 150 of the server's 200.",
    "They look at neither signature nor JSON. `skip_locked` keeps no webhook, only which request got which rep.",
    "PostgreSQL 18 as Fairturn ships it, every commit flushed to disk; Valkey with `appendfsync always`.",
    "No worker runs: what is measured is the way to the answer. The sync lane's answer names the owner.",
)


def options(ask: argparse.ArgumentParser) -> None:
    ask.add_argument("--servers", type=chosen, default=list(NAMES), help=", ".join(NAMES))
    ask.add_argument("--seconds", type=amount, default=3, help="of each round at the ceiling (3)")
    ask.add_argument("--clients", type=count, default=256, help="connections at the ceiling (256)")
    ask.add_argument("--rounds", type=count, default=3, help="of each server, taking turns; medians count (3)")
    ask.add_argument("--rates", type=counts, default=[500, 1000, 2000, 5000], help="per second (500,1000,2000,5000)")
    ask.add_argument("--rate-seconds", type=amount, default=1.2, help="of each rate in each round (1.2)")
    ask.add_argument("--most", type=count, default=50_000, help="requests prepared for each second (50,000)")


def chosen(text: str) -> list[str]:
    found = text.split(",")
    if unknown := set(found) - set(NAMES):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: not one of {', '.join(NAMES)}")
    return found


def run(args: argparse.Namespace) -> dict[str, Any]:
    return asyncio.run(measure(args))


async def measure(args: argparse.Namespace) -> dict[str, Any]:
    facts = machine.facts()
    rounds: list[dict[str, Any]] = []
    first = 0
    async with field_of(args.servers) as (home, field):
        for number in range(args.rounds):
            for server in field if number % 2 == 0 else reversed(field):
                row = load.ceiling(home, server, first, args.most, args.clients, args.seconds)
                first += int(args.most * (args.seconds + 2 * load.WARM))
                lowest = min(args.rates, default=0)
                if rates := [rate for rate in args.rates if rate == lowest or rate <= UP_TO * row["per_second"]]:
                    row["rates"] = load.at_rates(home, server, first, rates, args.rate_seconds)
                    first += int(2 * sum(rates) * (args.rate_seconds + 1))
                rounds.append(row)
    return {
        "bench": "intake",
        "machine": facts,
        "conditions": {
            "seconds": args.seconds, "clients": args.clients, "rounds": args.rounds, "load": load.tool(),
            "rate_seconds": args.rate_seconds, "rate_clients": load.CLIENTS, "body_bytes": 220,
        },
        "rows": [middle([row for row in rounds if row["server"] == server.name]) for server in field],
        "ratios": ratios(rounds),
        "notes": NOTES,
        "rounds": rounds,
    }  # fmt: skip


def middle(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The medians of a server's rounds; a rate's of those rounds that came to it."""
    row = {name: value for name, value in medians(runs).items() if name != "rates"}
    reached = sorted({at["rate"] for run in runs for at in run.get("rates", ())})
    points = []
    for rate in reached:
        those = [at for run in runs for at in run.get("rates", ()) if at["rate"] == rate]
        points.append(medians(those) | {"keeps_up": 2 * sum(at["keeps_up"] for at in those) > len(those)})
    return row | {"rates": points, "keeps_up_to": max((at["rate"] for at in points if at["keeps_up"]), default=None)}


def medians(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in runs[0].items():
        found[name] = median(run[name] for run in runs) if isinstance(value, int | float) else value
    return found


def ratios(rounds: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The medians of the ratios within each round."""
    speeds: dict[str, list[float]] = {}
    for row in rounds:
        speeds.setdefault(row["server"], []).append(row["per_second"])
    return {
        name: median(one / other for one, other in zip(speeds[ours], speeds[theirs], strict=True))
        for name, (ours, theirs) in RATIOS.items()
        if ours in speeds and theirs in speeds
    }


def table(found: dict[str, Any]) -> str:
    parts = [ceiling_table(found)]
    if found["conditions"]["load"] != "wrk":
        parts.append(
            "The load was written in Python, since wrk is not installed (apt-get install wrk, brew install wrk): it "
            "takes more of the processor, and whoever answers fast looks slower than it is."
        )
    if any(row["rates"] for row in found["rows"]):
        parts.append(rate_table(found))
    said = [f"- {name.replace('_to_', ' to ')}: {ratio:.2f}" for name, ratio in found["ratios"].items()]
    said += [f"- {row['server']} keeps up to {row['keeps_up_to']:,}/s" for row in found["rows"] if row["keeps_up_to"]]
    return "\n\n".join([*parts, "\n".join(said)])
