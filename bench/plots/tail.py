"""Seconds to the CRM over the burst, and API calls against seconds for every window."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from bench.plots import Plot
from bench.plots.paper import OTHER, OURS, OURS_TOO, PLAIN, THEIRS, THEIRS_TOO, apart, label, sheet

COLOURS: Final = {
    "sync": THEIRS,
    "redis_microbatch": THEIRS_TOO,
    "fairturn fixed 15": OURS_TOO,
    "fairturn fixed 10": OTHER,
    "fairturn adaptive": OURS,
}


def draw(plot: Plot, folder: Path) -> None:
    panels = plot.data["panels"]
    with sheet(plot, folder, 9.2, 3.6) as figure:
        row = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        for axes, (crm, told) in zip(row, panels.items(), strict=True):
            axes.set_title(crm)
            if plot.name == "tail-latency":
                latency(axes, told, named=axes is row[-1])
            else:
                windows(axes, told)
            axes.set_ylim(bottom=0)
        row[0].set_ylabel("seconds to the CRM, " + ("median" if plot.name == "tail-latency" else "95th percentile"))


def latency(axes: Axes, lines: list[Mapping[str, Any]], *, named: bool) -> None:
    """The lines of the last panel carry the names of all."""
    for line in lines:
        axes.plot(line["at"], line["p50_s"], color=COLOURS[line["key"]])
        if line["lost"]:
            none = [0] * len(line["lost"])
            axes.plot(line["lost"], none, "x", color=COLOURS[line["key"]], markersize=4, clip_on=False)
    if named:
        ends = apart([line["p50_s"][-1] for line in lines], 0.062 * max(max(line["p50_s"]) for line in lines))
        last = max(line["at"][-1] for line in lines)
        for line, height in zip(lines, ends, strict=True):
            label(axes, last, height, line["model"], COLOURS[line["key"]])
        if any(line["lost"] for line in lines):
            label(axes, last, 0, "× some lost", PLAIN)
    axes.set_xlabel("second of the burst in which the webhook came")


def windows(axes: Axes, told: Mapping[str, Any]) -> None:
    curve, points = told["curve"], told["points"]
    axes.set_xscale("log")
    axes.margins(x=0.16)
    if curve:
        calls, waits = [point["calls"] for point in curve], [point["p95_s"] for point in curve]
        axes.plot(calls, waits, color=OURS, marker="o", markersize=4)
        for point in curve:
            label(axes, point["calls"], point["p95_s"], f"{point['linger']:g} s", OURS, where="below left")
        label(axes, calls[0], waits[0], "Fairturn, adaptive, by linger", OURS)
    tallest = max([point["p95_s"] for point in [*points, *curve]])
    heights = apart([point["p95_s"] for point in points], 0.065 * tallest)
    for point, height in zip(points, heights, strict=True):
        colour = COLOURS[point["key"]]
        axes.plot([point["calls"]], [point["p95_s"]], color=colour, marker="D", markersize=5, linestyle="none")
        where = "left" if point["key"] == "sync" else "right"
        label(axes, point["calls"], height, point["model"], colour, where=where)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))
    axes.set_xlabel("API calls (log)")
    axes.grid(which="minor", visible=False)
