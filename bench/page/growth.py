"""What grows with what is there already: section, table and picture of results/growth.json."""

from __future__ import annotations

from bench.page.rows import Found, hundredths, milliseconds, notes, whole
from bench.paper import markdown
from bench.plots import Plot


def table(found: Found) -> str:
    head = ("leads there already", "ms per 1,000 more")
    lines = [(whole(row["base"]), milliseconds(row["ms_per_1000"])) for row in found["rows"]]
    return markdown(head, lines)


def plots(found: Found) -> list[Plot]:
    points = [[row["base"], round(row["ms_per_1000"], 1)] for row in found["rows"]]
    words = "Milliseconds per 1,000 leads against the number of leads that are there already"
    return [Plot("growth", words, {"points": points})] if points else []


def blocks(found: Found) -> dict[str, str]:
    return {"growth": table(found)}


def section(found: Found) -> str:
    ratio = f"The larger base costs {hundredths(found['ratio'])} of the smaller."
    parts = [INTRO, *(plot.image() for plot in plots(found)), table(found), ratio, notes(found)]
    return "\n\n".join(part for part in parts if part) + "\n"


INTRO = """\
## What grows with what is there

    python -m bench growth --keep

The same leads, through the door and one worker, into tables that hold few leads and into tables that hold many."""
