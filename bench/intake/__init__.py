"""Webhooks answered durably per second, against the same server's bare echo in the same run."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, TypedDict

from bench import machine
from bench.house import Failed, House, answers, house, process, sender
from bench.machine import cpu_seconds
from bench.paper import cpu, markdown
from fairturn.assemble.demo.processes import free_port


class Load(TypedDict):
    prepared: int
    clients: int
    seconds: float


HELP = "webhooks answered durably per second, against the server's bare echo"
SHORT: Sequence[str] = ("--seconds", "3")
MOST = 40_000  # requests a second that are prepared; no Python server answers more


def options(ask: argparse.ArgumentParser) -> None:
    ask.add_argument("--seconds", type=float, default=5, help="of each round (5)")
    ask.add_argument("--clients", type=int, default=64, help="connections (64)")
    ask.add_argument("--rounds", type=int, default=3, help="of each server, taking turns; medians count (3)")


def run(args: argparse.Namespace) -> dict[str, Any]:
    return asyncio.run(measure(args.seconds, args.clients, args.rounds))


async def measure(seconds: float, clients: int, rounds: int) -> dict[str, Any]:
    prepared = int(MOST * (seconds + 1))
    load: Load = {"prepared": prepared, "clients": clients, "seconds": seconds}
    facts = machine.facts()
    async with house() as home:
        port = home.start("intake")
        echo_port = free_port()
        command = [sys.executable, "-m", "bench.echo", str(echo_port)]
        with process(command, home.log) as echo:
            answers(echo_port, "/", echo, home.log)
            found: dict[str, list[dict[str, Any]]] = {"echo": [], "fairturn": []}
            for number in range(rounds):
                found["echo"].append(
                    one_round(home, echo_port, lambda: {"server": cpu_seconds(echo.pid)}, first=0, **load)
                )
                found["fairturn"].append(
                    one_round(home, port, lambda: server_cpu(home), first=prepared * number, **load)
                )
    summary = {name: middle(runs) for name, runs in found.items()}
    return {
        "bench": "intake",
        "machine": facts,
        "conditions": {"seconds": seconds, "clients": clients, "rounds": rounds, "body_bytes": 220},
        **summary,
        "ratio": median(
            ours["per_second"] / bare["per_second"] for ours, bare in zip(found["fairturn"], found["echo"], strict=True)
        ),
        "rounds": found,
    }


def server_cpu(home: House) -> dict[str, float]:
    used = home.cpu()
    return {"server": used["intake"], "postgresql": used["postgresql"]}


def one_round(
    home: House,
    port: int,
    cpu: Callable[[], dict[str, float]],
    *,
    first: int,
    prepared: int,
    clients: int,
    seconds: float,
) -> dict[str, Any]:
    with sender(port, home.log, first=first, requests=prepared, clients=clients, seconds=seconds) as load:
        load.go()
        load.said()  # it is warm
        before = cpu()
        found = load.said()
        after = cpu()
    if found["exhausted"]:
        raise Failed(f"all of {found['sent']} prepared requests were answered before the time was over: raise MOST")
    if found["bad"] or not found["answered"]:
        raise Failed(f"{found['bad']} of {found['sent']} requests were not answered 202")
    used = {f"{name}_cpu_s_per_1000": 1000 * (after[name] - was) / found["answered"] for name, was in before.items()}
    return {
        "answered": found["answered"],
        "per_second": found["answered"] / found["seconds"],
        **{name: value for name, value in found.items() if name.startswith("p")},
        **used,
    }


def middle(runs: list[dict[str, Any]]) -> dict[str, float]:
    return {name: median(run[name] for run in runs) for name in runs[0]}


def table(found: dict[str, Any]) -> str:
    rows = [
        (
            label,
            f"{run['per_second']:,.0f}",
            *(f"{run[f'p{q}_ms']:.1f}" for q in (50, 95, 99)),
            cpu(run.get("server_cpu_s_per_1000")),
            cpu(run.get("postgresql_cpu_s_per_1000")),
        )
        for label, run in (("bare echo, nothing kept", found["echo"]), ("Fairturn, durable", found["fairturn"]))
    ]
    head = ("server", "answered / s", "p50 ms", "p95 ms", "p99 ms", "CPU ms / 1,000, server", "PostgreSQL")
    return f"{markdown(head, rows)}\n\nFairturn answers {found['ratio']:.2f} of what the bare echo does."
