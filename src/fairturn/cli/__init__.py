"""The command line. One small file per group; a command imports its heavy parts when it runs."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib import import_module

import typer

from fairturn.cli import (
    advise,
    crm,
    database,
    destinations,
    events,
    failed,
    holds,
    leads,
    past,
    proofs,
    reps,
    setup,
    simulate,
    why,
)
from fairturn.cli.paper import whisper

INTRO = """Every lead to the right rep, fairly, and into the CRM in few, safe, batched calls.

Begin with `fairturn init`, then `fairturn check`, then `fairturn serve`; or see it all at work with `fairturn demo`.
"""
FAULT_OF_OURS = 70  # EX_SOFTWARE of sysexits.h

app = typer.Typer(
    name="fairturn",
    help=INTRO,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

BEGIN, WATCH, ACT, KEEP = "Begin", "Look and prove", "Act", "Keep"


def _command(function: object, example: str, panel: str) -> None:
    app.command(epilog=f"Example: {example}", rich_help_panel=panel)(function)  # type: ignore[type-var]  # typer's own bound


_command(advise.advise, "fairturn advise --leads-per-minute 60 --reps 8 --enrichment-seconds 2", BEGIN)
_command(setup.init, "fairturn init --from leads.csv --destination salesforce", BEGIN)
_command(setup.check, "fairturn check --crm", BEGIN)
app.add_typer(crm.group, name="crm", rich_help_panel=BEGIN)
# The module of a command that is not built yet leaves no hole: `serve` and `demo` bring `command` along.
EXAMPLES = {
    "serve": "fairturn serve --config fairturn.toml --port 8080",
    "demo": "fairturn demo --leads 200 --seconds 20",
}
for name, example in EXAMPLES.items():
    if importlib.util.find_spec(f"fairturn.cli.{name}") is not None:
        app.command(name, epilog=f"Example: {example}", rich_help_panel=BEGIN)(
            import_module(f"fairturn.cli.{name}").command
        )
_command(why.why, "fairturn why jane@acme.com", WATCH)
_command(proofs.audit, "fairturn audit --json", WATCH)
_command(proofs.reconcile, "fairturn reconcile --since 7d", WATCH)
_command(simulate.simulate, "fairturn simulate leads.csv --config new.toml --against fairturn.toml", WATCH)
_command(past.history, "fairturn history 'rep ann'", WATCH)
app.add_typer(leads.group, name="leads", rich_help_panel=WATCH)
app.add_typer(reps.group, name="reps", rich_help_panel=ACT)
app.add_typer(holds.group, name="holds", rich_help_panel=ACT)
app.add_typer(failed.group, name="failed", rich_help_panel=ACT)
app.add_typer(events.group, name="events", rich_help_panel=ACT)
app.add_typer(destinations.group, name="destinations", rich_help_panel=ACT)
app.add_typer(database.group, name="db", rich_help_panel=KEEP)
_command(setup.version, "fairturn version", BEGIN)


def _flow(words: str | None) -> str:
    """Paragraphs without the line breaks of the source, so that a terminal of any width breaks them where it ends."""
    return "\n\n".join(" ".join(part.split()) for part in (words or "").split("\n\n"))


for _typer in (app, *(found.typer_instance for found in app.registered_groups)):
    for _info in _typer.registered_commands if _typer is not None else ():
        _info.help = _flow(_info.callback.__doc__ if _info.callback else None)


def main() -> None:
    """The console script."""
    try:
        app(prog_name="fairturn")
    except BrokenPipeError:  # `fairturn leads list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if os.environ.get("FAIRTURN_DEBUG"):
            raise
        whisper(
            f"error: Fairturn met something that it does not know ({type(error).__name__}: {error}). Nothing was left "
            "half done: each act is one transaction. FAIRTURN_DEBUG=1 shows where; please report it."
        )
        sys.exit(FAULT_OF_OURS)
