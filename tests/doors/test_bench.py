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


SERVERS = ("echo", "echo_fast", "skip_locked", "fairturn", "fairturn_sync", "fairturn_valkey")


def test_intake(tmp_path):
    found, said = bench(
        tmp_path, "intake", "--seconds", "0.3", "--clients", "8", "--rounds", "1", "--rates", "50",
        "--rate-seconds", "0.3", "--servers", ",".join(SERVERS),
    )  # fmt: skip
    rows = {row["server"]: row for row in found["rows"]}
    assert tuple(rows) == SERVERS
    for name, row in rows.items():
        assert row["per_second"] > 0
        (point,) = row["rates"]
        assert (point["rate"], point["unanswered"], point["bad"]) == (50, 0, 0), name
        assert point["answered"] == 15
        for timed in (row, point):
            assert 0 < timed["p50_ms"] <= timed["p95_ms"] <= timed["p99_ms"]
        durable = not name.startswith("echo")
        assert (row.get("postgresql_cpu_s_per_1000") is not None) == durable
    assert "valkey_cpu_s_per_1000" in rows["fairturn_valkey"]
    ratio = rows["fairturn_sync"]["per_second"] / rows["skip_locked"]["per_second"]
    assert found["ratios"]["fairturn_sync_to_skip_locked"] == pytest.approx(ratio)
    assert found["machine"]["cores"]
    assert f"{rows['fairturn']['per_second']:,.0f}" in said


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
