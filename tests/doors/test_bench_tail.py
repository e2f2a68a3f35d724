"""A tiny burst on real processes: the figures keep their contract and are the CRM's word; how fast is no matter."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.tail.burst import burst, calls_if
from bench.tail.microbatch import collapsed

ROOT = Path(__file__).parents[2]
ASKED = (
    *("model", "crm", "calls", "saving", "failed_share", "failures", "written_once", "written_twice", "never"),
    *("writes_per_lead", "p50_s", "p95_s", "p99_s", "records_per_call"),
)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    file = tmp_path_factory.mktemp("tail") / "rows.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench", "tail", "--leads", "20", "--seconds", "2", "--transaction", "0.4"),
            *("--models", "sync,adaptive", "--crms", "salesforce", "--scenarios", "empty", "--lingers", "2"),
            *("--json", str(file)),
        ],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return {row["model"]: row for row in json.loads(file.read_text())}, done.stdout


def test_every_row_says_what_was_asked_for(found):
    rows, said = found
    assert list(rows) == ["sync", "fairturn adaptive"]
    for row in rows.values():
        assert set(ASKED) <= set(row)
        assert row["written_once"] + row["written_twice"] + row["never"] == row["leads"] == 20
        assert 0 < row["p50_s"] <= row["p95_s"] <= row["p99_s"]
        assert sum(one["events"] for one in row["by_second"]) == row["events"] == 60
    assert "64 %" in said


def test_the_handler_makes_its_two_calls_for_each_webhook(found):
    sync = found[0]["sync"]
    assert (sync["calls"], sync["reads"], sync["transactions"]) == (120, 60, 60)
    assert sync["failed_share"] == pytest.approx(sync["failures"].get("UNABLE_TO_LOCK_ROW", 0) / 60)
    assert sync["saving"] == 0


def test_fairturn_writes_everybody_once_in_few_calls(found):
    ours = found[0]["fairturn adaptive"]
    assert (ours["written_once"], ours["failures"], ours["failed_share"], ours["lock_waits"]) == (20, {}, 0, 0)
    assert ours["saving"] == pytest.approx(1 - ours["calls"] / 120, abs=1e-4)
    assert ours["calls"] < 20


def test_the_burst_is_the_same_every_time_and_counts_its_windows():
    plan = burst(500, 60)
    assert plan.events == burst(500, 60).events
    counted = calls_if(plan, 15.0)
    assert counted["event"] == 1500
    assert counted["event"] > counted["lead and window"] > counted["account and window"] > counted["window"] == 4
    assert len({(one.source, one.told) for one in plan.events}) == 1500, "each tells what no other tells"


def test_a_person_of_several_webhooks_is_one_row_beside_those_of_the_account():
    told: list[dict[str, object]] = [
        {"id": "1", "email": "a@x.com", "title": "CTO"},
        {"id": "2", "email": "b@y.com", "message": "hi", "company": None},
        {"id": "3", "email": "c@x.com", "score": 1.0},
        {"id": "4", "email": "a@x.com", "title": "CEO", "score": 7.0},
    ]
    rows = collapsed(told)
    assert rows == {"a@x.com": {"title": "CEO", "score": 7.0}, "c@x.com": {"score": 1.0}, "b@y.com": {"message": "hi"}}
    assert list(rows) == ["a@x.com", "c@x.com", "b@y.com"]
