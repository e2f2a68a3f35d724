"""The ceiling of each server, and its 99th percentile at fixed rates."""

from __future__ import annotations

from collections.abc import Mapping
from math import log10
from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from bench.plots import Plot
from bench.plots.paper import INK, OTHER, OURS, OURS_TOO, PLAIN, THEIRS, THEIRS_TOO, apart, label, sheet

COLOURS: Final = {
    "fairturn": OURS,
    "fairturn_sync": OURS_TOO,
    "fairturn_valkey": OTHER,
    "skip_locked": THEIRS,
    "skip_locked_kept": THEIRS,
    "insert": THEIRS_TOO,
}


def draw(plot: Plot, folder: Path) -> None:
    servers = plot.data["servers"]
    timed = [server for server in servers if server["rates"]]
    ceiling = 0.4 + 0.3 * len(servers)
    with sheet(plot, folder, 9.2, ceiling + (3.2 if timed else 0)) as figure:
        if timed:
            above, below = figure.subplots(2, 1, height_ratios=(ceiling, 3.2))
            at_rates(below, timed)
        else:
            above = figure.subplots()
        bars(above, servers)


def bars(axes: Axes, servers: list[Mapping[str, Any]]) -> None:
    axes.set_title("webhooks answered per second, at the ceiling")
    for place, server in enumerate(reversed(servers)):
        axes.barh(place, server["per_second"], color=COLOURS.get(server["key"], PLAIN), height=0.66)
        label(axes, server["per_second"], place, f"{server['per_second']:,}", INK)
    axes.set_yticks(range(len(servers)), [server["server"] for server in reversed(servers)])
    axes.set_xticks([])
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)
    axes.margins(x=0.1)


def at_rates(axes: Axes, servers: list[Mapping[str, Any]]) -> None:
    axes.set_title("99th percentile at fixed rates, ms (log)")
    for server in servers:
        axes.plot(
            *zip(*server["rates"], strict=True), color=COLOURS.get(server["key"], PLAIN), marker="o", markersize=4
        )
    costs = [log10(cost) for server in servers for _, cost in server["rates"]]
    ends = apart([log10(server["rates"][-1][1]) for server in servers], 0.085 * (max(costs) - min(costs)))
    for server, height in zip(servers, ends, strict=True):
        label(axes, server["rates"][-1][0], 10**height, server["server"], COLOURS.get(server["key"], PLAIN))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(sorted({rate for server in servers for rate, _ in server["rates"]})))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_formatter(NullFormatter())
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,g}"))
    axes.set_xlabel("requests per second")
