"""The sheet that all pictures are drawn on: white, so that a dark page shows it too, in colours that all can tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.plots import Plot

# Okabe and Ito's, told apart with any kind of colour vision: https://jfly.uni-koeln.de/color/
OURS: Final = "#0072B2"
OURS_TOO: Final = "#56B4E9"
THEIRS: Final = "#D55E00"
THEIRS_TOO: Final = "#E69F00"
OTHER: Final = "#CC79A7"
PLAIN: Final = "#767676"
INK: Final = "#222222"
FAINT: Final = "#D9D9D9"
# Words need more contrast than lines do: at least 4.5 to 1 on white.
WORDS: Final = {OURS_TOO: "#1F78A8", THEIRS: "#B84F00", THEIRS_TOO: "#8F6200", OTHER: "#A64D7F"}
FONTS: Final = "Helvetica, Arial, 'DejaVu Sans', sans-serif"

STYLE: Final[Any] = {  # matplotlib has a type of its own for the names
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud and scaled
    "svg.hashsalt": "fairturn",  # the same figures, the same ids
    "svg.id": None,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # for the layout: matplotlib brings it. Readers get FONTS
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": PLAIN,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "lines.linewidth": 1.8,
}


@contextmanager
def sheet(plot: Plot, folder: Path, width: float, height: float) -> Iterator[Figure]:
    """A figure of so many inches; written to FOLDER/NAME.svg at the end."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        drawn = StringIO()
        about = {"Date": None, "Creator": None, "Title": plot.alt, "Identifier": f"figures:{plot.digest}"}
        figure.savefig(drawn, format="svg", metadata=about)
        (folder / f"{plot.name}.svg").write_text(slim(drawn.getvalue()), encoding="utf-8")


def slim(svg: str) -> str:
    """The same picture in half the bytes: what each element repeats is said once, and to a hundredth of a point."""
    svg = re.sub(r"font-family: [^;\"]*(; )?", "", svg)
    svg = re.sub(r' transform="rotate\(-?0 [^)]*\)"', "", svg)
    svg = re.sub(r"(?<=\d)\.(\d\d)\d+", r".\1", svg)
    svg = re.sub(r" *\n(?=[MLCQz])", " ", svg)
    svg = re.sub(r"\n +", "\n", svg)
    svg = re.sub(r'<g id="[a-z]+\d+_\d+"/>\n', "", svg)
    return svg.replace("*{stroke-linejoin", f"text{{font-family: {FONTS}}}*{{stroke-linejoin", 1)


def label(axes: Axes, x: float, y: float, words: str, colour: str, *, where: str = "right") -> None:
    """Beside a point: a legend would make the eye travel."""
    across = {
        "right": (6, 0, "left", "center"),
        "left": (-6, 0, "right", "center"),
        "above": (0, 6, "center", "bottom"),
        "below left": (-4, -3, "right", "top"),
    }
    dx, dy, horizontal, vertical = across[where]
    axes.annotate(
        words,
        (x, y),
        (dx, dy),
        textcoords="offset points",
        color=WORDS.get(colour, colour),
        ha=horizontal,
        va=vertical,
        annotation_clip=False,
    )


def apart(heights: Sequence[float], least: float) -> list[float]:
    """The same heights, moved up as far as needed so that words do not lie on each other."""
    placed: dict[int, float] = {}
    low = float("-inf")
    for place in sorted(range(len(heights)), key=heights.__getitem__):
        low = placed[place] = max(heights[place], low + least)
    return [placed[place] for place in range(len(heights))]
