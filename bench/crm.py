"""From the webhook to the CRM: `fairturn demo`, once into each simulated CRM, as anybody can run it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import orjson

from bench.house import ROOT, Failed
from bench.machine import facts

CRMS = ("salesforce", "hubspot")


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
