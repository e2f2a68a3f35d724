"""fairturn advise: what it prints, that its figures are the committed ones, and that its page says the same."""

import json

import orjson
from typer.testing import CliRunner

from bench import advising
from bench.house import ROOT
from fairturn.cli import app
from fairturn.operate.advise import measured

RESULTS = ROOT / "bench/results"


def run(*words, code=0):
    done = CliRunner().invoke(app, ["advise", *words], env={"COLUMNS": "160"})
    assert done.exit_code == code, done.output
    return done


def test_json_is_the_contract():
    said = json.loads(run("--leads-per-minute", "30", "--reps", "10", "--enrichment-seconds", "2", "--json").stdout)
    assert set(said) == {
        "answer", "says", "question", "under_way", "crm_calls_per_day", "reasons", "fairturn", "not_measured",
    }  # fmt: skip
    assert said["answer"] == "queue"
    assert said["under_way"]["usual"] >= 1
    assert set(said["crm_calls_per_day"]) == {"limit", "one_per_event", "fixed_15", "adaptive"}
    for reason in said["reasons"]:
        assert set(reason) == {"about", "says", "source"}
        assert reason["source"] in ("arithmetic", "the article") or (ROOT / reason["source"]).exists()


def test_senseless_figures_say_what_to_write():
    said = run("--leads-per-minute", "0", "--reps", "10", code=2).output
    assert "--leads-per-minute" in said
    assert "0.0035" in said


def test_the_package_carries_the_committed_figures():
    results = {file.stem: orjson.loads(file.read_bytes()) for file in RESULTS.glob("*.json")}
    assert advising.FILE.read_bytes() == advising.content(results), "python -m bench page"
    assert measured().writings


def test_the_page_says_what_the_command_says():
    text = advising.PAGE.read_text()
    assert advising.page(text) == text, "python -m bench page"
    assert text.count("$ fairturn advise") == 4
