"""fairturn demo: everything at work on this machine, and what came of it in numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal

import typer
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from fairturn.cli import paper
from fairturn.cli.running import NO, refusals, refuse

if TYPE_CHECKING:
    from fairturn.assemble.demo.run import Moment, Result

Crm = Literal["salesforce", "hubspot"]
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
STOPPING = "Stopping, and removing what was started ..."
QUIET = 10.0  # per cent of the events between two lines in a pipe


def command(
    *,
    leads: Annotated[int, typer.Option(min=1, max=100_000, help="People who must reach the CRM.")] = 500,
    seconds: Annotated[float, typer.Option(min=1, max=86_400, help="Length of the burst.")] = 60,
    events: Annotated[int, typer.Option(min=1, max=20, help="Of each lead: a form, enrichment, then scores.")] = 3,
    crm_seconds: Annotated[float, typer.Option(min=0, max=60, help="What each request costs in the CRM.")] = 0.5,
    record_ms: Annotated[float, typer.Option(min=0, max=1000, help="And each record in it, in milliseconds.")] = 10,
    crm: Annotated[Crm, typer.Option(help="Which CRM is simulated.")] = "salesforce",
    seed: Annotated[int, typer.Option(min=0, help="Another burst of the same kind.")] = 8,
    leave: Annotated[bool, typer.Option("--exit", help="End after the summary instead of staying up.")] = False,
    file: Annotated[
        Path | None, typer.Option("--json", metavar="F", help="Write the numbers there, for scripts.")
    ] = None,
) -> None:
    """See it all at work: a burst of real webhooks, fair turns, and batched writes into a simulated CRM.

    A fifth of the people are in the CRM already. It starts a PostgreSQL, Fairturn and the simulator in a temporary
    folder, and removes them at the end. Exit code 1 if a lead was lost or written twice, an owner was taken from
    somebody, or a rep was ever a whole lead away from their share.
    """
    from fairturn.assemble.demo.run import Options, demo

    if file is not None:
        _open(file).close()  # a run of a minute must not end in a path that was mistyped
    options = Options(leads, seconds, events, crm_seconds, record_ms, seed, crm)

    def show(found: Result) -> None:
        stop_bar()
        paper.say("", *found.report)
        if file is not None:
            _write(file, found)
        if not leave:
            paper.say("", *found.ways_on)

    with refusals(), _watched() as (tell, stop_bar):
        result = demo(options, tell, show, stay=not leave)
    if result is None:
        paper.whisper("Stopped before there was a result; everything that was started is gone.")
        raise typer.Exit(INTERRUPTED)
    if not result.summary.ok:
        raise typer.Exit(NO)


def _write(file: Path, found: Result) -> None:
    import orjson

    with _open(file) as out:
        out.truncate(0)
        out.write(orjson.dumps(found.summary.as_json(), option=orjson.OPT_INDENT_2) + b"\n")


def _open(file: Path) -> BinaryIO:
    try:
        return file.open("ab")
    except OSError as error:
        refuse(f"{file} cannot be written ({error.strerror}). Name a file in a folder that you may write to.")


@contextmanager
def _watched() -> Iterator[tuple[Callable[[Moment], None], Callable[[], None]]]:
    """A bar that lives where somebody looks, a few plain lines in a pipe."""
    console = paper.out()
    if not console.is_terminal:
        yield _Lines().tell, lambda: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[said]}"))
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        bar = _Bar(progress, progress.add_task("Starting", total=None, said=""))
        yield bar.tell, progress.stop


class _Bar:
    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def tell(self, moment: Moment) -> None:
        if moment.phase == "stopping":
            self._progress.stop()
            paper.whisper(STOPPING)
            return
        words = {"starting": "Starting", "burst": "Burst", "settling": "Last ones", "measuring": "Measuring"}
        said = "" if moment.phase == "starting" else counts(moment)
        known = moment.phase in {"burst", "settling"}
        self._progress.update(
            self._task,
            description=words[moment.phase],
            total=moment.leads if known else None,
            completed=moment.in_crm,
            said=said,
        )


class _Lines:
    def __init__(self) -> None:
        self._phase = ""
        self._said = 0.0  # per cent of the events arrived, at the last line

    def tell(self, moment: Moment) -> None:
        share = 100 * moment.arrived / max(1, moment.events)
        if moment.phase == "starting" and self._phase != moment.phase:
            paper.say("Starting PostgreSQL, Fairturn and a simulated CRM ...")
        elif moment.phase == "burst" and share - self._said >= QUIET:
            self._said = share
            paper.say(counts(moment))
        elif moment.phase == "settling" and self._phase != moment.phase:
            paper.say(f"All sent. {counts(moment)}")
        elif moment.phase == "stopping":
            paper.whisper(STOPPING)
        self._phase = moment.phase


def counts(moment: Moment) -> str:
    failed = f", failed {moment.failed:,}" if moment.failed else ""
    return (
        f"{moment.arrived:,} events in, {moment.placed:,} with an owner, {moment.in_crm:,} in CRM, "
        f"{moment.waiting:,} with something to write{failed}"
    )
