"""Tables of the figures, and the page that is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Any

import orjson

RESULTS = Path(__file__).parent / "results"
NAMES = ("intake", "flow", "crm")
PAGE = Path(__file__).parents[1] / "docs/explanation/measured.md"


def write() -> None:
    PAGE.write_text(text(), encoding="utf-8")


def text() -> str:
    found = {name: orjson.loads((RESULTS / f"{name}.json").read_bytes()) for name in NAMES}
    machine = found["intake"]["machine"]
    return TEXT.format(
        cores=machine["cores"],
        cpu=machine["cpu"],
        python=machine["python"],
        postgresql=machine["postgresql"],
        versions=", ".join(f"{name} {number}" for name, number in machine["versions"].items()),
        intake=table(found["intake"]),
        clients=found["intake"]["conditions"]["clients"],
        rounds=found["intake"]["conditions"]["rounds"],
        seconds=f"{found['intake']['conditions']['seconds']:g}",
        flow=table(found["flow"]),
        leads=found["flow"]["conditions"]["leads"],
        assignments=f"{found['flow']['audit']['assignments']:,}",
        counts=counts(found["flow"]),
        crm=table(found["crm"]),
        burst=f"--leads {found['crm']['conditions']['leads']} --seconds {found['crm']['conditions']['seconds']:g}",
        share=f"{found['crm']['salesforce']['there']['people'] / found['crm']['conditions']['leads']:.0%}".replace(
            "%", " %"
        ),
    )


def table(found: dict[str, Any]) -> str:
    return {"intake": intake_table, "flow": flow_table, "crm": crm_table}[found["bench"]](found)


def intake_table(found: dict[str, Any]) -> str:
    rows = [
        (
            label,
            f"{run['per_second']:,.0f}",
            *(f"{run[f'p{q}_ms']:.1f}" for q in (50, 95, 99)),
            cpu(run.get("server_cpu_s_per_1000")),
            cpu(run.get("postgresql_cpu_s_per_1000")),
        )
        for label, run in (("bare echo, nothing kept", found["echo"]), ("Fairturn, durable", found["fairturn"]))
    ]
    head = ("server", "answered / s", "p50 ms", "p95 ms", "p99 ms", "CPU ms / 1,000, server", "PostgreSQL")
    return f"{markdown(head, rows)}\n\nFairturn answers {found['ratio']:.2f} of what the bare echo does."


def flow_table(found: dict[str, Any]) -> str:
    rows = []
    for label, part in (("sustained", found["sustained"]), ("backlog", found["backlog"])):
        used = part["cpu_s_per_1000"]
        rows.append(
            (
                label,
                f"{part['assigned']:,}",
                f"{part['seconds']:.1f}",
                f"{part['per_second']:,.0f}",
                cpu(used.get("intake")),
                cpu(used.get("worker")),
                cpu(used.get("postgresql")),
            )
        )
    head = ("", "leads", "seconds", "assigned / s", "CPU ms / 1,000, intake", "worker", "PostgreSQL")
    worst = max(found["audit"]["max_deviation"].values())
    said = "holds" if found["audit"]["ok"] else "DOES NOT HOLD"
    return (
        f"{markdown(head, rows)}\n\nThe audit of all turns {said}; furthest from a fair share: {worst:.2f} of a lead."
    )


def crm_table(found: dict[str, Any]) -> str:
    names = {"salesforce": "Salesforce", "hubspot": "HubSpot"}
    told = [crm_figures(found[crm], crm) for crm in names]
    return markdown(("", *names.values()), [(label, *(one[label] for one in told)) for label in told[0]])


def crm_figures(run: dict[str, Any], crm: str) -> dict[str, str]:
    there, wait = run["there"], run["seconds_to_crm"]
    return {
        "API calls": f"{run['api_calls'][crm]:,}",
        "of them questions: who is there?": f"{run['reads']:,}",
        "calls of one per event": f"{run['calls_one_per_event']:,}",
        "calls that failed": f"{run['failed_calls']:,}",
        "seconds from event to CRM, p50": f"{wait['p50']:.1f}",
        "p95": f"{wait['p95']:.1f}",
        "p99": f"{wait['p99']:.1f}",
        "leads lost, and people there twice": f"{run['lost']:,}, {run['duplicated']:,}",
        "leads with a rep": f"{run['assigned']:,}",
        "with somebody who is none": f"{run['owned']:,}",
        "people who were there before": f"{there['people']:,}",
        "who stayed with their owner": f"{there['owners_kept']:,}",
        "who were free, and went to a rep": f"{there['assigned']:,}",
        "owners taken": f"{there['owners_taken']:,}",
        "new records for them": f"{there['new_records']:,}",
        "typed titles written over": f"{there['written_over']:,}",
        "furthest from a fair share, of a lead": f"{worst(run):.2f}",
    }


def worst(run: dict[str, Any]) -> float:
    return max(float(pool["max_deviation"]) for pool in run["pools"].values())


def counts(found: dict[str, Any]) -> str:
    rows = [(pool, ", ".join(f"{rep} {n:,}" for rep, n in reps.items())) for pool, reps in found["counts"].items()]
    return markdown(("pool", "leads per rep"), rows)


def cpu(seconds: float | None) -> str:
    return "" if seconds is None or isnan(seconds) else f"{1000 * seconds:.0f}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned, so that a terminal can read it too."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        shown = [cell.rjust(w) if n else cell.ljust(w) for n, (cell, w) in enumerate(zip(cells, widths, strict=True))]
        return f"| {' | '.join(shown)} |"

    rule = ["-" * w if n == 0 else "-" * (w - 1) + ":" for n, w in enumerate(widths)]
    return "\n".join([line(head), f"| {' | '.join(rule)} |", *map(line, rows)])


TEXT = """\
# What was measured

Written by `python -m bench page` from `bench/results/*.json`; a test compares the two. {cores} cores ({cpu}) for
everything, the load included; Python {python}, PostgreSQL {postgresql} with the settings that Fairturn ships: every
commit is flushed to disk before the answer. {versions}. Absolute figures are this machine's; ratios hold elsewhere.

## The door

    python -m bench intake --seconds {seconds} --clients {clients} --rounds {rounds} --json bench/results/intake.json

{clients} connections send signed JSON of some 220 bytes, each person once, and wait for the answer. In turns, {rounds}
rounds of each: a bare echo (the same uvicorn with the same settings and an application that reads the body and answers
202), and `fairturn serve --role intake`, which checks the signature, parses, and answers when the event is on disk.
Medians of the rounds. The load is a process of its own; it and PostgreSQL share the cores with the server.

{intake}

## From the webhook to the ledger

    python -m bench flow --leads {leads} --json bench/results/flow.json

Nine mapped fields, three rules, two pools with ten reps, accounts by Zipf's law and 30 % free mail, one change per lead
in the ledger; one worker process with one route station. The destination is paused: what a CRM takes is not measured
here. *Sustained*: the door, the worker and the load run together, from the first webhook to the last commit. *Backlog*:
the worker alone drains what has piled up while it stood still.

{flow}

{assignments} assignments, each recomputed by `fairturn audit`:

{counts}

The pool `large` gives people of one company to one rep, who pays a turn for it; `everyone` only takes turns.

## From the webhook to the CRM

    python -m bench crm {burst} --json bench/results/crm.json

`fairturn demo {burst}`, into a simulated Salesforce and then into a simulated HubSpot: three webhooks
for each lead (a form, enrichment, a score), companies by Zipf's law, half a second for each request and 10 ms for each
record in it; in Salesforce each part of a Composite costs as much as a request. {share} of the people are in the CRM
already: with a rep, with somebody else, in a queue or with nobody, with somebody who has left, converted, or customers.
What was lost, made twice or taken is read from the simulator's evidence.

{crm}
"""
