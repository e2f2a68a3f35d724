"""From the webhook to the ledger: section of results/flow.json."""

from __future__ import annotations

from bench import flow
from bench.page.rows import Found
from bench.plots import Plot


def plots(_: Found) -> list[Plot]:
    return []


def blocks(found: Found) -> dict[str, str]:
    return {"flow": flow.table(dict(found))}


def section(found: Found) -> str:
    return TEXT.format(
        leads=found["conditions"]["leads"],
        flow=flow.table(dict(found)),
        assignments=f"{found['audit']['assignments']:,}",
        counts=flow.counts(dict(found)),
    )


TEXT = """\
## From the webhook to the ledger

    python -m bench flow --leads {leads} --keep

Nine mapped fields, three rules, two pools with ten reps, accounts by Zipf's law and 30 % free mail, one change per lead
in the ledger; one worker process with one route station. The destination is paused: what a CRM takes is not measured
here. *Sustained*: the door, the worker and the load run together, from the first webhook to the last commit. *Backlog*:
the worker alone drains what has piled up while it stood still.

{flow}

{assignments} assignments, each recomputed by `fairturn audit`:

{counts}

The pool `large` gives people of one company to one rep, who pays a turn for it; `everyone` only takes turns.
"""
