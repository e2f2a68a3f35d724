"""The numbers in an operator's words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairturn.assemble.demo.measure import PoolSummary, Summary
from fairturn.assemble.demo.scenario import Scenario
from fairturn.assemble.demo.settings import LOOKUP, POOLS, REPS


@dataclass(frozen=True, slots=True)
class Conditions:
    """Under which the numbers were measured."""

    seconds: float
    crm_seconds: float  # of every request
    record_ms: float  # of every record in it
    again: int  # deliveries that came a second time
    junk: int
    forged: int  # requests with a wrong signature

    @classmethod
    def of(cls, plan: Scenario, seconds: float, crm_seconds: float, record_ms: float) -> Conditions:
        return cls(seconds, crm_seconds, record_ms, plan.count("again"), plan.count("junk"), plan.count("forged"))


def report(found: Summary, under: Conditions) -> list[str]:
    """Sentences, one a line."""
    return [
        *_burst(found, under),
        *_arrived(found),
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
    relation = LOOKUP.partition(".")[0]
    yield (
        f"The CRM is simulated: {under.crm_seconds:g} s a request and {under.record_ms:g} ms a record. Each Lead is "
        f"written with its company through a lookup of this org's own (Lead.{relation[:-1]}c), which locks the account "
        "meanwhile; a plain Lead locks none."
    )


def _arrived(found: Summary) -> Iterator[str]:
    failed = f" Failed writes: {found.failed}." if found.failed else ""
    yield f"In the CRM: {found.in_crm:,}, lost {found.lost:,}, twice {found.duplicated:,}.{failed}"
    if found.held or found.parked:
        yield f"  Of them {found.held:,} held, {found.parked:,} parked under a queue."
    if found.missing:
        more = f" and {found.lost - len(found.missing)} more" if found.lost > len(found.missing) else ""
        yield f"  Missing, or without all that their events told: {', '.join(found.missing)}{more}."


def _calls(found: Summary) -> Iterator[str]:
    calls = sum(found.api_calls.values())
    failed = f"{found.failed_calls} of them failed" if found.failed_calls else "none failed"
    yield (
        f"{many(calls, 'API call')} instead of {found.calls_one_per_event:,}, {failed}. "
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
        if pool.kept:
            yield (
                f"  {pool.kept:,} of them went to the rep who has their company already: no turn, but paid for with a "
                "later one (a rep owes three at most, the rest is forgiven)"
            )
    if found.audited:
        yield "Every turn was recomputed from the record: it is the one that was made."
    else:
        yield "NOT every turn recomputed from the record is the one that was made: see fairturn audit."


def _owed(pool: PoolSummary) -> str:
    words = [f"{rep} {'is owed' if leads > 0 else 'owes'} {abs(leads)}" for rep, leads in pool.credit.items() if leads]
    return f"; still to be made up: {', '.join(words)}" if words else ""


def share(deviation: float) -> str:
    """Two digits, never rounded up to a whole lead."""
    shown = f"{deviation:.2f}"
    return "0.99" if shown == "1.00" and deviation < 1 else shown


def many(count: int, noun: str, nouns: str | None = None) -> str:
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def ways_on(config: Path, url: str, control: str, emails: Sequence[str]) -> list[str]:
    """What to try while everything stays up."""
    who = emails[0] if emails else "jane@acme.com"
    return [
        f"Fairturn   {url}   takes webhooks at /in/website, /in/enrichment and /in/scoring",
        f"CRM        {control}/summary   what the simulator saw; /records/Lead what it holds",
        f"Settings   {config}",
        "",
        "Try, in another terminal:",
        f"  fairturn why {who} --config {config}",
        f"  fairturn audit --config {config}",
        f"  fairturn reps pause dana --reason holiday --config {config}",
        "",
        "Ctrl-C ends it and removes everything.",
    ]
