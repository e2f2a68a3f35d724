"""What every command does around its work: options, the database, errors as one line, exit codes.

0 the answer is yes, or it is done · 1 the answer is no · 2 it was asked wrongly, or of what does not exist
3 the database, a CRM or the port to listen on is not available
"""

from __future__ import annotations

import asyncio
import getpass
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeVar

import typer

from fairturn.cli.paper import whisper
from fairturn.errors import (
    ConfigError,
    DestinationError,
    FairturnError,
    NotServing,
    StoreError,
)
from fairturn.views import By

if TYPE_CHECKING:
    from fairturn.assemble.operator import Operator

T = TypeVar("T")
NO, WRONG, AWAY = 1, 2, 3

Config = Annotated[
    Path | None,
    typer.Option("--config", envvar="FAIRTURN_CONFIG", help="The settings. Default: ./fairturn.toml", metavar="F"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Actor = Annotated[str, typer.Option("--actor", help="Who does this. Default: your login name.", show_default=False)]
Reason = Annotated[str | None, typer.Option("--reason", help="Why: kept in the history.", metavar="TEXT")]
Because = Annotated[str, typer.Option("--reason", help="Why: kept in the history.", metavar="TEXT")]
PASSWORD = re.compile(r"(://[^:/@\s]*:)[^@\s]+@|(password\s*=\s*)\S+", re.IGNORECASE)


def login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container whose user id has no name
        return "operator"


def by(actor: str, reason: str | None) -> By:
    """Raises typer.BadParameter: an act without a name is nobody's."""
    if not actor.strip():
        raise typer.BadParameter("say who does this", param_hint="--actor")
    return By(actor.strip()[:200], reason.strip()[:2000] if reason and reason.strip() else None)


def moment(since: str) -> datetime:
    """The time that was `since` ("90m", "24h", "7d") ago. Raises typer.BadParameter."""
    from fairturn.config import parse_duration

    try:
        seconds = parse_duration(since)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--since") from None
    if not isinstance(seconds, float) or seconds <= 0:
        raise typer.BadParameter("a time above 0", param_hint="--since")
    return datetime.now(UTC) - timedelta(seconds=seconds)


def run(config: Path | None, work: Callable[[Operator], Awaitable[T]]) -> T:
    """The work, with the database open. Every error that Fairturn raises on purpose ends as a line and a code."""
    with refusals():
        return asyncio.run(_run(config, work))


async def _run(config: Path | None, work: Callable[[Operator], Awaitable[T]]) -> T:
    from fairturn.assemble.operator import operator

    async with operator(config) as op:
        if op.found.complaint is not None:
            count = len(op.found.complaint.faults)
            whisper(
                f"note: {op.found.path} does not stand ({count} findings; see `fairturn check`); its database does."
            )
        if op.found.path is None:  # in the wrong folder one reads, and changes, another database than one thinks
            whisper(f"note: no fairturn.toml here and no --config, so this is {op.found.place.shown}.")
        return await work(op)


@contextmanager
def refusals() -> Iterator[None]:
    try:
        yield
    except ConfigError as error:
        for fault in error.faults:
            whisper(f"{fault.severity}: {fault}")
        raise typer.Exit(WRONG) from None
    except (StoreError, DestinationError, NotServing) as error:
        refuse(str(error), AWAY)
    except FairturnError as error:
        refuse(str(error), WRONG)


def refuse(message: str, code: int = WRONG) -> NoReturn:
    """One line on standard error, without a password that some library's words may repeat."""
    whisper("error: " + PASSWORD.sub(lambda found: f"{found[1] or found[2]}***{'@' if found[1] else ''}", message))
    raise typer.Exit(code) from None
