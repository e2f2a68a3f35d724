"""The page that is made of the committed figures."""

from __future__ import annotations

from pathlib import Path

import orjson

from bench import crm, flow, intake

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
        intake=intake.table(found["intake"]),
        clients=found["intake"]["conditions"]["clients"],
        rounds=found["intake"]["conditions"]["rounds"],
        seconds=f"{found['intake']['conditions']['seconds']:g}",
        flow=flow.table(found["flow"]),
        leads=found["flow"]["conditions"]["leads"],
        assignments=f"{found['flow']['audit']['assignments']:,}",
        counts=flow.counts(found["flow"]),
        crm=crm.table(found["crm"]),
        burst=f"--leads {found['crm']['conditions']['leads']} --seconds {found['crm']['conditions']['seconds']:g}",
        share=f"{found['crm']['salesforce']['there']['people'] / found['crm']['conditions']['leads']:.0%}".replace(
            "%", " %"
        ),
    )


TEXT = """\
# What was measured

Written by `python -m bench page` from `bench/results/*.json`; a test compares the two. {cores} cores ({cpu}) for
everything, the load included; Python {python}, PostgreSQL {postgresql} with the settings that Fairturn ships: every
commit is flushed to disk before the answer. {versions}. Absolute figures are this machine's; ratios hold elsewhere.

## The door

    python -m bench intake --seconds {seconds} --clients {clients} --rounds {rounds} --keep

{clients} connections send signed JSON of some 220 bytes, each person once, and wait for the answer. In turns, {rounds}
rounds of each: a bare echo (the same uvicorn with the same settings and an application that reads the body and answers
202), and `fairturn serve --role intake`, which checks the signature, parses, and answers when the event is on disk.
Medians of the rounds. The load is a process of its own; it and PostgreSQL share the cores with the server.

{intake}

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

## From the webhook to the CRM

    python -m bench crm {burst} --keep

`fairturn demo {burst}`, into a simulated Salesforce and then into a simulated HubSpot: three webhooks
for each lead (a form, enrichment, a score), companies by Zipf's law, half a second for each request and 10 ms for each
record in it; in Salesforce each part of a Composite costs as much as a request. {share} of the people are in the CRM
already: with a rep, with somebody else, in a queue or with nobody, with somebody who has left, converted, or customers.
What was lost, made twice or taken is read from the simulator's evidence.

{crm}
"""
