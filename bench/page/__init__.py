"""The pages and pictures that are made of results: no figure in them is typed by hand.

python -m bench page                              of the committed results, into docs/ and the README
python -m bench page --from FOLDER --to FOLDER    of your own: measured.md, the-two-articles.md, plots/
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

import orjson

from bench.house import ROOT, Failed
from bench.page import articles, bars, crm, flow, growth, intake, race, tail
from bench.page.marked import filled
from bench.page.rows import Found
from bench.page.sources import before, where_from
from bench.plots import Plot

HELP: Final = "write the pages and pictures of results/, or of a folder of your own"
RESULTS: Final = ROOT / "bench/results"
DOCS: Final = ROOT / "docs/explanation"
PAGE: Final = DOCS / "measured.md"
ARTICLES: Final = DOCS / "the-two-articles.md"
README: Final = ROOT / "README.md"


class Part(Protocol):
    """A module that tells the results of one measurement."""

    def section(self, found: Found) -> str:
        """Its part of the page, with a heading."""

    def blocks(self, found: Found) -> dict[str, str]:
        """Name -> Markdown, for texts written by hand."""

    def plots(self, found: Found) -> list[Plot]: ...


PARTS: Final[Mapping[str, Part]] = {
    "race": race, "tail": tail, "intake": intake, "flow": flow, "crm": crm, "growth": growth,
}  # fmt: skip


def options(ask: argparse.ArgumentParser) -> None:
    ask.add_argument("--from", dest="source", type=Path, metavar="FOLDER", help="results of --keep FOLDER")
    ask.add_argument("--to", type=Path, metavar="FOLDER", help="where to write; without it the folder of --from")


def write(source: Path | None = None, to: Path | None = None) -> list[Path]:
    """What was written. Without arguments docs/ and the README, of the committed results. Raises Failed."""
    from bench.plots.drawing import draw_all  # noqa: PLC0415  matplotlib is of no use to those who only measure

    found = read(source or RESULTS)
    if not found:
        raise Failed(f"{source or RESULTS}: no results there; make some with: python -m bench race --keep FOLDER")
    folder = to or source or DOCS
    folder.mkdir(parents=True, exist_ok=True)
    pages = {folder / PAGE.name: text(found), folder / ARTICLES.name: by_hand(ARTICLES, found, "plots")}
    if source is None and to is None:
        pages[README] = by_hand(README, found, "docs/explanation/plots")
    for page, content in pages.items():
        page.write_text(content, encoding="utf-8")
    drawn = plots(found)
    draw_all(drawn, folder / "plots")
    advised = [] if README not in pages else advice(found)
    return [*pages, *advised, *(folder / "plots" / f"{plot.name}.svg" for plot in drawn)]


def advice(found: Mapping[str, Found]) -> list[Path]:
    """What `fairturn advise` knows, and its page."""
    from bench import advising  # noqa: PLC0415  it loads every command of Fairturn, and this package

    return advising.write(found)


def read(folder: Path) -> dict[str, dict[str, Any]]:
    """The results that are there, by name. Raises Failed for a file that is none."""
    found = {}
    for name in PARTS:
        file = folder / f"{name}.json"
        if not file.exists():
            continue
        told = orjson.loads(file.read_bytes())
        if not isinstance(told, dict) or "machine" not in told:
            raise Failed(f"{file}: no machine in it; write it with: python -m bench {name} --keep {folder}")
        found[name] = told
    return found


def text(found: Mapping[str, Found]) -> str:
    """The page of all results."""
    parts = [before(found), *(PARTS[name].section(found[name]) for name in PARTS if name in found)]
    if judged := bars.table(found):
        parts.append(f"{BARS}\n\n{judged}\n")
    parts.append(where_from(found))
    return "\n".join(parts)


BARS: Final = """\
## What it was to show

Set before it was built. A ratio is taken within each round, and the middle one told. The columns above divide one
median by another, which may come out otherwise."""


def plots(found: Mapping[str, Found]) -> list[Plot]:
    return [plot for name in PARTS if name in found for plot in PARTS[name].plots(found[name])]


def blocks(found: Mapping[str, Found], folder: str) -> dict[str, str]:
    """Name -> Markdown of all that a page written by hand may show; `folder` is where its pictures lie."""
    made = {f"picture {plot.name}": plot.image(folder) for plot in plots(found)}
    for name in PARTS:
        if name in found:
            made |= PARTS[name].blocks(found[name])
    return made | articles.blocks(found)


def by_hand(page: Path, found: Mapping[str, Found], folder: str) -> str:
    """A page written by hand, with its blocks of figures as these results give them."""
    return filled(page.read_text(encoding="utf-8"), blocks(found, folder))
