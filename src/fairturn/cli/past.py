"""fairturn history"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fairturn.cli import paper
from fairturn.cli.running import Config, Json, run

if TYPE_CHECKING:
    from fairturn.assemble.operator import Operator


def history(
    subject: Annotated[
        str | None, typer.Argument(help="One thing, such as 'rep ann', or a kind: rep, destination, lead.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many lines, newest first.")] = 50,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Who did what, when and why: acts of people, and of Fairturn where a person should know."""
    from fairturn.operate import history as past

    async def work(op: Operator) -> None:
        lines = await past.history(op.reads, subject, limit)
        if as_json:
            paper.as_json([past.as_json(line) for line in lines])
        elif not lines:
            paper.say(f"Nothing yet of {subject!r}." if subject else "Nothing yet.")
        else:
            paper.table(
                ("When", "Who", "Act", "Why"),
                (
                    (
                        paper.at(line.at),
                        line.actor,
                        f"{line.verb} {line.subject}",
                        " · ".join(part for part in (line.reason, past.in_words(line.detail)) if part),
                    )
                    for line in lines
                ),
            )

    run(config, work)
