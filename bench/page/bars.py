"""What the measurements were to show, and whether they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from bench.page import race, tail
from bench.page.rows import Found, Row, hundredths, milliseconds, one, percent, pick, tenths, times, whole
from bench.paper import markdown


@dataclass(frozen=True, slots=True)
class Bar:
    asked: str  # what, and how much
    found: str
    reached: bool
    partly: str = ""  # in what sense, where it is not reached in every one


def bars(results: Mapping[str, Found]) -> list[Bar]:
    """Of the results that are there."""
    return [bar for name, judge in JUDGES.items() if name in results for bar in judge(results[name])]


def table(results: Mapping[str, Found]) -> str:
    lines = [(bar.asked, bar.found, "yes" if bar.reached else f"**{bar.partly or 'no'}**") for bar in bars(results)]
    return markdown(("asked", "measured", "reached"), lines) if lines else ""


def of_race(found: Found) -> Iterator[Bar]:
    ours = [row for row in found["rows"] if row["router"].startswith("fairturn")]
    if not ours:
        return
    spread = max((race.worst(row, "spread") for row in pick(ours, scenario="equal")), default=0)
    bare, furthest = (max(race.worst(row, name) for row in ours) for name in ("unassigned", "max_deviation"))
    yield Bar("race: leads of the most less those of the fewest, at equal weights: 0", whole(spread), spread == 0)
    yield Bar("race: leads without a rep, whatever the size, weights and members: 0", whole(bare), bare == 0)
    yield Bar("race: furthest from a fair share, of a lead: under 1", hundredths(furthest), furthest < 1)
    ratios = found.get("ratios") or {}
    for name, words, least in (
        ("fairturn", "sync lane", 2),
        ("fairturn_batch", "batch lane", 3),
        ("direct", "the turn at the database alone", 10),
    ):
        if name in ratios:
            faster, given = ratios[name]["per_second"], ratios[name].get("assigned_per_second")
            # A request that finds no rep is the cheapest answer there is: what counts are leads that got one.
            said = f"{times(faster)} its requests" + (
                f"; {times(given)} in leads that got a rep" if given is not None else ""
            )
            partly = "in leads that got a rep" if given is not None and given >= least else ""
            yield Bar(f"race: {words} to SKIP LOCKED, per second: {least} ×", said, faster >= least, partly)
    if "fairturn" in ratios:
        yield of_tails(found, ratios["fairturn"])


def of_tails(found: Found, ratio: Mapping[str, float]) -> Bar:
    """Lower is what is lower both ways: within the rounds, and in the medians that the tables show."""
    within = ratio["p99_ms"]
    said, lower = f"{within:.3f}", within < 1
    cell = {name: ratio[name] for name in ("requests", "concurrency") if name in ratio}
    ours, theirs = (
        one(pick(found["rows"], scenario="equal", **cell), router=name) for name in ("fairturn", "skip_locked")
    )
    if cell and ours and theirs:
        between = ours["p99_ms"] / theirs["p99_ms"]
        said, lower = f"{said}; {between:.2f} between the medians", lower and between < 1
    return Bar("race: sync lane's p99 to SKIP LOCKED's: under 1", said, lower)


def of_tail(found: Found) -> Iterator[Bar]:
    for crm in tail.crms(found):
        rows = pick(tail.plain(found["rows"]), crm=crm, scenario="empty")
        if ours := one(rows, model="fairturn adaptive"):
            yield from of_adaptive(ours, tail.CRMS[crm])
        fixed, theirs = one(rows, model="fairturn fixed 15"), one(rows, model="redis_microbatch")
        if fixed and theirs:
            said = f"{fixed['calls']:,} against {theirs['calls']:,}"
            yield Bar(
                f"tail, {tail.CRMS[crm]}: fixed 15 s, calls no more than the article's",
                said,
                fixed["calls"] <= theirs["calls"],
            )


def of_adaptive(ours: Row, crm: str) -> Iterator[Bar]:
    bad = sum(ours["failures"].values()) + ours["written_twice"] + ours["never"]
    yield Bar(
        f"tail, {crm}: adaptive, refused, twice or never there: 0", whole(bad), not bad and not ours["failed_share"]
    )
    if (saved := ours["saving"]) is not None:
        said, made = percent(saved, 1), ours.get("saving_to_sync")
        if made is not None and abs(made - saved) > 0.001:  # whose search was refused makes no call to write
            said += f"; {percent(made, 1)} against the calls that it got to make"
        yield Bar(f"tail, {crm}: adaptive, fewer calls than a search and a write per event: 97 %", said, saved >= 0.97)
    yield Bar(f"tail, {crm}: adaptive, p95 at most 5 s", f"{tenths(ours['p95_s'])} s", ours["p95_s"] <= 5)


def of_intake(found: Found) -> Iterator[Bar]:
    ratios = found.get("ratios", {})
    if (share := ratios.get("fairturn_to_echo")) is not None:
        said = hundredths(share)
        if (
            strict := ratios.get("fairturn_to_echo_fast")
        ) is not None:  # the same way through the server: the true limit
            said += f"; {hundredths(strict)} of an echo on the fast lane"
        yield Bar("intake: batch lane to the bare echo: 0.60", said, share >= 0.6)
    if (faster := ratios.get("fairturn_sync_to_skip_locked")) is not None:
        said = times(faster)
        if (kept := ratios.get("fairturn_sync_to_skip_locked_kept")) is not None:
            said += f"; {times(kept)} where that keeps the webhook"
        yield Bar("intake: sync lane to a SKIP LOCKED transaction per request: 2 ×", said, faster >= 2)
    batch = one(found["rows"], server="fairturn")
    if batch and (point := one(batch.get("rates", ()), rate=1000)):
        slow = point["p99_ms"]
        yield Bar("intake: batch lane's p99 at 1,000/s: 25 ms", f"{milliseconds(slow)} ms", slow <= 25)


def of_flow(found: Found) -> Iterator[Bar]:
    speed = found["sustained"]["per_second"]
    yield Bar("flow: webhook to assigned, sustained, one worker: 3,000 leads/s", whole(speed), speed >= 3000)


def of_growth(found: Found) -> Iterator[Bar]:
    yield Bar(
        "growth: ms per 1,000 leads at the larger base to the smaller: 1.3",
        hundredths(found["ratio"]),
        found["ratio"] <= 1.3,
    )


JUDGES: Mapping[str, Callable[[Found], Iterator[Bar]]] = {
    "race": of_race,
    "tail": of_tail,
    "intake": of_intake,
    "flow": of_flow,
    "growth": of_growth,
}
