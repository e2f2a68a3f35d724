"""The measurements run, on real processes, and say what they promise to say; how fast is no matter here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def bench(tmp_path: Path, *arguments: str):
    file = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, "-m", "bench", *arguments, "--json", str(file)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(file.read_text()), done.stdout


def test_intake(tmp_path):
    found, said = bench(tmp_path, "intake", "--seconds", "0.3", "--clients", "8", "--rounds", "1")
    for server in ("echo", "fairturn"):
        assert found[server]["per_second"] > 0
        assert 0 < found[server]["p50_ms"] <= found[server]["p95_ms"] <= found[server]["p99_ms"]
    assert found["ratio"] == pytest.approx(found["fairturn"]["per_second"] / found["echo"]["per_second"])
    assert found["machine"]["cores"]
    assert f"{found['fairturn']['per_second']:,.0f}" in said


def test_flow(tmp_path):
    found, said = bench(tmp_path, "flow", "--leads", "300")
    assert found["sustained"]["assigned"] == found["backlog"]["assigned"] == 300
    assert found["audit"]["ok"]
    assert max(found["audit"]["max_deviation"].values()) < 1
    # 200 more went through before the clock started.
    assert sum(n for reps in found["counts"].values() for n in reps.values()) == found["changes_pending"] == 800
    even = found["counts"]["everyone"].values()
    assert max(even) - min(even) <= 1
    assert f"{found['backlog']['per_second']:,.0f}" in said
