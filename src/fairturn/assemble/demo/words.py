"""The numbers in an operator's words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairturn.assemble.demo.crm import Crm
from fairturn.assemble.demo.measure import PoolSummary, Summary
from fairturn.assemble.demo.scenario import Scenario
from fairturn.assemble.demo.staff import POOLS, REPS


@dataclass(frozen=True, slots=True)
class Conditions:
    """Under which the numbers were measured."""

    crm: Crm
    seconds: float
    crm_seconds: float  # of every request
    record_ms: float  # of every record in it
    again: int  # deliveries that came a second time
    junk: int
    forged: int  # requests with a wrong signature

    @classmethod
    def of(cls, crm: Crm, plan: Scenario, seconds: float, crm_seconds: float, record_ms: float) -> Conditions:
        again, junk, forged = plan.count("again"), plan.count("junk"), plan.count("forged")
        return cls(crm, seconds, crm_seconds, record_ms, again, junk, forged)


def report(found: Summary, under: Conditions) -> list[str]:
    """Sentences, one a line."""
    return [
        *_burst(found, under),
        *_arrived(found),
        *_there(found, under.crm),
        *_calls(found),
        *_speed(found),
        *_conditions(under),
        "",
        *_fairness(found),
    ]


def _burst(found: Summary, under: Conditions) -> Iterator[str]:
    yield f"{many(found.leads, 'lead')}, {many(found.events, 'event')} in {under.seconds:g} s."
    again = many(under.again, "event was delivered", "events were delivered")
    forged = many(under.forged, "forged request was", "forged requests were")
    yield f"Besides, {again} twice, {many(under.junk, 'junk lead')} took no turn, {forged} refused."


def _conditions(under: Conditions) -> Iterator[str]:
    cost = f"{under.crm_seconds:g} s a request and {under.record_ms:g} ms a record"
    yield f"{under.crm.label} is simulated: {cost}. {under.crm.locks}".rstrip()


def _arrived(found: Summary) -> Iterator[str]:
    failed = f" Failed writes: {found.failed}." if found.failed else ""
    yield f"In the CRM: {found.in_crm:,}, lost {found.lost:,}, twice {found.duplicated:,}.{failed}"
    if found.held or found.parked:
        yield f"  Of them {found.held:,} held, {found.parked:,} parked under a queue."
    if found.missing:
        more = f" and {found.lost - len(found.missing)} more" if found.lost > len(found.missing) else ""
        yield f"  Missing, or without all that their events told: {', '.join(found.missing)}{more}."


def _there(found: Summary, crm: Crm) -> Iterator[str]:
    there = found.there
    if not there.people:
        return
    kinds = ", ".join(f"{count:,} {crm.kinds[kind]}" for kind, count in there.kinds.items() if count)
    yield f"{there.people:,} of them were there already: {kinds}."
    yield (
        f"  {there.owners_kept:,} stayed with their owner ({found.owned:,} of these with somebody who is no rep), "
        f"{there.assigned:,} went to a rep."
    )
    yield (
        f"  New records for them: {there.new_records:,}, owners taken: {there.owners_taken:,}, "
        f"typed titles written over: {there.written_over:,}."
    )


def _calls(found: Summary) -> Iterator[str]:
    calls = sum(found.api_calls.values())
    failed = f"{found.failed_calls} of them failed" if found.failed_calls else "none failed"
    yield (
        f"{many(calls, 'API call')} instead of {found.calls_one_per_event:,}, {failed}; {found.reads:,} of them asked "
        "who is there. "
        f"{found.writes_per_lead:.1f} writes per lead."
    )


def _speed(found: Summary) -> Iterator[str]:
    wait = found.seconds_to_crm
    yield (
        f"Half were there after {wait['p50']:.1f} s, 95 % after {wait['p95']:.1f} s, 99 % after {wait['p99']:.1f} s, "
        "counted from the oldest event that a write carries."
    )


def _fairness(found: Summary) -> Iterator[str]:
    weights = {rep.id: rep.weight for rep in REPS}
    for name, pool in found.pools.items():
        order = sorted(pool.counts, key=lambda rep: (-weights.get(rep, 0), rep))
        counts = ", ".join(f"{rep} {pool.counts[rep]} (weight {weights.get(rep, 0)})" for rep in order) or "no leads"
        yield f"{POOLS.get(name, name)}: {counts}"
        yield f"  furthest from fair share: {share(pool.max_deviation)} of a lead{_owed(pool)}"
        if pool.company or pool.known:
            yield f"  {_outside(pool)}: no turn, but paid for with a later one (a rep owes three at most)"
    if found.audited:
        yield "Every turn was recomputed from the record: it is the one that was made."
    else:
        yield "NOT every turn recomputed from the record is the one that was made: see fairturn audit."


def _outside(pool: PoolSummary) -> str:
    parts = [
        f"{count:,} {words}"
        for count, words in (
            (pool.known, "stayed with the rep whom the CRM had"),
            (pool.company, "went to the rep who has their company"),
        )
        if count
    ]
    return " and ".join(parts)


def _owed(pool: PoolSummary) -> str:
    words = [f"{rep} {'is owed' if leads > 0 else 'owes'} {abs(leads)}" for rep, leads in pool.credit.items() if leads]
    return f"; still to be made up: {', '.join(words)}" if words else ""


def share(deviation: float) -> str:
    """Two digits, never rounded up to a whole lead."""
    shown = f"{deviation:.2f}"
    return "0.99" if shown == "1.00" and deviation < 1 else shown


def many(count: int, noun: str, nouns: str | None = None) -> str:
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def ways_on(config: Path, url: str, crm: Crm, control: str, emails: Sequence[str]) -> list[str]:
    """What to try while everything stays up."""
    who = emails[0] if emails else "jane@acme.com"
    return [
        f"Fairturn   {url}   takes webhooks at /in/website, /in/enrichment and /in/scoring",
        f"CRM        {control}/summary   what the simulator saw; /records/{crm.objects[0]} what it holds",
        f"Settings   {config}",
        "",
        "Try, in another terminal:",
        f"  fairturn why {who} --config {config}",
        f"  fairturn audit --config {config}",
        f"  fairturn reps pause dana --reason holiday --config {config}",
        "",
        "Ctrl-C ends it and removes everything.",
    ]
