"""Leads per rep: a row for each router, a column for each concurrency, a bar for each rep; leads of no rep apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from bench.plots import Plot
from bench.plots.paper import FAINT, INK, OURS, PLAIN, THEIRS, sheet

CUT = 3.2  # fair shares; a bar beyond is cut, and its number says so


def draw(plot: Plot, folder: Path) -> None:
    panels, fair = plot.data["panels"], plot.data["fair"]
    routers = list(dict.fromkeys(panel["router"] for panel in panels))
    columns = sorted({panel["concurrency"] for panel in panels})
    with sheet(plot, folder, 9.2, 0.6 + 0.7 * len(routers)) as figure:
        grid = figure.subplots(
            len(routers), len(columns), squeeze=False, sharey=True, gridspec_kw={"wspace": 0.04, "hspace": 0.02}
        )
        for panel in panels:
            at = columns.index(panel["concurrency"])
            bars(grid[routers.index(panel["router"])][at], panel, fair, first=at == 0)
        for axes, concurrency in zip(grid[0], columns, strict=True):
            axes.set_title(f"{concurrency} requests at a time", pad=10)
        reps = len(panels[0]["counts"])
        for axes in grid[-1]:
            axes.set_xticks([(reps - 1) / 2, reps + 0.8], [f"{reps} reps, the most first", "no rep"], color=PLAIN)


def bars(axes: Axes, panel: dict[str, Any], fair: float, *, first: bool) -> None:
    leads, bare = panel["counts"], panel["unassigned"]
    places = [*range(len(leads)), len(leads) + 0.8]
    colours = [OURS if panel["ours"] else PLAIN] * len(leads) + [THEIRS]
    top = CUT * fair
    for x, n, colour in zip(places, [*leads, bare], colours, strict=True):
        axes.bar(x, min(n, top), color=colour, width=0.82)
        if n > top:  # the white stroke says that the bar goes on
            axes.plot([x - 0.55, x + 0.55], [top * 0.8, top * 0.88], color="white", linewidth=2.5)
        if n or x < len(leads):
            axes.text(x, min(n, top) + fair * 0.1, f"{n:,}", ha="center", va="bottom", fontsize=7.5, color=INK)
    axes.plot([-0.6, len(leads) - 0.4], [fair, fair], color=FAINT, linewidth=1.2, zorder=0)
    axes.set_ylim(0, top * 1.25)
    axes.set_xlim(-0.8, len(leads) + 1.6)
    axes.grid(visible=False)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    axes.set_xticks([])
    if first:
        axes.set_ylabel(panel["router"], rotation=0, ha="right", va="center", y=0.24, labelpad=8)
