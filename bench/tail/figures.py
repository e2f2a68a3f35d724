"""From what the simulated CRM saw to the figures of one run. Nothing here is a router's own word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from bench.tail.burst import FIELDS, Burst, per_second
from bench.tail.sending import Sent
from bench.tail.simulated import Evidence, Simulator
from fairturn.assemble.demo.measure import percentiles

DONE: Final = frozenset({"created", "updated", "deleted"})


def row(plan: Burst, sent: Sent, found: Evidence, simulator: Simulator) -> dict[str, Any]:
    """`seconds` of events that never arrived are None, and are no part of the percentiles."""
    waits = arrivals(plan, sent, found, simulator)
    arrived = [wait for wait in waits if wait is not None]
    writes = [one for one in found.requests if one["kind"] == "write"]
    rows, waits_for_locks = outcomes(found.requests), [wait for one in writes for wait in one["lock_waits"]]
    written = sum(n for outcome, n in rows.items() if outcome in DONE)
    once, twice, never = fates(plan, found)
    share = percentiles(arrived) if arrived else {}
    return {
        "leads": len(plan.people),
        "events": len(plan.events),
        "calls": len(found.requests),
        "reads": len(found.requests) - len(writes),
        "failed_share": round(1 - len(arrived) / len(waits), 4),
        "failures": dict(causes(found.requests)),
        "webhooks_failed": sum(status == 0 or status >= 300 for status in sent.answers.values()),
        "webhook_p95_s": percentiles(sent.seconds)["p95"],
        "written_once": once,
        "written_twice": twice,
        "never": never,
        "owners_taken": found.summary["owners"]["taken_by_api"],
        "writes_per_lead": round(written / len(plan.people), 3),
        **{f"{name}_s": share.get(name) for name in ("p50", "p95", "p99")},
        "records_per_call": round(rows.total() / len(writes), 2) if writes else None,
        "lock_waits": len(waits_for_locks),
        "lock_timeouts": sum(wait["timed_out"] for wait in waits_for_locks),
        **work(simulator.before["work"], found.summary["work"]),
        "by_second": list(by_second(plan, waits)),
        "sent_late_s": round(sent.late, 3),
    }


def outcomes(requests: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Outcome of each row -> rows."""
    return Counter(line["outcome"] for one in requests for line in one["rows"])


def work(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    return {name: round(after[name] - before[name]) for name in ("transactions", "transaction_ms", "record_ms")}


def arrivals(plan: Burst, sent: Sent, found: Evidence, simulator: Simulator) -> list[float | None]:
    """Seconds from each webhook to the commit by which a record of its person first said what it told; None: never."""
    names = simulator.vendor.fields
    wanted = {(one.email.casefold(), names[FIELDS[one.source]], _said(one.told)): one.number for one in plan.events}
    at = {one.number: one.at for one in plan.events}
    waits: list[float | None] = [None] * len(plan.events)
    for version in found.versions:
        email = found.emails.get(version["id"])
        if email is None or version["source"] != "api":
            continue
        for name, (_, value) in version["changed"].items():
            number = wanted.get((email, name, _said(value)))
            if number is not None and waits[number] is None:
                waits[number] = version["at"] - sent.began - at[number]
    return waits


def _said(value: object) -> str:
    """HubSpot answers in texts."""
    text = str(value)
    return text.removesuffix(".0")


def fates(plan: Burst, found: Evidence) -> tuple[int, int, int]:
    """Leads that the CRM has once, more often (a second record, or a version sent again after its answer), and without
    a single write of ours.
    """
    records: Counter[str] = Counter(found.emails.values())
    written = {found.emails.get(version["id"]) for version in found.versions if version["source"] == "api"}
    never = sum(who.email.casefold() not in written for who in plan.people)
    twice = sum(records[who.email.casefold()] > 1 for who in plan.people)
    twice = min(len(plan.people), twice + found.summary["repeats"])
    return len(plan.people) - twice - never, twice, never


def causes(requests: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """What the CRM refused, by its words for it: rows that it named, else requests."""
    found: Counter[str] = Counter()
    for one in requests:
        bad = [line["outcome"] for line in one["rows"] if line["outcome"] not in DONE]
        found.update(bad)
        if not bad and (one["status"] is None or one["status"] >= 400):
            found[_words(one)] += 1
    return found


def _words(one: Mapping[str, Any]) -> str:
    if one["status"] == 429:
        return "429 search limit" if one["path"].endswith("/search") else "429 burst limit"
    return "no answer" if one["status"] is None else f"HTTP {one['status']}"


def by_second(plan: Burst, waits: Sequence[float | None]) -> Iterable[dict[str, Any]]:
    for second, values in per_second(plan, waits):
        arrived = [value for value in values if value is not None]
        share = percentiles(arrived) if arrived else {}
        yield {
            "second": second,
            "events": len(values),
            "failed": len(values) - len(arrived),
            "p50_s": share.get("p50"),
            "p95_s": share.get("p95"),
        }
