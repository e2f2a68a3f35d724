"""fairturn init, check, version: before anything runs."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Annotated, Literal

import typer

from fairturn import __version__
from fairturn.cli import paper
from fairturn.cli.running import NO, Config, Json, refusals, refuse


def init(
    leads: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="LEADS.csv", help="An export: its headings become the mapping, its owners reps."
        ),
    ] = None,
    destination: Annotated[Literal["console", "salesforce"], typer.Option(help="Where leads are written.")] = "console",
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    config: Annotated[Path, typer.Option("--config", metavar="F", help="The file to write.")] = Path("fairturn.toml"),
) -> None:
    """Write settings that work, with comments that teach; begin here."""
    from fairturn.operate.init import starter, starter_from

    with refusals():
        text = starter(destination) if leads is None else starter_from(leads, destination)
        try:
            # "x" makes it in one step: a file that appears meanwhile is not written over.
            with config.open("w" if force else "x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            refuse(f"{config} is there already. Name another file with --config, or replace it with --force.")
        except OSError as error:
            refuse(f"{config} cannot be written ({error.strerror}). Name a file in a folder that you may write to.")
    paper.say(
        f"Wrote {config}. Read it from top to bottom, it is short. Then:",
        f"  fairturn check --config {config}" if config != Path("fairturn.toml") else "  fairturn check",
        f"  fairturn serve --config {config}" if config != Path("fairturn.toml") else "  fairturn serve",
    )


def check(
    config: Config = None,
    as_json: Json = False,
    secrets: Annotated[
        bool, typer.Option("--secrets/--no-secrets", help="Also whether every secret named is there.")
    ] = True,
) -> None:
    """Every fault of the settings, with file, line and what to write instead. Exit code 1 if there is any.

    Warnings are shown and do not count.
    """
    from fairturn.assemble.plans import load_file
    from fairturn.errors import ConfigError

    path = config or Path("fairturn.toml")
    try:
        faults = load_file(path, os.environ, secrets=secrets).faults
    except ConfigError as error:
        faults = error.faults
    errors = sum(fault.severity == "error" for fault in faults)
    if as_json:
        paper.as_json(
            {
                "ok": not errors,
                "file": str(path),
                "faults": [
                    {
                        "severity": fault.severity,
                        "file": fault.file,
                        "line": fault.line,
                        "key": fault.key,
                        "message": fault.message,
                        "remedy": fault.remedy,
                    }
                    for fault in faults
                ],
            }
        )
    else:
        for fault in faults:
            paper.say(f"{fault.severity}: {fault}")
        warnings = len(faults) - errors
        tail = f" ({paper.many(warnings, 'warning')})" if warnings else ""
        paper.say(f"{path}: {paper.many(errors, 'fault')}{tail}." if errors else f"{path} stands{tail}.")
    if errors:
        raise typer.Exit(NO)


def version(as_json: Json = False) -> None:
    """Which release this is."""
    if as_json:
        paper.as_json({"fairturn": __version__, "python": platform.python_version(), "system": platform.system()})
    else:
        paper.say(f"fairturn {__version__} (Python {platform.python_version()}, {platform.system()})")
