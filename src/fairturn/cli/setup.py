"""fairturn init, check, version: before anything runs."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairturn import __version__
from fairturn.cli import paper
from fairturn.cli.running import NO, Config, Json, refusals, refuse

if TYPE_CHECKING:
    from fairturn.config import Settings
    from fairturn.desk import Finding
    from fairturn.errors import Fault


def init(
    leads: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="LEADS.csv", help="An export: its headings become the mapping, its owners reps."
        ),
    ] = None,
    destination: Annotated[
        Literal["console", "salesforce", "hubspot"], typer.Option(help="Where leads are written.")
    ] = "console",
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
    crm: Annotated[bool, typer.Option("--crm", help="Also ask each CRM whether it would take what they say.")] = False,
    probe: Annotated[
        bool,
        typer.Option("--probe", help="With --crm: make one record, give it to a rep, update it and delete it."),
    ] = False,
) -> None:
    """Every fault of the settings, with file, line and what to write instead. Exit code 1 if there is any.

    With --crm each CRM is asked too, as the integration's user: login and org, fields and rights, owners and queues,
    requests left, rules of its own. That reads only; --probe writes one record and takes it away again. Warnings are
    shown and do not count.
    """
    from fairturn.assemble.plans import load_file
    from fairturn.errors import ConfigError

    if probe and not crm:
        raise typer.BadParameter("it is asked of the CRMs: add --crm", param_hint="--probe")
    path = config or Path("fairturn.toml")
    loaded = None
    try:
        loaded = load_file(path, os.environ, secrets=secrets)
        faults = loaded.faults
    except ConfigError as error:
        faults = error.faults
    errors = sum(fault.severity == "error" for fault in faults)
    findings = _ask(path, loaded.settings, probe=probe) if crm and loaded is not None else None
    wrong = sum(finding.severity == "error" for finding in findings or ())
    if as_json:
        paper.as_json(_as_facts(path, faults, findings, ok=not errors and not wrong))
    else:
        for fault in faults:
            paper.say(f"{fault.severity}: {fault}")
        warnings = len(faults) - errors
        tail = f" ({paper.many(warnings, 'warning')})" if warnings else ""
        paper.say(f"{path}: {paper.many(errors, 'fault')}{tail}." if errors else f"{path} stands{tail}.")
        if findings is not None:
            _say(findings, wrong)
        elif crm:
            paper.say("The CRMs were not asked: mend these first.")
    if errors or wrong:
        raise typer.Exit(NO)


def _ask(path: Path, settings: Settings, *, probe: bool) -> list[Finding]:
    from fairturn.assemble.surveys import surveys
    from fairturn.operate.secrets import beside
    from fairturn.operate.survey import survey

    async def ask() -> list[Finding]:
        async with surveys(settings, beside(path, os.environ)) as (crms, silent):
            return await survey(crms, silent, probe=probe)

    return asyncio.run(ask())


def _say(findings: list[Finding], wrong: int) -> None:
    for name in dict.fromkeys(finding.destination for finding in findings):
        paper.say("", f"{name}:")
        for one in findings:
            if one.destination == name:
                remedy = f". {one.remedy}" if one.remedy else ""
                paper.say(f"  {one.severity}: {one.subject}: {one.sentence}{remedy}")
    warnings = sum(finding.severity == "warning" for finding in findings)
    tail = f" ({paper.many(warnings, 'warning')})" if warnings else ""
    paper.say("", f"The CRMs: {paper.many(wrong, 'fault') if wrong else 'all in order'}{tail}.")


def _as_facts(path: Path, faults: Sequence[Fault], findings: list[Finding] | None, *, ok: bool) -> dict[str, Any]:
    told = ("severity", "file", "line", "key", "message", "remedy")
    facts: dict[str, Any] = {
        "ok": ok,
        "file": str(path),
        "faults": [{name: getattr(fault, name) for name in told} for fault in faults],
    }
    if findings is not None:
        asked = ("severity", "destination", "subject", "sentence", "remedy")
        facts["crm"] = [{name: getattr(one, name) for name in asked} for one in findings]
    return facts


def version(as_json: Json = False) -> None:
    """Which release this is."""
    if as_json:
        paper.as_json({"fairturn": __version__, "python": platform.python_version(), "system": platform.system()})
    else:
        paper.say(f"fairturn {__version__} (Python {platform.python_version()}, {platform.system()})")
