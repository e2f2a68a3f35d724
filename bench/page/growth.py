"""What grows with what is there already: section, tables and picture of results/growth.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from bench.page.rows import Found, Row, hundredths, milliseconds, notes, tenths, whole
from bench.paper import markdown
from bench.plots import Plot


def cpu(name: str) -> Callable[[Row], str]:
    return lambda row: whole(row["cpu_ms_per_1000"][name])


def backlog(name: str, shown: Callable[[float | None], str]) -> Callable[[Row], str]:
    return lambda row: shown(row["backlog"][name])


COSTS: Final[Mapping[str, Callable[[Row], str]]] = {
    "ms for 1,000 events, webhook to ledger": lambda row: whole(row["ms_per_1000"]),
    "CPU ms for 1,000, intake": cpu("intake"),
    "CPU ms for 1,000, worker": cpu("worker"),
    "CPU ms for 1,000, PostgreSQL": cpu("postgresql"),
    "bytes of write-ahead log, each event": lambda row: whole(row["wal_bytes_per_event"]),
    "statements of a batch, small to large": lambda row: ", ".join(str(one["statements"]) for one in row["statements"]),
    "bytes on disk, each lead": lambda row: whole(row["bytes_per_lead"]),
    "intake, MB at most, with the backlog": backlog("intake_mb", whole),
    "worker, MB at most, after the backlog": backlog("worker_mb", whole),
    "backlog routed / s": backlog("routed_per_second", whole),
    "one look at its changes, ms": backlog("gather_ms", tenths),
    "changes written / s, to the console": backlog("written_per_second", whole),
    "audit of all turns, s": lambda row: tenths(row["audit"]["seconds"]),
}


def table(found: Found) -> str:
    """Each cost a line, each base a column; costs that this run has not looked at are left out."""
    lines = [(words, *(told(tell, row) for row in found["rows"])) for words, tell in COSTS.items()]
    return markdown(("leads there", *bases(found)), [line for line in lines if any(line[1:])])


def told(tell: Callable[[Row], str], row: Row) -> str:
    try:
        return tell(row)
    except KeyError:
        return ""


def bases(found: Found) -> list[str]:
    return [whole(row["base"]) for row in found["rows"]]


def looks(found: Found) -> str:
    """Milliseconds of the commands that a person waits for, at each base."""
    pages = [{one["page"]: one["ms"] for one in row.get("pages", ())} for row in found["rows"]]
    lines = [(f"`fairturn {page}`", *(milliseconds(of.get(page)) for of in pages)) for page in pages[0]]
    return markdown(("ms", *bases(found)), lines) if lines else ""


def plots(found: Found) -> list[Plot]:
    points = [[row["base"], round(row["ms_per_1000"], 1)] for row in found["rows"]]
    words = "Milliseconds per 1,000 events against the number of leads that are there already"
    return [Plot("growth", words, {"points": points})] if points else []


def blocks(found: Found) -> dict[str, str]:
    return {"growth": table(found)}


def section(found: Found) -> str:
    ratio = f"The larger base takes {hundredths(found['ratio'])} of the time of the smaller"
    ratio += f", and {hundredths(found['cpu_ratio'])} of its processor time." if "cpu_ratio" in found else "."
    waiting = found["conditions"].get("backlog")
    intro = INTRO.format(backlog=f" The backlog is one of {waiting:,} events." if waiting else "")
    parts = [intro, *(plot.image() for plot in plots(found)), table(found), ratio]
    if pages := looks(found):
        parts += ["What a person waits for:", pages]
    return "\n\n".join(part for part in [*parts, notes(found)] if part) + "\n"


INTRO: Final = """\
## What grows with what is there

    python -m bench growth --keep

The same events through the door and one worker, into tables that hold few leads and into tables that hold many, with
their events, assignments, keys, accounts and changes, as a year leaves them. A fifth of the events is about people who
are there.{backlog}"""
