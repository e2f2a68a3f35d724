"""From the webhook to the CRM: `fairturn demo`, once into each simulated CRM, as anybody can run it."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from bench.house import ROOT, Failed
from bench.machine import facts
from bench.paper import markdown
from bench.quantities import amount, count

HELP = "the demo into both simulated CRMs: calls, seconds, and who was there"
SHORT: Sequence[str] = ("--leads", "60", "--seconds", "5")
CRMS = ("salesforce", "hubspot")


def options(ask: argparse.ArgumentParser) -> None:
    ask.add_argument("--leads", type=count, default=500, help="of each CRM (500)")
    ask.add_argument("--seconds", type=amount, default=60, help="of the burst (60)")


def run(args: argparse.Namespace) -> dict[str, Any]:
    return measure(args.leads, args.seconds)


def measure(leads: int, seconds: float) -> dict[str, Any]:
    """One after the other. Raises Failed."""
    machine = facts()
    return {
        "bench": "crm",
        "conditions": {"leads": leads, "seconds": seconds, "events": 3, "crm_seconds": 0.5, "record_ms": 10},
        "machine": machine,
        **{crm: demo(crm, leads, seconds) for crm in CRMS},
    }


def demo(crm: str, leads: int, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "figures.json"
        command = [sys.executable, "-m", "fairturn", "demo", "--crm", crm, "--leads", str(leads)]
        command += ["--seconds", f"{seconds:g}", "--exit", "--json", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        if done.returncode:
            raise Failed(f"fairturn demo --crm {crm}: {done.stdout[-2000:]} {done.stderr[-2000:]}")
        found: dict[str, Any] = orjson.loads(file.read_bytes())
        return found


def table(found: dict[str, Any]) -> str:
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
