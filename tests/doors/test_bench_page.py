"""The pages of somebody's own run: written from a folder of results into a folder, whatever results are there."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import page
from bench.house import ROOT, Failed
from bench.page import bars, marked
from bench.plots import digest_in

MACHINE = {
    "cpu": "Imagined", "cores": 2, "system": "Linux x86_64", "python": "3.11.0", "postgresql": 18, "load_before": 0.1,
    "versions": {"asyncpg": "0.30.0"}, "commit": "abc1234", "at": "2026-01-01T00:00Z",
}  # fmt: skip


def race(router: str, concurrency: int, counts: list[int], **more):
    return {
        "router": router, "scenario": "equal", "requests": 100, "concurrency": concurrency, "assigned": sum(counts),
        "unassigned": 100 - sum(counts), "counts": {f"rep-{n}": count for n, count in enumerate(counts)},
        "spread": max(counts) - min(counts), "repeats": 3, "duplicates_and_skips": 0.25, "max_deviation": 0.9,
        "mean_ms": 12.0, "p50_ms": 10.0, "p95_ms": 31.0, "p99_ms": 44.0, "per_second": 1000.0,
        "assigned_per_second": 400.0, "cpu_s_per_1000": 0.5,
        **more,
    }  # fmt: skip


def tail(model: str, crm: str, calls: int, p95: float, more: dict[str, Any]):
    return {
        "model": model, "crm": crm, "scenario": "empty", "calls": calls, "saving": 1 - calls / 3000,
        "failed_share": 0.0, "failures": {}, "written_once": 500, "written_twice": 0, "never": 0,
        "writes_per_lead": 2.0, "p50_s": p95 / 2, "p95_s": p95, "p99_s": p95 + 1, "records_per_call": 20.0,
        "by_second": [{"second": n, "failed": n % 2, "p50_s": p95 / 2 + n % 3} for n in range(60)], **more,
    }  # fmt: skip


def server(name: str, per_second: float):
    rates = [{"rate": rate, "p50_ms": 1.0, "p95_ms": 2.0, "p99_ms": 20_000 / per_second} for rate in (500, 1000)]
    return {"server": name, "per_second": per_second, "p50_ms": 2.0, "p95_ms": 3.0, "p99_ms": 4.0, "rates": rates}


RESULTS: dict[str, dict[str, Any]] = {
    "race": {
        "conditions": {"rounds": 3},
        "ratios": {
            "fairturn": {"per_second": 2.5, "p99_ms": 0.7}, "fairturn_batch": {"per_second": 2.9, "p99_ms": 3.0},
            "direct": {"per_second": 5.0, "assigned_per_second": 17.0, "p99_ms": 3.0},
        },
        "rows": [
            race(router, concurrency, counts)
            for concurrency in (20, 100)
            for router, counts in (
                ("naive", [82, *[2] * 9]), ("skip_locked", [2] * 10), ("fairturn", [10] * 10),
            )
        ] + [race("naive", 20, [10] * 10, scenario="weights"),
            race("skip_locked", 100, [1] * 10, scenario="direct", assigned_per_second=90.0),
            race("fairturn", 1, [10] * 10, scenario="direct", assigned_per_second=9000.0),
        ],
        "notes": ["What the measurement itself has to say."],
    },
    "tail": {
        "conditions": {"leads": 500, "seconds": 60},
        "rows": [
            tail(*row)
            for row in (
                ("sync", "salesforce", 3000, 11.0, {"failures": {"UNABLE_TO_LOCK_ROW": 70}, "failed_share": 0.14}),
                ("redis_microbatch", "salesforce", 60, 15.1, {}),
                ("fairturn fixed 15", "salesforce", 50, 14.8, {}),
                ("fairturn adaptive", "salesforce", 80, 3.1, {"linger": 1}),
                ("fairturn adaptive", "salesforce", 70, 4.0, {"linger": 2}),
                ("fairturn adaptive", "salesforce", 50, 6.2, {"linger": 4}),
            )
        ],
    },
    "intake": {"conditions": {"clients": 64, "rounds": 3}, "ratios": {"fairturn_to_echo": 0.5},
               "rows": [server("echo", 40_000), server("fairturn", 20_000), server("insert", 5_000)]},
    "growth": {"conditions": {}, "ratio": 1.2, "rows": [
        {"base": 10_000, "ms_per_1000": 230.0}, {"base": 1_000_000, "ms_per_1000": 276.0},
    ]},
}  # fmt: skip


def put(folder: Path, results) -> Path:
    for name, found in results.items():
        (folder / f"{name}.json").write_text(json.dumps({"bench": name, "machine": MACHINE, **found}))
    return folder


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("to") / "pages"
    page.write(put(tmp_path_factory.mktemp("from"), RESULTS), to)
    return to


def test_its_page_has_every_section_and_its_pictures(written):
    text = (written / "measured.md").read_text()
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Who gets the lead: a burst at ten reps", "## The way into the CRM", "## The door",
        "## What grows with what is there", "## What it was to show", "## Where the figures come from",
    ]  # fmt: skip
    assert "What the measurement itself has to say." in text
    assert "UNABLE_TO_LOCK_ROW 70" in text
    assert "{" not in text
    plots = page.plots(page.read(put(written, RESULTS)))
    assert {plot.name for plot in plots} == {"race", "tail-latency", "tail-windows", "intake", "growth"}
    for plot in plots:
        svg = (written / "plots" / f"{plot.name}.svg").read_text()
        assert digest_in(svg) == plot.digest
        assert f"plots/{plot.name}.svg" in text
        assert "<text" in svg
        assert len(svg) < 100_000


def test_the_same_figures_are_the_same_bytes_and_others_have_another_digest(written, tmp_path):
    again = {"growth": RESULTS["growth"]}
    page.write(put(tmp_path, again))
    drawn = (tmp_path / "plots/growth.svg").read_text()
    assert drawn == (written / "plots/growth.svg").read_text()
    other = {"growth": {**RESULTS["growth"], "rows": [{"base": 10_000, "ms_per_1000": 231.0}]}}
    (plot,) = page.plots(page.read(put(tmp_path, other)))
    assert plot.digest != digest_in(drawn)


def test_a_result_that_is_not_there_leaves_its_section_and_picture_out(tmp_path):
    put(tmp_path, RESULTS)
    for name in ("race", "tail", "intake"):
        (tmp_path / f"{name}.json").unlink()
    (tmp_path / "plots").mkdir()
    (tmp_path / "plots/race.svg").write_text("of an older run")
    page.write(tmp_path)
    text = (tmp_path / "measured.md").read_text()
    assert "Who gets the lead" not in text
    assert "growth.json" in text
    assert [file.name for file in (tmp_path / "plots").iterdir()] == ["growth.svg"]
    assert marked.NOT_YET in (tmp_path / "the-two-articles.md").read_text()


def test_pages_written_by_hand_ask_for_blocks_that_results_give():
    known = set(page.blocks({name: {"machine": MACHINE, **found} for name, found in RESULTS.items()}, "plots"))
    known |= {"demo", "flow", "tail hubspot"}  # of results that are not imagined here
    for text in (page.README, page.ARTICLES):
        assert set(marked.names(text.read_text())) <= known


def test_it_says_what_is_not_reached():
    told = {bar.asked: bar.reached for bar in bars.bars(RESULTS)}
    assert told["race: sync lane to SKIP LOCKED, per second: 2 ×"]
    assert not told["race: batch lane to SKIP LOCKED, per second: 3 ×"]
    assert not told["intake: batch lane to the bare echo: 0.60"]
    assert told["intake: batch lane's p99 at 1,000/s: 25 ms"]
    assert told["growth: ms per 1,000 leads at the larger base to the smaller: 1.3"]
    assert "**no**" in bars.table(RESULTS)
    assert "**in leads that got a rep**" in bars.table(RESULTS)


def test_rows_alone_are_refused_with_the_remedy(tmp_path):
    (tmp_path / "race.json").write_text(json.dumps(RESULTS["race"]["rows"]))
    with pytest.raises(Failed, match=f"bench race --keep {tmp_path}"):
        page.write(tmp_path)


def test_the_command_says_that_nothing_is_there(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "bench", "page", "--from", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert "--keep FOLDER" in done.stderr


def test_a_p99_that_is_lower_within_the_rounds_alone_is_not_lower():
    ratio = {"requests": 100, "concurrency": 100, "p99_ms": 0.997}
    rows = [race("skip_locked", 100, [2] * 10) | {"p99_ms": 30.0}, race("fairturn", 100, [10] * 10) | {"p99_ms": 35.0}]
    bar = bars.of_tails({"rows": rows}, ratio)
    assert (bar.found, bar.reached) == ("0.997; 1.17 between the medians", False)
    rows[0]["p99_ms"] = 40.0
    assert bars.of_tails({"rows": rows}, ratio).reached
