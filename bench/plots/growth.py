"""Cost per lead against what is there already."""

from __future__ import annotations

from pathlib import Path

from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from bench.plots import Plot
from bench.plots.paper import OURS, label, sheet


def draw(plot: Plot, folder: Path) -> None:
    points = plot.data["points"]
    with sheet(plot, folder, 6.2, 2.6) as figure:
        axes = figure.subplots()
        axes.plot(*zip(*points, strict=True), color=OURS, marker="o")
        for base, cost in points:
            label(axes, base, cost, f"{cost:,.0f} ms", OURS, where="above")
        axes.set_xscale("log")
        axes.set_ylim(0, 1.35 * max(cost for _, cost in points))
        axes.margins(x=0.12)
        axes.xaxis.set_major_locator(FixedLocator([base for base, _ in points]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))
        axes.set_xlabel("leads there already (log)")
        axes.set_title("ms per 1,000 events")
