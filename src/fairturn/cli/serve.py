"""fairturn serve: take webhooks, route, deliver."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from fairturn.cli.running import Config, login, refusals


def command(
    config: Config = None,
    role: Annotated[
        Literal["intake", "worker"] | None,
        typer.Option(help="Run this role alone, in the foreground. Default: one process per role."),
    ] = None,
    host: Annotated[str | None, typer.Option(help="Listen here instead of server.host.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Listen here instead of server.port.")] = None,
) -> None:
    """Take webhooks, give each lead its rep and write it to the CRM, until Ctrl-C or SIGTERM.

    Without database_url it runs a PostgreSQL of its own, which survives a crash and stops with it.
    """
    from fairturn.assemble.serve import serve

    with refusals():
        serve(config or Path("fairturn.toml"), role, host, port, login())
