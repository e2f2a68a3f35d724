"""fairturn simulate"""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairturn.cli import paper
from fairturn.cli.running import Config, Json, refusals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairturn.decide.pool import PoolFacts
    from fairturn.flow.plan import Plan
    from fairturn.operate.simulate import Difference, Simulation

SHOWN = 40  # lines of a list; --json has them all


def simulate(
    leads: Annotated[Path, typer.Argument(help="CSV with headings, or JSON objects: .jsonl, .json.", metavar="LEADS")],
    *,
    config: Config = None,
    against: Annotated[Path | None, typer.Option(metavar="G", help="Other settings to compare with.")] = None,
    source: Annotated[
        str | None, typer.Option(help="Read the file as this source's payloads. Default: by its headings.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin with an empty rotation, not the one of now.")] = False,
    as_json: Json = False,
) -> None:
    """Who would get these leads, by which rule, in which pool. Reads the rotation of now, writes nothing.

    Everybody in the file counts as new. With --against G, who would fare otherwise than under G.
    """
    from fairturn.assemble.operator import plan_of
    from fairturn.operate.rows import read_rows
    from fairturn.operate.settings import load
    from fairturn.operate.simulate import begin, differences
    from fairturn.operate.simulate import simulate as reckon

    with refusals():
        now = datetime.now(UTC)
        path = config or Path("fairturn.toml")
        files = [path] if against is None else [path, against]
        plans = [plan_of(load(file, os.environ, secrets=False)) for file in files]
        facts, paused = ({}, {}) if fresh else asyncio.run(_rotation(config, plans))
        found = []
        for plan in plans:
            rows = read_rows(leads, plan, source, now)
            found.append(reckon(plan, rows, begin(plan, facts, paused), paused))
        changed = differences(*found) if against is not None else None
    if as_json:
        result = found[0].as_json()
        if changed is not None and against is not None:
            result["against"] = {
                "settings": str(against),
                "pools": found[1].pools(),
                "changed": [difference.as_json() for difference in changed],
            }
        paper.as_json(result)
        return
    _show(plans[0], found[0])
    if changed is not None:
        _changed(changed, str(against))


async def _rotation(config: Path | None, plans: list[Plan]) -> tuple[Mapping[str, PoolFacts], Mapping[str, str]]:
    """As it stands, where there is a database; an empty one otherwise, and said so."""
    from fairturn.assemble.operator import operator
    from fairturn.errors import ConfigError, StoreError

    try:
        async with operator(config) as op:
            shapes = {pool: shape for plan in reversed(plans) for pool, shape in plan.shapes.items()}
            paused = {rep.id: rep.pause.reason or "" for rep in await op.reads.reps() if rep.pause}
            return await op.reads.pools(shapes), paused
    except (StoreError, ConfigError):
        paper.whisper("note: no database answers, so the rotation begins empty and nobody is paused.")
        return {}, {}


def _show(plan: Plan, found: Simulation) -> None:
    from fairturn.operate.simulate import quiet_reps

    rows_said = f" in {paper.many(found.rows, 'row')}" if found.rows != len(found.fates) else ""
    paper.say(
        f"{paper.many(len(found.fates), 'lead')}{rows_said}: {found.count('assigned'):,} assigned, "
        f"{found.count('held'):,} held, {found.count('parked'):,} parked, {found.count('ignored'):,} ignored."
    )
    rows = [(pool, rep, leads) for pool, counts in found.pools().items() for rep, leads in counts.items()]
    if rows:
        paper.table(("Pool", "Rep", "Leads"), rows, right=(2,))
    if quiet := quiet_reps(plan.settings, found):
        paper.say(f"Nothing for: {', '.join(quiet)}.")
    if found.fates:
        paper.say("")
        paper.table(("Rule", "Leads"), found.rules().items(), right=(1,))
    nobody = [fate for fate in found.fates if fate.status in {"held", "ignored", "parked"}]
    if nobody:
        paper.say("", "Without a rep:")
        paper.table(
            ("Row", "Name", "Fate", "Why"),
            ((fate.rows[0], paper.clean(fate.name, 30), fate.status, fate.reason) for fate in nobody[:SHOWN]),
            right=(0,),
        )
    if len(nobody) > SHOWN:
        paper.say(f"… and {len(nobody) - SHOWN:,} more; --json lists them.")
    for row, problem in list(found.problems.items())[:SHOWN]:
        paper.say(f"Row {row} is no lead: {problem}")
    if len(found.problems) > SHOWN:
        paper.say(f"… and {len(found.problems) - SHOWN:,} more; --json lists them.")


def _changed(changed: list[Difference], against: str) -> None:
    from fairturn.operate.simulate import brief

    paper.say("", f"{paper.many(len(changed), 'lead')} would fare otherwise than under {against}.")
    if changed:
        paper.table(
            ("Row", "Name", f"Under {against}", "Now"),
            (
                (one.now.rows[0], paper.clean(one.now.name, 30), brief(one.against), brief(one.now))
                for one in changed[:SHOWN]
            ),
            right=(0,),
        )
    if len(changed) > SHOWN:
        paper.say(f"… and {len(changed) - SHOWN:,} more; --json lists them.")
