"""fairturn reps"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fairturn.cli import paper
from fairturn.cli.running import Actor, Because, Config, Json, Reason, by, login, run

if TYPE_CHECKING:
    from fairturn.assemble.operator import Operator

group = typer.Typer(help="Who takes turns: list, pause, resume.", no_args_is_help=True)
Reps = Annotated[list[str], typer.Argument(help="Rep ids, as the settings have them.", metavar="REP...")]


@group.command("list", epilog="Example: fairturn reps list --json | jq '.[] | select(.paused)'")
def list_reps(config: Config = None, as_json: Json = False) -> None:
    """Everybody, with their pools and weights, and who is paused and why."""
    from fairturn.operate import reps

    async def work(op: Operator) -> None:
        views = await reps.reps(op.reads, op.settings.settings if op.settings else None)
        if as_json:
            paper.as_json([view.as_json() for view in views])
            return
        if not views:
            paper.say("No reps yet. They are read from the settings when `fairturn serve` starts.")
            return
        paper.table(
            ("Rep", "Name", "24 h", "Pools", "State"),
            (
                (
                    view.id,
                    view.name,
                    view.leads_day,
                    ", ".join(f"{pool} ({weight})" for pool, weight in view.pools.items()),
                    f"paused {paper.ago(view.pause.at)} ago by {view.pause.by}: {view.pause.reason or '-'}"
                    if view.pause
                    else "takes turns",
                )
                for view in views
            ),
            right=(2,),
        )
        if (todo := reps.mending(views)) is not None:
            paper.say(todo)

    run(config, work)


@group.command("pause", epilog="Example: fairturn reps pause ann --reason 'on holiday until Monday'")
def pause(rep: Reps, reason: Because, actor: Actor = login(), config: Config = None, as_json: Json = False) -> None:
    """No more leads for these reps, from the next turn on. What they have, they keep.

    Their balance stands still: when they come back they are at par, and no flood follows.
    """
    from fairturn.operate import reps

    who = by(actor, reason)

    async def work(op: Operator) -> None:
        done = []
        for name in dict.fromkeys(rep):
            standing = await reps.pause(op.acts, name, who)
            done.append({"rep": name, "paused": True, "changed": standing is None})
            if as_json:
                continue
            if standing is None:
                paper.say(f"{name} is paused: no lead from the next turn on.")
            else:
                since = f"{paper.ago(standing.at)} ago by {standing.by}: {standing.reason or 'no reason given'}"
                paper.say(f"{name} was paused already, {since}.")
        if as_json:
            paper.as_json(done)

    run(config, work)


@group.command("resume", epilog="Example: fairturn reps resume ann")
def resume(
    rep: Reps, reason: Reason = None, actor: Actor = login(), config: Config = None, as_json: Json = False
) -> None:
    """These reps take turns again. Leads that were held for want of somebody are tried at once, oldest first."""
    from fairturn.operate import reps

    who = by(actor, reason)

    async def work(op: Operator) -> None:
        changed = await reps.resume(op.acts, rep, who)
        names = list(dict.fromkeys(rep))
        if as_json:
            paper.as_json([{"rep": name, "paused": False, "changed": name in changed} for name in names])
            return
        for name in names:
            paper.say(f"{name} takes turns again." if name in changed else f"{name} was not paused.")

    run(config, work)
