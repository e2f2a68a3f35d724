"""fairturn crm: what a CRM has to have before leads are written to it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairturn.cli import paper
from fairturn.cli.running import NO, Config, Json, refusals, refuse

if TYPE_CHECKING:
    from fairturn.config import Settings
    from fairturn.desk import Furnish, Piece

group = typer.Typer(name="crm", help="What a CRM has to have before leads are written to it.", no_args_is_help=True)


@group.command(epilog="Example: fairturn crm setup --hubspot --create")
def setup(
    hubspot: Annotated[
        bool, typer.Option("--hubspot", help="For HubSpot. Salesforce: deploy examples/salesforce.")
    ] = False,
    destination: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which destination, where there are several.")
    ] = None,
    create: Annotated[bool, typer.Option("--create", help="Make what is missing.")] = False,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Which contact properties are missing in HubSpot (Fairturn's key, and what an assignment was), and the scopes.

    With --create the missing ones are made, and those that are there are left as they are: it may be run again. Exit
    code 1 if something is missing.
    """
    from fairturn.assemble.plans import load_file

    if not hubspot:
        raise typer.BadParameter(
            "say for which CRM; Salesforce's fields are in examples/salesforce", param_hint="--hubspot"
        )
    path = config or Path("fairturn.toml")
    with refusals():
        settings = load_file(path, os.environ).settings
        name = _named(settings, destination)
        account, scopes, pieces, made = asyncio.run(_work(settings, path, name, create=create))
    missing = [one for one in pieces if not one.there and one.name not in made]
    trouble = [one for one in pieces if one.trouble]
    if as_json:
        rows = [
            {"name": one.name, "what": one.what, "there": one.there, "made": one.name in made, "trouble": one.trouble}
            for one in pieces
        ]
        ok = not missing and not trouble
        paper.as_json({"ok": ok, "destination": name, "account": account, "properties": rows, "scopes": dict(scopes)})
    else:
        _say(name, account, scopes, pieces, made)
    if missing or trouble:
        raise typer.Exit(NO)


def _named(settings: Settings, wanted: str | None) -> str:
    found = [name for name, one in settings.destinations.items() if one.type == "hubspot"]
    if not found:
        refuse("The settings have no HubSpot destination.")
    if wanted is None and len(found) > 1:
        refuse(f"Name one with --destination: {', '.join(found)}.")
    if wanted is not None and wanted not in found:
        refuse(f'There is no HubSpot destination "{wanted}". Known: {", ".join(found)}.')
    return wanted or found[0]


async def _work(
    settings: Settings, path: Path, name: str, *, create: bool
) -> tuple[str, Any, Sequence[Piece], frozenset[str]]:
    from fairturn.assemble.surveys import furnish
    from fairturn.operate.secrets import beside

    async with furnish(settings, beside(path, os.environ), name) as crm:
        account = await crm.account()
        pieces = await crm.pieces()
        made = await _make(crm, pieces) if create else frozenset[str]()
        return account, crm.scopes, pieces, made


async def _make(crm: Furnish, pieces: Sequence[Piece]) -> frozenset[str]:
    made = [one for one in pieces if not one.there]
    for one in made:
        await crm.make(one)
    return frozenset(one.name for one in made)


def _say(name: str, account: str, scopes: Any, pieces: Sequence[Piece], made: frozenset[str]) -> None:
    paper.say(f"{name}, account {account}. Properties of contacts:")
    for one in pieces:
        state = "made" if one.name in made else "there" if one.there else "missing"
        paper.say(f"  {state}: {one.name}: {one.trouble or one.what}.")
    lines = [one.map_line for one in pieces if one.map_line]
    if lines:
        paper.say("", f"To have them filled, add to [destinations.{name}.map]:", *(f"  {line}" for line in lines))
    paper.say("", "Scopes that the app needs (in HubSpot: Development, Legacy apps, the app, Scopes):")
    paper.say(*(f"  {scope}: {why}" for scope, why in scopes.items()))
    if any(not one.there and one.name not in made for one in pieces):
        paper.say("", "Make what is missing: fairturn crm setup --hubspot --create")
