"""Draws each picture with the module that its name begins with. Importing this loads matplotlib, half a second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from bench.plots import Plot, growth, intake, race, tail

DRAW: Final[Mapping[str, Callable[[Plot, Path], None]]] = {
    "race": race.draw,
    "tail": tail.draw,
    "intake": intake.draw,
    "growth": growth.draw,
}


def draw_all(plots: Iterable[Plot], folder: Path) -> None:
    """Writes FOLDER/NAME.svg of each, and takes away pictures of ours that no figures are left for."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = set()
    for plot in plots:
        DRAW[plot.name.partition("-")[0]](plot, folder)
        kept.add(f"{plot.name}.svg")
    for file in folder.glob("*.svg"):
        if file.name not in kept and file.stem.partition("-")[0] in DRAW:
            file.unlink()
