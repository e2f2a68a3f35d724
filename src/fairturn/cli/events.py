"""fairturn events"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fairturn.cli import paper
from fairturn.cli.running import Actor, Because, Config, Json, by, login, refuse, run

if TYPE_CHECKING:
    from fairturn.assemble.operator import Operator

group = typer.Typer(help="Events that made no lead: list, retry.", no_args_is_help=True)
Source = Annotated[str | None, typer.Option(help="Only of this source.")]


@group.command("list", epilog="Example: fairturn events list --source website")
def list_events(
    state: Annotated[
        Literal["aside", "waiting", "expired"],
        typer.Option(help="Set aside, or a signal that waits for its lead, or one whose lead never came."),
    ] = "aside",
    source: Source = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many, newest first.")] = 100,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """What arrived, was answered with 2xx, and made no lead; with the reason."""
    from fairturn.operate import events

    async def work(op: Operator) -> None:
        lines = await events.events(op.asides, state, source, limit)
        if as_json:
            paper.as_json([events.as_json(line) for line in lines])
        elif not lines:
            paper.say("No event is set aside." if state == "aside" else f"No event is {state}.")
        else:
            paper.table(
                ("Event", "Source", "Since", "Why"),
                (
                    (line.id, line.source, paper.ago(line.received_at), line.problem or "its lead is not known yet")
                    for line in lines
                ),
                whole=(0,),
            )

    run(config, work)


@group.command("retry", epilog="Example: fairturn events retry --all --source website --reason 'the mapping is mended'")
def retry(
    *,
    events: Annotated[list[str] | None, typer.Argument(help="Events, by id.", metavar="[EVENT]...")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that are set aside.")] = False,
    source: Source = None,
    reason: Because,
    actor: Actor = login(),
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Read events that were set aside again, with the settings in force. What is still wrong is set aside again."""
    from fairturn.operate import events as asides

    if bool(events) == everything:
        refuse("Name events, or say --all.")
    who = by(actor, reason)

    async def work(op: Operator) -> None:
        count = await asides.again(op.asides, events, source, who)
        if as_json:
            paper.as_json({"retried": count})
        else:
            paper.say(f"{paper.many(count, 'event')} will be read again." if count else "None of these is set aside.")

    run(config, work)
