"""What `fairturn advise` knows: the figures of results/ that its answers rest on, in one small file of the package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson
from typer.testing import CliRunner

import fairturn.operate
from bench.house import ROOT, Failed
from bench.page.marked import filled, names
from fairturn.cli import app

FILE: Final = Path(fairturn.operate.__file__).with_name("advise_measured.json")
PAGE: Final = ROOT / "docs/explanation/lock-queue-or-batch.md"
ROUTERS: Final = ("naive", "skip_locked", "counter", "fairturn")
MODELS: Final = {
    "sync": "sync",
    "redis_microbatch": "redis_microbatch",
    "fairturn fixed 15": "fixed_15",
    "fairturn adaptive": "adaptive",
}
LINGER: Final = 2.0  # seconds; the default


def advising_figures(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Of results (a file's name without .json -> its content) to what FILE holds; what was not measured is left out."""
    found: dict[str, Any] = {}
    if crowds := list(crowds_of(results.get("race", {}))):
        found["crowds"] = crowds
    if writings := [*writings_of(results.get("tail", {})), *demos_of(results.get("crm", {}))]:
        found["writings"] = writings
    if flow := results.get("flow"):
        found["assigned_per_second"] = round(flow["sustained"]["per_second"])
        found["machine"] = f"{flow['machine']['cores']} cores of {flow['machine']['cpu']}"
    return found


def crowds_of(race: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Equal reps, the smallest number of requests: the article's own."""
    rows = [row for row in race.get("rows", ()) if row["router"] in ROUTERS and row.get("scenario") == "equal"]
    fewest = min((row["requests"] for row in rows), default=0)
    for row in rows:
        if row["requests"] == fewest:
            yield {
                **{name: row[name] for name in ("router", "concurrency", "requests", "unassigned", "spread")},
                "reps": race.get("conditions", {}).get("reps", 10),
                **{name: round(row[name], 1) for name in ("mean_ms", "p99_ms", "per_second")},
            }


def writings_of(tail: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Into an empty CRM, with the window that ships."""
    conditions = tail.get("conditions", {})
    for row in tail.get("rows", ()):
        plain = row.get("scenario", "empty") == "empty" and row.get("linger") in (None, LINGER)
        if plain and row["model"] in MODELS:
            yield {
                "model": MODELS[row["model"]],
                "crm": row["crm"],
                "events": row["events"],
                "seconds": conditions["seconds"],
                "calls": row["calls"],
                "failed_share": round(row["failed_share"], 4),
                "p95_s": round(row["p95_s"], 1),
                "source": "bench/results/tail.json",
            }


def demos_of(crm: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A fifth of the people there already."""
    for name in ("salesforce", "hubspot"):
        if name in crm:
            run, calls = crm[name], crm[name]["api_calls"][name]
            yield {
                "model": "adaptive_known",
                "crm": name,
                "events": run["events"],
                "seconds": crm["conditions"]["seconds"],
                "calls": calls,
                "failed_share": round(run["lost"] / run["leads"], 4),
                "p95_s": round(run["seconds_to_crm"]["p95"], 1),
                "source": "bench/results/crm.json",
            }


def content(results: Mapping[str, Mapping[str, Any]]) -> bytes:
    return orjson.dumps(advising_figures(results), option=orjson.OPT_INDENT_2) + b"\n"


def write(results: Mapping[str, Mapping[str, Any]]) -> list[Path]:
    """The package's file, and the page whose answers follow from it. Returns both."""
    FILE.write_bytes(content(results))
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
    return [FILE, PAGE]


def page(text: str) -> str:
    """`text`, with what the command says in each block that is named after one: <!-- figures: advise ... -->."""
    return filled(text, {name: said(name) for name in names(text)})


def said(command: str) -> str:
    """What `fairturn COMMAND` prints, as a block of Markdown."""
    done = CliRunner().invoke(app, command.split(), env={"COLUMNS": "100"}, catch_exceptions=False)
    if done.exit_code:
        raise Failed(f"fairturn {command}: {done.output}")
    return f"```text\n$ fairturn {command}\n{done.stdout.rstrip()}\n```"
