"""Which runs there are, several of them at a time, and which round of several counts."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from bench.house import Failed
from bench.tail.routers import Model, adaptive, fixed
from bench.tail.running import Run, Scenario, measured
from bench.tail.simulated import Costs
from fairturn.decide.sizing import START
from fairturn.errors import FairturnError

MODELS: Final = ("sync", "redis_microbatch", "fixed_15", "fixed_10", "adaptive")
SCENARIOS: Final = ("empty", "half there", "automation 20", "why", "even")
EVEN: Final = {"even 5,000": (6, 86_400 / 5_000), "even 50,000": (50, 86_400 / 50_000)}  # leads, seconds between two
LIMIT: Final = 20  # records of one transaction that the org's automation bears
LINGER: Final = 2.0


def runs(args: argparse.Namespace) -> list[Run]:
    """The longest first, so that none of them runs alone at the end."""
    found = [
        Run(model, crm, scenario, args.timeout, number)
        for number in range(1, args.rounds + 1)
        for crm in args.crms
        for scenario in scenarios(args, crm)
        for model in models(args, crm, scenario.name)
    ]
    return sorted(found, key=lambda run: -run.seconds)


def scenarios(args: argparse.Namespace, crm: str) -> Iterator[Scenario]:
    costs = costs_of(args, crm)
    # Of fewer than the first request takes nothing is to be learnt.
    plain = Scenario("empty", args.leads, args.seconds, costs, learnt=args.leads > START)
    salesforce = crm == "salesforce"  # HubSpot's workflows run after the write, and nobody waits for them
    if "empty" in args.scenarios:
        yield plain
    if "half there" in args.scenarios:
        yield replace(plain, name="half there", there=0.5)
    if "automation 20" in args.scenarios and salesforce:
        yield replace(plain, name=f"automation {LIMIT}", switches={"automation_records": LIMIT}, learnt=False)
    if "why" in args.scenarios and salesforce:
        yield from why(plain)
    if "even" in args.scenarios and salesforce:
        for name, (leads, every) in EVEN.items():
            yield replace(plain, name=name, leads=leads, seconds=leads * every, every=every)


def why(plain: Scenario) -> Iterator[Scenario]:
    """What the share of failed calls hangs on."""
    for seconds in (0.5, 1.0):
        yield replace(plain, name=f"transactions of {seconds:g} s", costs=replace(plain.costs, transaction=seconds))
    yield replace(plain, name="one event per lead", each=1)
    yield replace(plain, name="all companies alike", zipf=0.0)
    yield replace(plain, name="updates lock no account", switches={"parent_lock": "relation"})


def costs_of(args: argparse.Namespace, crm: str) -> Costs:
    if crm == "salesforce":
        return Costs(args.transaction, args.record_ms / 1000, args.read)
    return Costs(0.3, 0.005, 0.3)  # the simulator's own: HubSpot has no transactions with triggers


def models(args: argparse.Namespace, crm: str, scenario: str) -> Iterator[Model]:
    wanted = args.models
    if scenario not in ("empty", "half there", f"automation {LIMIT}", *EVEN):
        wanted = ["sync"] if "sync" in args.models else []
    elif scenario in EVEN:
        wanted = [name for name in args.models if name != "sync"]  # two calls for each event, however they come
    known = {
        "sync": Model("sync", "sync"),
        "redis_microbatch": Model("redis_microbatch", "redis_microbatch", timer=args.timer),
        "fixed_15": fixed(15.0),
        "fixed_10": fixed(10.0),
        "adaptive": adaptive(LINGER, crm),
    }
    yield from (known[name] for name in wanted)
    if scenario == "empty" and "adaptive" in wanted:
        yield from (adaptive(linger, crm) for linger in args.lingers if linger != LINGER)


async def all_of(planned: Sequence[Run], parallel: int) -> list[tuple[Run, dict[str, Any]]]:
    """Raises Failed."""
    slots = asyncio.Semaphore(parallel)

    async def one(run: Run) -> tuple[Run, dict[str, Any]]:
        async with slots:
            try:
                found = await measured(run)
            except (FairturnError, Failed) as error:  # a port that somebody else took meanwhile, of some forty runs
                print(f"{run.label}: once more, for {error}", file=sys.stderr, flush=True)
                try:
                    found = await measured(run)
                except FairturnError as again:
                    raise Failed(f"{run.label}: {again}") from again
        print(f"{run.label}: {found['calls']:,} calls, p95 {found['p95_s']} s", file=sys.stderr, flush=True)
        return run, found

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(run)) for run in planned]
    except ExceptionGroup as group_error:
        raise group_error.exceptions[0] from group_error
    return [task.result() for task in tasks]


def median(rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The round whose p95 is the median one, whole; with the range of calls and p95 over all of them."""
    ordered = sorted(rounds, key=lambda one: (one["p95_s"] is None, one["p95_s"]))
    found = ordered[(len(ordered) - 1) // 2]
    if len(rounds) > 1:
        spans = {name: [one[name] for one in rounds if one[name] is not None] for name in ("calls", "p95_s")}
        found = found | {f"{name}_range": [min(span), max(span)] for name, span in spans.items() if span}
    return found
