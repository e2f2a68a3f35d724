"""Fairness under bursts: section, tables and picture of results/race.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from bench.page.rows import Found, Row, hundredths, largest, milliseconds, notes, one, percent, pick, times, whole
from bench.paper import markdown
from bench.plots import Plot

ROUTERS: Final = {
    "naive": "SELECT, then UPDATE",
    "skip_locked": "FOR UPDATE SKIP LOCKED",
    "skip_locked_retry": "SKIP LOCKED, tried again",
    "for_update": "plain FOR UPDATE",
    "counter": "counter, modulo reps",
    "redis_worker": "Valkey list, one worker",
    "fairturn": "Fairturn, sync lane",
    "fairturn_batch": "Fairturn, batch lane",
}
DIRECT: Final = {
    "skip_locked": "FOR UPDATE SKIP LOCKED",
    "fairturn": "Fairturn's turn",
    "fairturn_held": "the same, and the leads read and written",
}
BURST: Final = 100  # requests, as in the article
SHOWN: Final = (20, 100)  # concurrency; the article's ten reps hold ten
SCENARIOS: Final = {"weights": "unequal weights", "members": "members come and go", "pool_of_10": "ten connections"}


def counts(row: Row) -> list[int]:
    """Leads per rep, the most first."""
    found = row["counts"]
    return sorted(found.values() if isinstance(found, Mapping) else found, reverse=True)


def equal(found: Found) -> list[Row]:
    """The rows of the plain run: equal weights, and nobody comes or goes."""
    return pick(found["rows"], scenario="equal")


def routers(rows: Iterable[Row]) -> list[str]:
    there = {row["router"] for row in rows}
    return [name for name in ROUTERS if name in there]


def burst_table(found: Found, concurrencies: Iterable[int]) -> str:
    """100 requests to ten equal reps: most − least, and leads without a rep."""
    rows = pick(equal(found), requests=BURST)
    at = [c for c in concurrencies if pick(rows, concurrency=c)]
    head = ["most − least / without a rep", *(f"{c} at once" for c in at)]
    lines = [[ROUTERS[name], *(cell(one(rows, router=name, concurrency=c)) for c in at)] for name in routers(rows)]
    return markdown(head, lines)


def cell(row: Row | None) -> str:
    return "" if row is None else f"{row['spread']:,} / {row['unassigned']:,}"


def fault_table(found: Found) -> str:
    """What the article counts, and what a rep would feel, at the most connections."""
    rows = pick(equal(found), requests=BURST)
    rows = pick(rows, concurrency=largest(rows, "concurrency"))
    head = ("", "duplicates and skips", "same rep twice in a rotation", "furthest from a fair share, leads", "mean ms")
    lines = [
        (
            ROUTERS[name],
            percent(row["duplicates_and_skips"]),
            whole(row["repeats"]),
            hundredths(row["max_deviation"]),
            milliseconds(row["mean_ms"]),
        )
        for name in routers(rows)
        if (row := one(rows, router=name))
    ]
    return markdown(head, lines)


def hardest(found: Found) -> list[Row]:
    """The most requests at the most connections."""
    rows = equal(found)
    rows = pick(rows, requests=largest(rows, "requests"))
    return pick(rows, concurrency=largest(rows, "concurrency"))


def speed_table(found: Found) -> str:
    rows = hardest(found)
    base = one(rows, router="skip_locked")
    head = ("", "requests / s", "to SKIP LOCKED", "with a rep / s", "mean ms", "p50", "p95", "p99", "CPU s / 1,000")
    lines = [
        (
            ROUTERS[name],
            whole(row["per_second"]),
            times(row["per_second"] / base["per_second"]) if base else "",
            whole(row["assigned_per_second"]),
            *(milliseconds(row[at]) for at in ("mean_ms", "p50_ms", "p95_ms", "p99_ms")),
            hundredths(row.get("cpu_s_per_1000")),
        )
        for name in routers(rows)
        if (row := one(rows, router=name))
    ]
    return markdown(head, lines)


def short_table(found: Found) -> str:
    """For the README: the hardest run in a few columns."""
    rows = hardest(found)
    base = one(rows, router="skip_locked")
    head = (
        f"{rows[0]['requests']:,} requests, {rows[0]['concurrency']} at once",
        "requests / s",
        "to SKIP LOCKED",
        "p99 ms",
    )
    lines = [
        (
            ROUTERS[name],
            whole(row["per_second"]),
            times(row["per_second"] / base["per_second"]) if base else "",
            milliseconds(row["p99_ms"]),
            whole(row["unassigned"]),
            hundredths(row["max_deviation"]),
        )
        for name in routers(rows)
        if (row := one(rows, router=name))
    ]
    return markdown((*head, "without a rep", "furthest off, leads"), lines)


def scenario_table(found: Found) -> str:
    """Weights, changing members and small pools of connections: furthest off, and without a rep."""
    there = [name for name in SCENARIOS if pick(found["rows"], scenario=name)]
    lines = [
        (ROUTERS[name], *(off(one(found["rows"], router=name, scenario=scenario)) for scenario in there))
        for name in routers(found["rows"])
    ]
    return markdown(("furthest off / without a rep", *(SCENARIOS[name] for name in there)), lines) if there else ""


def direct(found: Found) -> str:
    """SKIP LOCKED and the turn with the database alone; empty where it was not run."""
    rows = pick(found["rows"], scenario="direct")
    base = one(rows, router="skip_locked")
    if base is None:
        return ""
    head = ("", "connections", "requests / s", "to SKIP LOCKED", "with a rep / s", "CPU s / 1,000", "without a rep")
    lines = [
        (
            words,
            f"{row['concurrency']:,}",
            whole(row["per_second"]),
            times(row["per_second"] / base["per_second"]),
            whole(row["assigned_per_second"]),
            hundredths(row["cpu_s_per_1000"]),
            whole(row["unassigned"]),
        )
        for name, words in DIRECT.items()
        if (row := one(rows, router=name))
    ]
    return f"{ALONE.format(most=base['requests'])}\n{markdown(head, lines)}\n"


def off(row: Row | None) -> str:
    return "" if row is None else f"{worst(row, 'max_deviation'):.2f} / {worst(row, 'unassigned'):,}"


def worst(row: Row, name: str) -> Any:
    """Of all rounds of this row."""
    return row.get("worst", row)[name]


def plot(found: Found) -> Plot | None:
    """Leads per rep, the most first, for each router at 20 and at 100 at once; those without a rep apart."""
    rows = pick(equal(found), requests=BURST)
    panels: list[dict[str, Any]] = [
        {
            "router": ROUTERS[name],
            "concurrency": at,
            "counts": counts(row),
            "unassigned": row["unassigned"],
            "ours": name.startswith("fairturn"),
        }
        for name in routers(rows)
        for at in SHOWN
        if (row := one(rows, router=name, concurrency=at))
    ]
    if not panels:
        return None
    reps = len(panels[0]["counts"])
    words = f"Leads per rep after {BURST} requests to {reps} equal reps, 20 and 100 at once, for each router"
    return Plot("race", words, {"fair": BURST / reps, "panels": panels})


def plots(found: Found) -> list[Plot]:
    drawn = plot(found)
    return [drawn] if drawn else []


def blocks(found: Found) -> dict[str, str]:
    return {
        "race burst": burst_table(found, SHOWN),
        "race faults": fault_table(found),
        "race speed": speed_table(found),
        "race short": short_table(found),
        "race scenarios": scenario_table(found),
        "race direct": direct(found),
    }


def section(found: Found) -> str:
    drawn = plot(found)
    rows = hardest(found)
    return (
        TEXT.format(
            picture=drawn.image() if drawn else "",
            burst=burst_table(found, sorted({row["concurrency"] for row in equal(found)})),
            faults=fault_table(found),
            most=f"{rows[0]['requests']:,}",
            at=rows[0]["concurrency"],
            speed=speed_table(found),
            scenarios=scenario_table(found),
            rounds=found["conditions"]["rounds"],
            direct=direct(found),
            notes=notes(found),
        ).rstrip()
        + "\n"
    )


ALONE = """
The database alone, without HTTP: {most:,} leads wait. SKIP LOCKED is one statement for each, on its connections. The
turn is the product's own store and fold on one: the pool's lock, its members, balances and pauses read, each lead's
assignment written with its reason, and the balances. Taking webhooks and merging leads is in neither.
"""

TEXT = """\
## Who gets the lead: a burst at ten reps

    python -m bench race --keep

Every router is a server of its own on the same HTTP server and the same PostgreSQL, and assigns each request to one of
ten reps. The load keeps so many requests open at a time. What happened is read from what each router recorded.

{picture}

100 requests, ten equal reps. In each cell: leads of the rep with the most less those of the rep with the fewest, and
leads that no rep got. The picture and the table show the middle one of the rounds ({rounds}).

{burst}

The same 100 requests, all at once. *Duplicates and skips*: of each ten leads, those beyond one for each rep, for each
of which another rep was skipped; as a share of the leads assigned. *Same rep twice*: within as many leads as there are
reps. *Furthest off*: the worst distance of any rep from their exact share, after any lead.

{faults}

{most} requests, {at} at once, on connections that are warm. Where the answer cannot name the rep (the Valkey list,
Fairturn's batch lane), the milliseconds run until the assignment is committed:

{speed}

What happens when weights are 3, 2 and eight times 1; when two of the ten reps leave and come back meanwhile; and with
no more than ten connections to the database, which lets ten requests at the reps at a time and so hides what the
eleventh does. The worst of all rounds:

{scenarios}
{direct}
{notes}
"""
