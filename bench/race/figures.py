"""Figures of one router in one cell, and the ratios that follow.

Speed is the median of the rounds; who got what is that of one round, the middle one by leads without a rep and then by
spread, with the worst of all rounds beside it.

requests, concurrency   sent, and connections that each wait for an answer before they send again
scenario                equal | weights | members (some come and go meanwhile) | pool_of_10 (a baseline's connections) |
                        direct (direct.py)
assigned, unassigned    leads with a rep, leads that nobody has
counts                  leads per rep; spread: of the rep with most, less those of the rep with fewest
repeats                 leads that a rep got within one rotation of a turn of theirs (their weight, in W leads running)
duplicates, skips       as the article counts: leads beyond a rep's due in each round of W leads, and those they lack
duplicates_and_skips    duplicates per lead assigned: each of them is what another was skipped for
max_deviation           the furthest that any rep was from the exact share after any lead, in leads (oracle.py)
mean_ms ... p99_ms      from sending to the answer that names the rep. Where the answer cannot (redis_worker,
                        fairturn_batch): from the request's arrival to the assignment, both by the clock of the machine
                        that stores them, the last commit's own time (a flush) left out; answered_ms has the answer's
per_second              requests / (from the first one sent until the last one has its answer; where that does not name
                        the rep, until the last assignment is committed)
assigned_per_second     the same, of leads that got a rep
cpu_s_per_1000          processor seconds of all processes but the load, PostgreSQL's and Valkey's included
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from statistics import fmean, median
from typing import Any

from bench.paper import markdown
from bench.race import oracle
from bench.race.entrants import Run

Row = dict[str, Any]


def of_run(router: str, run: Run) -> Row:
    cell, ms, answered = run.cell, sorted(run.ms), sorted(run.answered_ms)
    counts = oracle.counts(run.history, tuple(cell.weights))
    duplicates, skips = oracle.duplicates_and_skips(run.history)
    assigned = len(run.history)
    return {
        "router": router,
        "scenario": cell.scenario,
        "requests": cell.requests,
        "concurrency": cell.concurrency,
        "assigned": assigned,
        "unassigned": run.unassigned,
        "counts": counts,
        "spread": oracle.spread(counts),
        "repeats": oracle.repeats(run.history),
        "duplicates": duplicates,
        "skips": skips,
        "duplicates_and_skips": duplicates / assigned if assigned else 0.0,
        "max_deviation": oracle.max_deviation(run.history),
        "mean_ms": fmean(ms),
        **{f"p{q}_ms": ms[min(len(ms) - 1, len(ms) * q // 100)] for q in (50, 95, 99)},
        "answered_ms": {f"p{q}": answered[min(len(answered) - 1, len(answered) * q // 100)] for q in (50, 95, 99)},
        "per_second": cell.requests / run.seconds,
        "assigned_per_second": assigned / run.seconds,
        "cpu_s_per_1000": 1000 * sum(run.cpu.values()) / cell.requests,
        "cpu": {name: 1000 * used / cell.requests for name, used in run.cpu.items()},
        **run.more,
    }


EVEN = ("direct", "equal")  # where all share alike throughout
SPEED = ("mean_ms", "p50_ms", "p95_ms", "p99_ms", "per_second", "assigned_per_second", "cpu_s_per_1000")
FAIR = ("spread", "unassigned", "repeats", "max_deviation")


def middle(runs: Sequence[Row]) -> Row:
    """One row of the rounds of a router in a cell."""
    one = sorted(runs, key=lambda row: (row["unassigned"], row["spread"]))[len(runs) // 2]
    return {
        **one,
        **{name: median(row[name] for row in runs) for name in SPEED},
        **{
            name: {part: median(row[name][part] for row in runs) for part in one[name]}
            for name in ("answered_ms", "cpu")
        },
        "worst": {name: max(row[name] for row in runs) for name in FAIR},
        "rounds": len(runs),
    }


RATIOS = ("per_second", "assigned_per_second", "mean_ms", "p99_ms", "cpu_s_per_1000")


def ratios(rounds: Sequence[Row]) -> dict[str, Row]:
    """Fairturn against skip_locked, the median of what each round had: of the database alone (`direct`), and of both
    lanes in the largest cell of equal weights. `per_second` counts the requests that were answered, whatever the answer
    said; a lead without a rep is answered soonest.
    """
    found = {"direct": _against([row for row in rounds if row["scenario"] == "direct"], "fairturn")}
    equal = [row for row in rounds if row["scenario"] == "equal"]
    largest = max(((row["requests"], row["concurrency"]) for row in equal), default=None)
    cell = [row for row in equal if (row["requests"], row["concurrency"]) == largest]
    found |= {router: _against(cell, router) for router in ("fairturn", "fairturn_batch")}
    return {name: ratio for name, ratio in found.items() if ratio is not None}


def _against(rows: Sequence[Row], router: str) -> Row | None:
    ours, theirs = ([row for row in rows if row["router"] == name] for name in (router, "skip_locked"))
    if not ours or not theirs:
        return None
    pairs = list(zip(ours, theirs, strict=True))
    return {
        "requests": ours[0]["requests"],
        "concurrency": theirs[0]["concurrency"],
        **{name: median(mine[name] / other[name] for mine, other in pairs) for name in RATIOS},
    }


HEAD = (
    *(
        "router",
        "requests",
        "at once",
        "no rep",
        "most − least",
        "repeats",
        "deviation",
        "mean ms",
        "p50",
        "p95",
        "p99",
    ),
    *("per second", "CPU ms / 1,000"),
)
TITLES: Mapping[str, str] = {
    "direct": "The database alone, without HTTP",
    "equal": "Ten reps of equal weight",
    "weights": "Weights 3, 2 and eight times 1",
    "members": "Two of ten reps leave and come back while leads come in",
    "pool_of_10": "Ten database connections for all requests: the fault of ten reps is hidden",
}


def table(found: Row) -> str:
    parts = []
    for scenario, title in TITLES.items():
        rows = [line(row) for row in found["rows"] if row["scenario"] == scenario]
        if rows:
            parts.append(f"{title}:\n\n{markdown(HEAD, rows)}")
    return "\n\n".join([*parts, *words(found)])


def line(row: Row) -> tuple[str, ...]:
    cpu = row["cpu_s_per_1000"]
    return (
        row["router"],
        f"{row['requests']:,}",
        f"{row['concurrency']}",
        f"{row['unassigned']:,}",
        f"{row['spread']:,}",
        f"{row['repeats']:,}",
        f"{row['max_deviation']:.2f}",
        f"{row['mean_ms']:.1f}",
        *(f"{row[f'p{q}_ms']:.1f}" for q in (50, 95, 99)),
        "" if row["scenario"] == "members" else f"{row['per_second']:,.0f}",  # sent in waves, not as fast as it can be
        "" if isnan(cpu) else f"{1000 * cpu:.0f}",
    )


def words(found: Row) -> list[str]:
    said = []
    for name, ratio in found["ratios"].items():
        who = "the turn of fairturn" if name == "direct" else name
        where = "in the database alone" if name == "direct" else "over HTTP"
        said.append(
            f"{ratio['requests']:,} leads {where}, skip_locked {ratio['concurrency']} at once: {who} does "
            f"{ratio['per_second']:.2f} times its requests and {ratio['assigned_per_second']:.2f} times its assigned "
            f"leads a second, with {ratio['p99_ms']:.2f} of its p99 and {ratio['cpu_s_per_1000']:.2f} of its processor "
            "time."
        )
    if ours := [row for row in found["rows"] if row["router"].startswith("fairturn")]:
        even = [row for row in ours if row["scenario"] in EVEN and not row["requests"] % len(row["counts"])]
        spread = max((row["worst"]["spread"] for row in even), default=0)
        nobody = max(row["worst"]["unassigned"] for row in ours)
        off = max(row["worst"]["max_deviation"] for row in ours)
        verdict = "This is what it promises." if spread == nobody == 0 and off < 1 else "IT DOES NOT HOLD."
        said.append(
            f"Fairturn in every round of every cell: most − least {spread} (equal weights), {nobody} without a rep, at "
            f"most {off:.2f} of a lead from the exact share. {verdict}"
        )
    for name, audit in found["audit"].items():
        said.append(
            f"The audit of all {audit['assignments']:,} turns of {name} holds; furthest from a fair share: "
            f"{audit['max_deviation']:.2f} of a lead."
        )
    return said
