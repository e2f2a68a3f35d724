"""fairturn destinations"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fairturn.cli import paper
from fairturn.cli.running import Actor, Because, Config, Json, Reason, by, login, moment, run

if TYPE_CHECKING:
    from fairturn.assemble.operator import Operator

group = typer.Typer(help="CRMs: list, pause, resume, limit, backfill.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="The destination's id in the settings.", metavar="DESTINATION")]


@group.command("list", epilog="Example: fairturn destinations list")
def list_destinations(config: Config = None, as_json: Json = False) -> None:
    """Each CRM: whether it is sent to and, if not, why; what waits, and for how long."""
    from fairturn.operate import destinations

    async def work(op: Operator) -> None:
        views = await destinations.destinations(op.reads, op.settings.settings if op.settings else None)
        if as_json:
            paper.as_json([view.as_json() for view in views])
            return
        if not views:
            paper.say("No destinations yet. They are read from the settings when `fairturn serve` starts.")
            return
        paper.table(
            ("Destination", "Type", "Waiting", "Oldest", "In flight", "Failed", "Calls 24h", "State"),
            (
                (
                    view.standing.id,
                    view.type or "-",
                    view.standing.pending,
                    paper.ago(view.standing.oldest_at),
                    view.standing.in_flight,
                    view.standing.failed,
                    f"{view.standing.calls_day:,}" + (f" of {view.limit:,}" if view.limit else ""),
                    view.state + (f" ({view.cause})" if view.cause else ""),
                )
                for view in views
            ),
            right=(2, 4, 5, 6),
        )

    run(config, work)


@group.command("pause", epilog="Example: fairturn destinations pause salesforce --reason 'data load until 18:00'")
def pause(name: Name, reason: Because, actor: Actor = login(), config: Config = None, as_json: Json = False) -> None:
    """Send nothing more. Leads go on being taken and assigned, and wait; a request in flight is finished."""
    from fairturn.operate import destinations

    who = by(actor, reason)

    async def work(op: Operator) -> None:
        standing = await destinations.pause(op.acts, name, who)
        if as_json:
            paper.as_json({"destination": name, "paused": True, "changed": standing is None})
        elif standing is None:
            paper.say(
                f"{name} is paused: leads are taken and assigned, and wait. `fairturn destinations resume {name}`"
            )
        else:
            since = f"{paper.ago(standing.at)} ago by {standing.by}: {standing.reason or 'no reason given'}"
            paper.say(f"{name} was paused already, {since}.")

    run(config, work)


@group.command("resume", epilog="Example: fairturn destinations resume salesforce")
def resume(
    name: Name, reason: Reason = None, actor: Actor = login(), config: Config = None, as_json: Json = False
) -> None:
    """Send again, oldest first, at once: a wait after an outage ends too."""
    from fairturn.operate import destinations

    who = by(actor, reason)

    async def work(op: Operator) -> None:
        changed = await destinations.resume(op.acts, name, who)
        if as_json:
            paper.as_json({"destination": name, "paused": False, "changed": changed})
        else:
            paper.say(f"{name} is sent to again." if changed else f"{name} was open already.")

    run(config, work)


@group.command(
    "limit", epilog="Example: fairturn destinations limit salesforce --daily 5000 --reason 'data load today'"
)
def limit(
    *,
    name: Name,
    daily: Annotated[
        str, typer.Option(help="Requests in 24 hours; none: what the settings or the CRM say.", metavar="N")
    ],
    reason: Reason = None,
    actor: Actor = login(),
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Use no more than so many requests a day. As they run low changes wait longer, bulk first; nothing is refused."""
    from fairturn.operate import destinations

    calls = _calls(daily)
    who = by(actor, reason)

    async def work(op: Operator) -> None:
        before = await destinations.limit(op.acts, name, calls, who)
        if as_json:
            paper.as_json({"destination": name, "daily_limit": calls, "changed": before != calls})
        elif before == calls:
            paper.say("That is the limit already." if calls else "There was no limit of a person's.")
        else:
            paper.say(
                f"{name} gets {calls:,} requests a day." if calls else f"{name} has the limit of the settings again."
            )

    run(config, work)


def _calls(text: str) -> int | None:
    if text.casefold() == "none":
        return None
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 2**31):
        raise typer.BadParameter("a whole number above 0, or none", param_hint="--daily")
    return int(text)


@group.command("backfill", epilog="Example: fairturn destinations backfill warehouse --since 90d --reason 'new CRM'")
def backfill(
    *,
    name: Name,
    reason: Because,
    since: Annotated[
        str | None, typer.Option(help="Only leads that came in this time: 24h, 90d. Default: all.", metavar="TIME")
    ] = None,
    actor: Actor = login(),
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Write leads to a CRM that was added, or left shadow mode, after they came; it gets only new ones otherwise.

    They go with their owners, behind everything that is new. Doing it twice does nothing the second time.
    """
    from fairturn.operate import destinations

    who = by(actor, reason)
    start = None if since is None else moment(since)

    async def work(op: Operator) -> None:
        count = await destinations.backfill(op.acts, name, start, who)
        if as_json:
            paper.as_json({"destination": name, "leads": count})
        elif count:
            leads = paper.many(count, "lead")
            paper.say(f"{leads} will be written to {name}; `fairturn destinations list` shows how many wait.")
        else:
            paper.say(f"{name} has, or will get, every lead of that time already.")

    run(config, work)
