"""The race runs on real servers, and its oracles see what is there; how fast is no matter here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.race.oracle import Step, duplicates_and_skips, max_deviation, repeats

ROOT = Path(__file__).parents[2]
KEYS = {
    "router", "requests", "concurrency", "assigned", "unassigned", "counts", "spread", "repeats", "max_deviation",
    "mean_ms", "p50_ms", "p95_ms", "p99_ms", "per_second", "cpu_s_per_1000",
}  # fmt: skip


def walk(reps: str, **shares: int) -> list[Step]:
    return [Step(rep, shares) for rep in reps]


def test_strict_turns_are_without_fault():
    history = walk("ABCABCABC", A=1, B=1, C=1)
    assert repeats(history) == 0
    assert duplicates_and_skips(history) == (0, 0)
    assert max_deviation(history) == pytest.approx(2 / 3)


def test_two_leads_that_see_the_same_rep():
    # Case 2: the cached next rep gets them all.
    history = walk("AABCCC", A=1, B=1, C=1)
    assert repeats(history) == 3  # the second A, and two of the three C
    assert duplicates_and_skips(history) == (3, 3)
    assert max_deviation(history) == pytest.approx(2 - 2 / 3)


def test_a_last_round_that_is_not_full_skips_nobody():
    assert duplicates_and_skips(walk("ABCA", A=1, B=1, C=1)) == (0, 0)
    assert duplicates_and_skips(walk("ABCAA", A=1, B=1, C=1)) == (1, 0)


def test_a_repeated_list_is_right_by_the_round_and_comes_in_bursts():
    # Case 8: 5:1:1 as a list.
    burst, smooth = walk("AAAAABC", A=5, B=1, C=1), walk("AABACAA", A=5, B=1, C=1)
    assert repeats(burst) == repeats(smooth) == 0
    assert max_deviation(burst) == pytest.approx(5 - 5 * 5 / 7)
    assert max_deviation(smooth) < 1


def test_who_is_away_is_owed_nothing():
    both = walk("ABAB", A=1, B=1)
    assert max_deviation([*both, *walk("AAAA", A=1), *both]) == pytest.approx(1 / 2)
    # Back, B is given everything that came meanwhile.
    assert max_deviation([*both, *walk("AAAA", A=1), *walk("BBBB", A=1, B=1)]) == pytest.approx(2)


def test_a_balance_carried_over_a_change_may_be_worked_off():
    # A is half a lead ahead when C joins: that A then waits for two others is within the span.
    history = [*walk("A", A=1, B=1), *walk("BCABCA", A=1, B=1, C=1)]
    assert max_deviation(history) < 1


def test_race(tmp_path):
    file = tmp_path / "race.json"
    command = [sys.executable, "-m", "bench", "race", "--requests", "60", "--concurrency", "20", "--rounds", "1"]
    command += ["--routers", "naive,skip_locked,fairturn", "--scenarios", "equal", "--json", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row["router"]: row for row in json.loads(file.read_text())}
    assert set(rows) == {"naive", "skip_locked", "fairturn"}
    for row in rows.values():
        assert row.keys() >= KEYS
        assert row["assigned"] + row["unassigned"] == row["requests"] == 60
        assert sum(row["counts"].values()) == row["assigned"]
        assert len(row["counts"]) == 10
        assert 0 < row["p50_ms"] <= row["p95_ms"] <= row["p99_ms"]
        assert row["per_second"] > 0
    ours = rows["fairturn"]
    assert (ours["unassigned"], ours["spread"], ours["repeats"], ours["answered_without_rep"]) == (0, 0, 0, 0)
    assert ours["max_deviation"] < 1
    assert rows["naive"]["spread"] > 0  # twenty at once, and nobody waits for anybody
    assert "skip_locked" in done.stdout
