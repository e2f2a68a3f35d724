"""The way into the CRM: section, tables and pictures of results/tail.json."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from bench.page.rows import Found, Row, notes, one, percent, pick, tenths, whole
from bench.paper import markdown
from bench.plots import Plot

MODELS: Final = {
    "sync": "one call per event",
    "redis_microbatch": "the article's: Valkey, 15 s timer",
    "fairturn fixed 15": "Fairturn, fixed 15 s",
    "fairturn fixed 10": "Fairturn, fixed 10 s",
    "fairturn adaptive": "Fairturn, adaptive",
}
CRMS: Final = {"salesforce": "Salesforce", "hubspot": "HubSpot"}
SCENARIOS: Final = {
    "empty": "an empty CRM",
    "half there": "half of the people are there",
    "automation 20": "automation that bears 20 records",
}
LINGER: Final = 2.0  # seconds; the default of docs/howto/windows.md


def plain(rows: Iterable[Row]) -> list[Row]:
    """Without the sweep: each model with the settings that it ships."""
    return [row for row in rows if row["model"] != "fairturn adaptive" or row.get("linger") in (None, LINGER)]


def swept(rows: Iterable[Row], crm: str) -> list[Row]:
    """The adaptive window with every linger, the shortest first, in an empty CRM."""
    found = [
        row
        for row in rows
        if row["crm"] == crm and row["model"] == "fairturn adaptive" and row.get("scenario", "empty") == "empty"
    ]
    return sorted(found, key=lambda row: row.get("linger") or LINGER)


def table(rows: Iterable[Row], crm: str) -> str:
    here = pick(plain(rows), crm=crm)
    head = (
        "",
        "API calls",
        "saved",
        "failed",
        "once / twice / never",
        "writes per lead",
        "s to CRM, p50",
        "p95",
        "p99",
    )
    lines = [
        (
            words,
            whole(row["calls"]),
            percent(row["saving"], 1),
            percent(row["failed_share"], 1),
            fate(row),
            tenths(row["writes_per_lead"]),
            *(tenths(row[at]) for at in ("p50_s", "p95_s", "p99_s")),
        )
        for model, words in MODELS.items()
        if (row := one(here, model=model))
    ]
    return markdown(head, lines)


def short_table(rows: Iterable[Row]) -> str:
    """For the README: calls, what failed and the 95th percentile, CRM beside CRM."""
    here = plain(pick(rows, scenario="empty"))
    at = crms({"rows": here})
    head = ["", *(words for crm in at for words in (f"{CRMS[crm]}: API calls", "failed", "95 % there in"))]
    return markdown(
        head,
        [
            (words, *(cell for crm in at for cell in short_cells(one(here, model=model, crm=crm))))
            for model, words in MODELS.items()
            if one(here, model=model)
        ],
    )


def short_cells(row: Row | None) -> tuple[str, str, str]:
    if row is None:
        return ("", "", "")
    wait = f"{tenths(row['p95_s'])} s" if row["p95_s"] is not None else ""
    return (whole(row["calls"]), percent(row["failed_share"], 1), wait)


def fate(row: Row) -> str:
    return " / ".join(f"{row[name]:,}" for name in ("written_once", "written_twice", "never"))


def work_table(rows: Iterable[Row], crm: str) -> str:
    """What the CRM had to do: a batch saves calls and locks, not the time of triggers."""
    here = pick(plain(rows), crm=crm)
    head = ("", "records per call", "waits for a lock", "transactions", "record-seconds", "failures by cause")
    lines = [
        (
            words,
            tenths(row["records_per_call"]),
            whole(row.get("lock_waits")),
            whole(row.get("transactions")),
            whole(row["record_ms"] / 1000) if "record_ms" in row else "",
            causes(row),
        )
        for model, words in MODELS.items()
        if (row := one(here, model=model))
    ]
    return markdown(head, lines)


def causes(row: Row) -> str:
    return ", ".join(f"{cause} {n:,}" for cause, n in sorted(row["failures"].items()) if n) or "none"


def sweep_table(rows: Iterable[Row], crm: str) -> str:
    head = ("linger, s", "API calls", "s to CRM, p50", "p95", "p99")
    lines = [
        (
            f"{row.get('linger') or LINGER:g}",
            whole(row["calls"]),
            *(tenths(row[at]) for at in ("p50_s", "p95_s", "p99_s")),
        )
        for row in swept(rows, crm)
    ]
    return markdown(head, lines)


def latency_plot(found: Found) -> Plot | None:
    """From webhook to CRM, by the second of the burst in which the webhook came."""
    panels = {
        words: [
            {"model": MODELS[row["model"]], "key": row["model"], "at": at, "p50_s": p50}
            for row in pick(plain(found["rows"]), crm=crm, scenario="empty")
            if row["model"] in MODELS and (line := by_second(row))
            for at, p50 in [line]
        ]
        for crm, words in CRMS.items()
    }
    panels = {words: lines for words, lines in panels.items() if lines}
    words = "Seconds from the webhook to the CRM over the second of the burst, for each way of writing"
    return Plot("tail-latency", words, {"panels": panels}) if panels else None


def by_second(row: Row) -> tuple[list[float], list[float]] | None:
    """Seconds of the burst, and the median wait of what came in each."""
    told = row.get("by_second") or []
    points = [(entry["second"], round(entry["p50_s"], 2)) for entry in told if entry.get("p50_s") is not None]
    return ([at for at, _ in points], [wait for _, wait in points]) if points else None


def window_plot(found: Found) -> Plot | None:
    """Calls against p95: every linger a point of one curve, the other models points of their own."""
    panels: dict[str, Any] = {}
    for crm, words in CRMS.items():
        curve = [
            {"linger": row.get("linger") or LINGER, "calls": row["calls"], "p95_s": round(row["p95_s"], 2)}
            for row in swept(found["rows"], crm)
        ]
        points = [
            {"model": MODELS[row["model"]], "key": row["model"], "calls": row["calls"], "p95_s": round(row["p95_s"], 2)}
            for row in pick(plain(found["rows"]), crm=crm, scenario="empty")
            if row["model"] in MODELS and row["model"] != "fairturn adaptive" and row["p95_s"] is not None
        ]
        if curve or points:
            panels[words] = {"curve": curve, "points": points}
    words = "API calls against the 95th percentile of seconds to the CRM, for every window"
    return Plot("tail-windows", words, {"panels": panels}) if panels else None


def plots(found: Found) -> list[Plot]:
    return [plot for plot in (latency_plot(found), window_plot(found)) if plot]


def days_table(found: Found) -> str:
    """Calls per day at three volumes, against a limit."""
    told = found.get("calls_per_day")
    if not told:
        return ""
    volumes = [str(n) for n in told["volumes"]]
    head = ("calls per day", *(f"{int(n):,} leads" for n in volumes))
    return markdown(
        head, [(MODELS.get(model, model), *(whole(n) for n in calls)) for model, calls in told["rows"].items()]
    )


def crms(found: Found) -> list[str]:
    there = {row["crm"] for row in found["rows"]}
    return [crm for crm in CRMS if crm in there]


def blocks(found: Found) -> dict[str, str]:
    empty = pick(found["rows"], scenario="empty")
    return {
        **{f"tail {crm}": table(empty, crm) for crm in crms(found)},
        "tail short": short_table(found["rows"]),
        "tail days": days_table(found),
    }


def section(found: Found) -> str:
    conditions = found["conditions"]
    parts = [INTRO.format(leads=conditions["leads"], seconds=f"{conditions['seconds']:g}")]
    parts += [plot.image() for plot in plots(found)]
    for scenario, words in SCENARIOS.items():
        rows = pick(found["rows"], scenario=scenario)
        for crm in crms({"rows": rows}):
            parts += [f"### {CRMS[crm]}: {words}", table(rows, crm)]
            if scenario == "empty":
                parts += [work_table(rows, crm)]
    for crm in crms(found):
        if len(swept(found["rows"], crm)) > 1:
            parts += [f"### Every linger, {CRMS[crm]}", sweep_table(found["rows"], crm)]
    if days := days_table(found):
        parts += ["### Calls in a day", days]
    return "\n\n".join(part for part in [*parts, notes(found)] if part) + "\n"


INTRO = """\
## The way into the CRM

    python -m bench tail --keep

{leads} leads within {seconds} s, in real time, each with a form, an enrichment and a score, companies by Zipf's law,
against a simulated Salesforce and a simulated HubSpot with their locks and limits. *Saved* is against one call per
event. *Once / twice / never*: leads of which the CRM has one record; records beyond one for each person, or versions
sent again after their answer; leads that it does not have: all from the simulator's evidence. Look-ups are calls."""
