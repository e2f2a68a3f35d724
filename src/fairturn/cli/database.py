"""fairturn db"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import typer

from fairturn.cli import paper
from fairturn.cli.running import NO, Config, Json, refusals

if TYPE_CHECKING:
    from fairturn.assemble.upkeep import Before, DatabaseStatus

group = typer.Typer(help="The database: status, migrate, stop.", no_args_is_help=True)


@group.command("status", epilog="Example: fairturn db status")
def status(config: Config = None, as_json: Json = False) -> None:
    """Where it is, whether it runs, and whether its tables fit this release. Starts nothing."""
    from fairturn.assemble import upkeep

    with refusals():
        found = asyncio.run(upkeep.status(config, os.environ))
    if as_json:
        paper.as_json(found.as_json())
    else:
        _show(found)
    if found.refused or found.pending or (found.before and found.before.problem):
        raise typer.Exit(NO)


def _show(found: DatabaseStatus) -> None:
    paper.say(f"{found.place}: {found.state}.")
    if found.pid:
        keeper = f", kept by Fairturn (process {found.holder})" if found.holder else ", kept by nobody"
        paper.say(f"PostgreSQL is process {found.pid}{keeper}.")
    if found.size is not None:
        paper.say(f"Size: {found.size / 1_048_576:,.0f} MiB.")
    if found.before is not None:
        _show_before(found.before)
    if found.refused:
        paper.say(found.refused)
    elif found.pending:
        paper.say(f"{paper.many(len(found.pending), 'migration')} to apply: fairturn db migrate")
    elif found.applied:
        paper.say(f"Its tables are those of this release (step {found.applied[-1]}).")
    elif found.state in {"stopped", "absent"}:
        paper.say("`fairturn serve` starts it; commands that only look start it for themselves.")


def _show_before(before: Before) -> None:
    if before.problem:
        return paper.say(f"In the Valkey before it: nobody knows. {before.problem}")
    since = f", the oldest from {paper.ago(before.oldest_at)} ago" if before.oldest_at else ""
    paper.say(f"In the Valkey before it: {paper.many(before.events or 0, 'event')} to be stored{since}.")
    if before.aside:
        kept = paper.many(before.aside, "entry", "entries")
        paper.say(f"{kept} that PostgreSQL cannot hold, set aside there; see the page on Valkey.")
    return None


@group.command("migrate", epilog="Example: fairturn db migrate")
def migrate(config: Config = None, as_json: Json = False) -> None:
    """Bring the tables to this release. Safe while others do the same: one works, the others find it done."""
    from fairturn.assemble import upkeep

    with refusals():
        done = asyncio.run(upkeep.migrate(config, os.environ))
    if as_json:
        paper.as_json({"applied": list(done)})
    elif done:
        paper.say(f"Applied {paper.many(len(done), 'migration')}: {', '.join(map(str, done))}.")
    else:
        paper.say("Nothing to do: its tables are those of this release.")


@group.command("stop", epilog="Example: fairturn db stop")
def stop(config: Config = None, as_json: Json = False) -> None:
    """Stop the embedded PostgreSQL that a killed Fairturn left running. One that is in use is refused."""
    from fairturn.assemble import upkeep

    with refusals():
        stopped = asyncio.run(upkeep.stop(config, os.environ))
    if as_json:
        paper.as_json({"stopped": stopped})
    else:
        paper.say("Stopped." if stopped else "It was not running.")
