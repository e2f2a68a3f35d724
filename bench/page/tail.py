"""The way into the CRM: section, tables and pictures of results/tail.json."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from bench.page.rows import Found, Row, notes, one, percent, pick, tenths, whole
from bench.paper import markdown
from bench.plots import Plot

MODELS: Final = {
    "sync": "one call per event",
    "redis_microbatch": "the article's micro-batch, 15 s",
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


def named(row: Row) -> str:
    """The model, with the timer that a short run may have given it."""
    timer = row.get("timer") if row["model"] == "redis_microbatch" else None
    return MODELS[row["model"]] if timer in (None, 15) else f"the article's micro-batch, {timer:g} s"


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
        "lost",
        "once / twice / never",
        "writes per lead",
        "s to CRM, p50",
        "p95",
        "p99",
    )
    lines = [
        (
            named(row),
            whole(row["calls"]),
            percent(row["saving"], 1),
            percent(row["failed_share"], 1),
            fate(row),
            tenths(row["writes_per_lead"]),
            *(tenths(row[at]) for at in ("p50_s", "p95_s", "p99_s")),
        )
        for model in MODELS
        if (row := one(here, model=model))
    ]
    return markdown(head, lines)


def short_table(rows: Iterable[Row]) -> str:
    """For the README: calls, what was lost and the 95th percentile, CRM beside CRM."""
    here = plain(pick(rows, scenario="empty"))
    at = crms({"rows": here})
    head = ["", *(words for crm in at for words in (f"{CRMS[crm]}: API calls", "lost", "95 % there in"))]
    return markdown(
        head,
        [
            (named(some), *(cell for crm in at for cell in short_cells(one(here, model=model, crm=crm))))
            for model in MODELS
            if (some := one(here, model=model))
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
    head = ("", "records per call", "waits for a lock", "timed out", "transactions", "record-seconds", "refused")
    lines = [
        (
            named(row),
            tenths(row["records_per_call"]),
            whole(row.get("lock_waits")),
            whole(row.get("lock_timeouts")),
            whole(row.get("transactions")),
            tenths(row["record_ms"] / 1000) if "record_ms" in row else "",
            causes(row),
        )
        for model in MODELS
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


def why_table(found: Found) -> str:
    """The handler with one call per event, when one thing is other than above."""
    head = ("one call per event, and", "webhooks lost", "waits for a lock", "timed out", "s to CRM, p95")
    lines = [
        (
            row["scenario"],
            percent(row["failed_share"], 1),
            whole(row.get("lock_waits")),
            whole(row.get("lock_timeouts")),
            tenths(row["p95_s"]),
        )
        for row in found.get("why", ())
    ]
    return markdown(head, lines) if lines else ""


def latency_plot(found: Found) -> Plot | None:
    """From webhook to CRM, by the second of the burst in which the webhook came."""
    panels: dict[str, list[dict[str, Any]]] = {}
    for crm, words in CRMS.items():
        for row in pick(plain(found["rows"]), crm=crm, scenario="empty"):
            told = row.get("by_second", ())
            points = [(at["second"], round(at["p50_s"], 2)) for at in told if at.get("p50_s") is not None]
            if row["model"] in MODELS and points:
                line = {"model": named(row), "key": row["model"], "at": [at for at, _ in points]}
                line |= {"p50_s": [wait for _, wait in points], "lost": [at["second"] for at in told if at["failed"]]}
                panels.setdefault(words, []).append(line)
    words = "Seconds from the webhook to the CRM over the second of the burst, for each way of writing"
    return Plot("tail-latency", words, {"panels": panels}) if panels else None


def told_of(row: Row) -> str:
    """Its name; what it has lost is in no percentile, so that it stands beside the point."""
    lost = row["failed_share"]
    return f"{named(row)}, {percent(lost)} lost" if lost >= 0.005 else named(row)


def window_plot(found: Found) -> Plot | None:
    """Calls against p95: every linger a point of one curve, the other models points of their own."""
    panels: dict[str, Any] = {}
    for crm, words in CRMS.items():
        curve = [
            {"linger": row.get("linger") or LINGER, "calls": row["calls"], "p95_s": round(row["p95_s"], 2)}
            for row in swept(found["rows"], crm)
        ]
        points = [
            {"model": told_of(row), "key": row["model"], "calls": row["calls"], "p95_s": round(row["p95_s"], 2)}
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
    """Calls per day at three volumes."""
    told = found.get("calls_per_day")
    if not told:
        return ""
    head = ("calls per day", *(f"{volume:,} leads" for volume in told["volumes"]))
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
    parts = [INTRO, *(plot.image() for plot in plots(found)), notes(found)]
    for scenario, words in SCENARIOS.items():
        rows = pick(found["rows"], scenario=scenario)
        for crm in crms({"rows": rows}):
            parts += [f"### {CRMS[crm]}: {words}", table(rows, crm), work_table(rows, crm)]
    for crm in crms(found):
        if len(swept(found["rows"], crm)) > 1:
            parts += [f"### Every linger, {CRMS[crm]}", sweep_table(found["rows"], crm)]
    if days := days_table(found):
        parts += [f"### Calls in a day, of {found['calls_per_day']['limit']:,} that the org has", DAYS, days]
    if why := why_table(found):
        parts += ["### What the losses hang on", why]
    return "\n\n".join(part for part in parts if part) + "\n"


INTRO = """\
## The way into the CRM

    python -m bench tail --keep

A burst of leads, in real time, into a simulated Salesforce and a simulated HubSpot with their locks and limits. *Saved*
is against a search and a write per event. *Lost*: webhooks that the CRM never heard of. *Once / twice / never*: leads
of which the CRM has one record; a second one, or a version sent again after its answer; none. All of it is read from
the simulator's evidence."""

DAYS = """\
Leads that come evenly round the clock, which costs a window the most: one every few minutes is alone in its batch."""
