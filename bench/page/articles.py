"""The figures of the two articles beside ours: blocks of docs/explanation/the-two-articles.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bench.page import race, tail
from bench.page.rows import Found, Row, milliseconds, one, percent, pick, tenths
from bench.paper import markdown


@dataclass(frozen=True, slots=True)
class Claim:
    router: str
    most: str
    least: str
    duplicates: str
    mean_ms: str


# "Benchmarking lead skew under concurrent inbound bursts": 100 concurrent requests, ten reps.
CLAIMS: Final = (
    Claim("naive", "18", "4", "30 %", "42"),
    Claim("skip_locked", "10", "10", "", "59"),
    Claim("redis_worker", "10", "10", "", ""),
)


def blocks(found: Mapping[str, Found]) -> dict[str, str]:
    told = {}
    if "race" in found:
        told["article race"] = claimed_race(found["race"])
        told["article burst"] = by_concurrency(found["race"])
    if "tail" in found:
        told["article tail"] = claimed_tail(found["tail"])
    return told


def claimed_race(found: Found) -> str:
    rows = pick(race.equal(found), requests=race.BURST, concurrency=100)
    head = ("", "", "most", "least", "without a rep", "duplicates and skips", "mean ms")
    lines: list[tuple[str, ...]] = []
    for claim in CLAIMS:
        row = one(rows, router=claim.router)
        lines.append(
            (race.ROUTERS[claim.router], "article", claim.most, claim.least, "", claim.duplicates, claim.mean_ms)
        )
        if row:
            lines.append(("", "here", *here(row)))
    lines += [
        (race.ROUTERS[name], "here", *here(row))
        for name in ("fairturn", "fairturn_batch")
        if (row := one(rows, router=name))
    ]
    return markdown(head, lines)


def here(row: Row) -> tuple[str, ...]:
    counts = race.counts(row)
    doubled = percent(row["duplicates_and_skips"])
    return (f"{counts[0]:,}", f"{counts[-1]:,}", f"{row['unassigned']:,}", doubled, milliseconds(row["mean_ms"]))


def by_concurrency(found: Found) -> str:
    """The article's statement alone, as more requests come at once."""
    rows = sorted(
        pick(race.equal(found), requests=race.BURST, router="skip_locked"), key=lambda row: int(row["concurrency"])
    )
    head = ("requests at once", "leads with a rep", "without one", "most − least", "mean ms")
    return markdown(
        head,
        [
            (
                f"{row['concurrency']:,}",
                f"{row['assigned']:,}",
                f"{row['unassigned']:,}",
                f"{row['spread']:,}",
                milliseconds(row["mean_ms"]),
            )
            for row in rows
        ],
    )


def claimed_tail(found: Found) -> str:
    rows = tail.plain(pick(found["rows"], scenario="empty"))
    at = tail.crms(found)
    head = ("", "article", *(tail.CRMS[crm] for crm in at))

    def line(words: str, article: str, model: str, told: str) -> tuple[str, ...]:
        return (words, article, *(figure(one(rows, model=model, crm=crm), told) for crm in at))

    return markdown(
        head,
        [
            line("one call per event: p95, s", "over 8", "sync", "p95_s"),
            line("lost", "14 %", "sync", "failed_share"),
            line("15 s micro-batches: fewer calls", "64 %", "redis_microbatch", "saving"),
            line("p95, s", "", "redis_microbatch", "p95_s"),
            line("lost", "", "redis_microbatch", "failed_share"),
            line("Fairturn, adaptive: fewer calls", "", "fairturn adaptive", "saving"),
            line("p95, s", "", "fairturn adaptive", "p95_s"),
            line("lost", "", "fairturn adaptive", "failed_share"),
        ],
    )


def figure(row: Row | None, told: str) -> str:
    if row is None or row[told] is None:
        return ""
    return tenths(row[told]) if told.endswith("_s") else percent(row[told], 1)
