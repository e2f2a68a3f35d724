"""The figures in a table and in sentences: the issue that people have is time, calls and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bench.paper import markdown
from bench.tail.plan import EVEN
from bench.tail.vendors import VENDORS

WHY: Final = (
    "transactions of 0.5 s",
    "transactions of 1 s",
    "one event per lead",
    "all companies alike",
    "updates lock no account",
)
ARTICLE: Final = {"slow_s": 8.0, "failed_share": 0.14, "saving": 0.64}  # of 500 leads in 60 s
VOLUMES: Final = (500, 5_000, 50_000)
DAILY: Final = 100_000  # calls a day of an Enterprise org; further licences add to it

Row = Mapping[str, Any]


def table(found: Mapping[str, Any]) -> str:
    parts = []
    for crm, scenario in dict.fromkeys((row["crm"], row["scenario"]) for row in found["rows"]):
        rows = [row for row in found["rows"] if (row["crm"], row["scenario"]) == (crm, scenario)]
        parts += [f"{VENDORS[crm].label}, {scenario}", figures(rows)]
    if days := found.get("calls_per_day"):
        parts += [f"API calls a day, of {DAILY:,} that the org has", per_day(days)]
    if found["why"]:
        parts += ["The same handler under other conditions", figures(found["why"])]
    return "\n\n".join([*parts, *(f"- {note}" for note in found["notes"])])


def figures(rows: Sequence[Row]) -> str:
    head = ("", "calls", "saved", "failed", "once/twice/never", "writes a lead", "p50 s", "p95 s", "p99 s",
            "records a call", "lock waits", "transactions", "record s", "refused")  # fmt: skip
    return markdown(head, [line(row) for row in rows])


def line(row: Row) -> tuple[str, ...]:
    return (
        name_of(row),
        f"{row['calls']:,}",
        share(row.get("saving")),
        share(row["failed_share"]),
        f"{row['written_once']}/{row['written_twice']}/{row['never']}",
        f"{row['writes_per_lead']:.2f}",
        *(tenths(row[f"p{q}_s"]) for q in (50, 95, 99)),
        tenths(row["records_per_call"]),
        f"{row['lock_waits']:,}",
        f"{row['transactions']:,}",
        f"{row['record_ms'] / 1000:,.1f}",
        ", ".join(f"{cause} {n:,}" for cause, n in sorted(row["failures"].items())),
    )


def name_of(row: Row) -> str:
    name = row["model"] if row["scenario"] not in WHY else row["scenario"]
    if row.get("linger") is not None:
        return f"{name}, linger {row['linger']:g} s"
    return f"{name}, {row['timer']:g} s" if row["model"] == "redis_microbatch" else str(name)


def share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}".replace("%", " %")


def tenths(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def per_day(days: Mapping[str, Any]) -> str:
    head = ("", *(f"{volume:,} leads" for volume in days["volumes"]))
    lines = [(model, *(f"{calls:,}" for calls in row)) for model, row in days["rows"].items()]
    return markdown(head, lines)


# ---- what is computed from the rows ----------------------------------------------------------------------------------


def saved(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """`saving`: against a search and a write for each webhook, which is what sync makes where none is refused; where
    the search is refused there is no write. `saving_to_sync`: against those that sync made here.
    """
    sync = {(row["crm"], row["scenario"]): row["calls"] for row in rows if row["model"] == "sync"}
    found = []
    for row in rows:
        whole = None if row["model"] == "sync" else 2 * row["events"]
        made = sync.get((row["crm"], row["scenario"]))
        saving = 0.0 if whole is None else round(1 - row["calls"] / whole, 4)
        found.append(row | {"saving": saving, "saving_to_sync": made and round(1 - row["calls"] / made, 4)})
    return found


def days(rows: Sequence[Row], even: Sequence[Row]) -> dict[str, Any] | None:
    """Calls a day for leads that come evenly round the clock: the most that a window can be made to cost. At 500 a day
    each lead is alone in its windows, as it is at 5,000 (one every 17 s, measured); 50,000 is one every 1.7 s.
    """
    measured = {(row["model"], row["scenario"]): row["calls"] / row["leads"] for row in even}
    quiet, dense = EVEN
    found: dict[str, list[int]] = {}
    for model in dict.fromkeys(row["model"] for row in even):
        alone, together = measured[model, quiet], measured[model, dense]
        found[model] = [round(alone * VOLUMES[0]), round(alone * VOLUMES[1]), round(together * VOLUMES[2])]
    if not found:
        return None
    sync = next((row for row in rows if (row["model"], row["crm"]) == ("sync", "salesforce")), None)
    ours = {"sync": [round(sync["calls"] / sync["leads"] * volume) for volume in VOLUMES]} if sync else {}
    return {"volumes": list(VOLUMES), "limit": DAILY, "rows": ours | found}
