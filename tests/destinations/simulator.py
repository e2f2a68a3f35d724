"""Simulated CRMs in a process of their own, and what our tests ask of each alike: its control endpoints."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx2

SCALE = 0.02  # real seconds of a simulated one


class Simulator:
    """`control` is the address of the endpoints."""

    def __init__(self, control: str) -> None:
        self.http = httpx2.Client(base_url=control, timeout=30, trust_env=False, verify=False)

    def get(self, path: str, **query: Any) -> Any:
        answer = self.http.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any) -> Any:
        answer = self.http.post(path, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def faults(self, *faults: dict[str, Any]) -> None:
        self.post("/faults", {"faults": list(faults)})


@contextlib.contextmanager
def running(*arguments: str) -> Iterator[dict[str, Any]]:
    """The ready line of a process that ends with the block."""
    command = [
        sys.executable, "-m", "crmsim", "serve", "--port", "0", "--time-scale", str(SCALE), "--exit-with-parent",
        *arguments,
    ]  # fmt: skip
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.communicate(timeout=10)
