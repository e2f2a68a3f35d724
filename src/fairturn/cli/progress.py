"""A bar for what takes long, on standard error, and only where somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from fairturn.cli.paper import clean, err

Tell = Callable[[str, int, int], None]  # of what, done, in all


@contextmanager
def bar(noun: str) -> Iterator[Tell]:
    console = err()
    if not console.is_terminal:
        yield lambda *_: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        tasks = {}

        def tell(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(clean(f"{noun} {name}", 40), total=total)
            progress.update(tasks[name], completed=done, total=max(done, total))

        yield tell
