"""Lock, queue or batch? The answer for a given stream of leads, from what was measured.

Whatever is said with a figure names where the figure is from: a file of measurements, the article that proposed a
design, or plain arithmetic on the question. What was not measured is said to be so, and not made up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil, exp
from typing import Final

from fairturn.decide.advice import Advice, Choice, Crm, Crowd, Measured, Question, Reason, Writing

SECONDS: Final = 86_400
MONTH: Final = 30  # days
FIXED: Final = 15.0  # seconds of the article's window
LINGER: Final = 2.0  # seconds of the adaptive window, as it ships
PATIENCE: Final = 10.0  # seconds after which the first CRMs give a webhook up, says the article
RECORDS: Final = 200  # in one request of Salesforce's collections; HubSpot takes 100
LIMITS: Final[Mapping[Crm, int]] = {"salesforce": RECORDS, "hubspot": 100}
FEW: Final = 5  # leads a day that the article calls too few to matter
ARITHMETIC, ARTICLE = "arithmetic", "the article"


MODELS: Final[Mapping[str, str]] = {
    "sync": "one call after another for each event",
    "redis_microbatch": "the article's queue with a timer of 15 s",
    "fixed_15": "Fairturn in windows of 15 s",
    "adaptive": "Fairturn in adaptive windows",
    "adaptive_known": "Fairturn in adaptive windows, a fifth of the people there already",
}
RACE: Final = "bench/results/race.json"
FLOW: Final = "bench/results/flow.json"


def advise(question: Question, measured: Measured) -> Advice:
    """Pure. The question has no complaints."""
    usual = under_way(question, measured)
    calls = calls_a_day(question, measured)
    choice = chosen(question, measured, usual, calls)
    return Advice(
        choice=choice,
        says=WORDS[choice],
        usual=usual,
        at_once=question.at_once,
        calls=calls,
        reasons=tuple(reasons(question, measured, usual, calls, choice)),
        fairturn=tuple(fairturn(question, measured)),
        not_measured=tuple(missing(question, measured)),
    )


WORDS: Final[Mapping[Choice, str]] = {
    "keep": "Keep what you have: two of your leads hardly ever meet, so any way of taking turns is fair enough.",
    "lock": "A lock is enough: one row of the pool, locked and counted in the transaction that assigns the lead.",
    "queue": "A queue: answer the webhook at once, ask outside without any lock, and take the turn afterwards.",
    "batch": "A batch: store what comes, assign all that wait in one transaction, and write them together.",
}


def chosen(question: Question, measured: Measured, usual: float | None, calls: Mapping[str, int]) -> Choice:
    over = question.crm_calls_per_day is not None and calls["one_per_event"] > question.crm_calls_per_day
    if over:
        return "batch"
    if quiet(question, usual):
        return "keep"
    if question.enrichment_seconds > 0:
        return "queue"
    return "lock" if max(question.at_once, usual or 0) <= question.reps or one_by_one(question, measured) else "batch"


def one_by_one(question: Question, measured: Measured) -> bool:
    """Whether one counted row per pool keeps up: half busy at most, the worst second done before senders give up."""
    found = counted(measured)
    if found is None:
        return False
    return question.leads_per_minute / 60 <= found.per_second / 2 and question.at_once / found.per_second <= PATIENCE


def counted(measured: Measured) -> Crowd | None:
    """One row per pool, locked and counted: with as many at once as were tried."""
    return max(_of(measured, "counter"), key=lambda one: (one.concurrency, one.requests), default=None)


def decision_seconds(measured: Measured) -> float | None:
    """Of the plainest router with ten requests at once; None: not measured."""
    plain = [one for one in measured.crowds if one.router == "naive"]
    return min(plain, key=lambda one: one.concurrency).mean_ms / 1000 if plain else None


def under_way(question: Question, measured: Measured) -> float | None:
    """Little's law: requests under way = how many come in a second x the seconds that each takes."""
    decision = decision_seconds(measured)
    if decision is None and not question.enrichment_seconds:
        return None
    return question.leads_per_minute / 60 * (question.enrichment_seconds + (decision or 0.0))


def meetings(question: Question, usual: float) -> float:
    """Leads a month that come while another is being decided, if they come independently of each other (Poisson)."""
    return MONTH * question.leads_a_day * (1 - exp(-usual))


def quiet(question: Question, usual: float | None) -> bool:
    """Fewer than one meeting a month; where the time of a decision is not known, as many leads as the article says."""
    if question.at_once > 1:
        return False
    return question.leads_a_day <= FEW or (usual is not None and meetings(question, usual) < 1)


def calls_a_day(question: Question, measured: Measured) -> dict[str, int]:
    """Upper bounds, but for `one_per_event`: those are the calls of the article's handler, as measured, or one each.

    A window leaves at most once in its length, and never more often than events come; a departure is a question (who is
    there already?) and a write.
    """
    events = question.events_a_day
    full = events / LIMITS[question.crm or "salesforce"]  # requests that are full, if all came at once
    return {
        "one_per_event": ceil(events * per_event(question, measured)),
        "fixed_15": ceil(2 * min(events, SECONDS / FIXED + full)),
        "adaptive": ceil(2 * min(events, SECONDS / LINGER + full)),
    }


def fewest(question: Question) -> int:
    """Calls a day that no window gets below: each lead written once, every request full."""
    return ceil(question.leads_a_day / LIMITS[question.crm or "salesforce"])


def per_event(question: Question, measured: Measured) -> float:
    """Calls that a handler makes for each event: what `sync` was measured to make, at least one."""
    found = writing(question, measured, "sync")
    return max(1.0, found.calls / found.events) if found else 1.0


def writing(question: Question, measured: Measured, model: str) -> Writing | None:
    crm = question.crm or "salesforce"
    return next((one for one in measured.writings if one.model == model and one.crm == crm), None)


def reasons(
    question: Question, measured: Measured, usual: float | None, calls: Mapping[str, int], choice: Choice
) -> Iterator[Reason]:
    yield from _of_concurrency(question, measured, usual)
    if choice == "keep":
        if usual is not None and question.leads_a_day > FEW:
            found = f"{meetings(question, usual):.2g} leads a month come while another is being decided"
            yield Reason("meetings", f"{found}, if they come independently of each other.", ARITHMETIC)
        else:
            yield Reason("meetings", "At five leads a day neither lock nor queue matters.", ARTICLE)
        return
    yield from _of_enrichment(question)
    yield from _of_locks(question, measured)
    yield from _of_calls(question, measured, calls)


def _of_concurrency(question: Question, measured: Measured, usual: float | None) -> Iterator[Reason]:
    rate = question.leads_per_minute / 60
    if usual is not None:
        decision = decision_seconds(measured)
        parts = f"{question.enrichment_seconds:g} s outside" if question.enrichment_seconds else ""
        own = f"{1000 * decision:.0f} ms for the decision itself ({RACE})" if decision is not None else ""
        took = " and ".join(part for part in (parts, own) if part)
        says = f"{rate:.2g} leads a second, each with {took}: {usual:.2g} under way at once, on average (Little's law)."
        yield Reason("concurrency", says, ARITHMETIC)
    if question.at_once > 1:
        yield Reason("burst", f"In the worst second {question.at_once:,} come at once.", ARITHMETIC)
    elif question.burst is None:
        says = "No burst was named, so they are taken to come one by one; a webinar's end does not: --burst."
        yield Reason("burst", says, ARITHMETIC)


def _of_enrichment(question: Question) -> Iterator[Reason]:
    if not question.enrichment_seconds:
        return
    holds = 60 / question.enrichment_seconds
    says = (
        f"Never ask outside under a lock: with one row per pool locked for {question.enrichment_seconds:g} s, a pool "
        f"takes {holds:.3g} leads a minute, and {question.leads_per_minute:g} come."
    )
    yield Reason("enrichment", says, ARITHMETIC)
    if question.leads_per_minute >= holds:
        yield Reason("enrichment", "They would pile up behind it without end.", ARITHMETIC)


def _of_locks(question: Question, measured: Measured) -> Iterator[Reason]:
    crowds = sorted(_of(measured, "skip_locked"), key=lambda one: one.concurrency)
    lost = [one for one in crowds if one.unassigned]
    many = f"more than {question.reps:,} requests decide" if question.reps > 1 else "more than one request decides"
    says = f"SKIP LOCKED gives no row once {many} at once, one for each rep: the lead beyond them has nobody."
    yield Reason("skip locked", says, ARITHMETIC)
    for one in lost:
        says = (
            f"With {one.concurrency} at once and {one.reps} reps it left {one.unassigned:,} of {one.requests:,} leads "
            "without a rep."
        )
        yield Reason("skip locked", says, RACE)
    row = counted(measured)
    if row is not None:
        says = (
            f"One row per pool, locked and counted, leaves nobody out: {row.per_second:,.0f} decisions a second, one "
            f"by one, with {row.concurrency} at once."
        )
        yield Reason("one row", says, RACE)
    ours = max(_of(measured, "fairturn"), key=lambda one: one.concurrency, default=None)
    if ours is not None:
        says = (
            f"One counted turn per lead, all that wait in one transaction: {ours.unassigned} without a rep and "
            f"{ours.spread} between the reps with most and fewest, at {ours.concurrency} at once."
        )
        yield Reason("turns", says, RACE)


def _of(measured: Measured, router: str) -> list[Crowd]:
    return [one for one in measured.crowds if one.router == router]


def _of_calls(question: Question, measured: Measured, calls: Mapping[str, int]) -> Iterator[Reason]:
    limit = question.crm_calls_per_day
    each = per_event(question, measured)
    found = writing(question, measured, "sync")
    if limit is not None:
        told = f" ({each:.2g} for each, as measured)" if found and each > 1 else ""
        says = (
            f"{question.events_a_day:,.0f} events a day: {calls['one_per_event']:,} calls{told} if each is written at "
            f"once, at most {calls['fixed_15']:,} in windows of 15 s, at most {calls['adaptive']:,} in adaptive ones. "
            f"The limit is {limit:,}."
        )
        yield Reason("crm calls", says, found.source if found and each > 1 else ARITHMETIC)
        if (least := fewest(question)) > limit:
            says = (
                f"No way of writing fits into it: {question.leads_a_day:,.0f} leads a day fill {least:,} requests, "
                "were each written once and every request full. Ask for a higher limit, or write fewer of them."
            )
            yield Reason("crm calls", says, ARITHMETIC)
    for one in measured.writings:
        if one.crm == question.crm:
            failed = f"{100 * one.failed_share:.0f} % never arrived" if one.failed_share else "none was lost"
            says = (
                f"A burst of {one.events:,} events in {one.seconds:g} s, {MODELS.get(one.model, one.model)}: "
                f"{one.calls:,} calls, {failed}, 95 % there within {one.p95_s:.1f} s."
            )
            yield Reason("crm burst", says, one.source)


def fairturn(question: Question, measured: Measured) -> Iterator[str]:
    """What the settings would be."""
    if question.caller_waits:
        yield 'Source with lane = "sync": the answer names the rep; callers who wait are routed together.'
    else:
        yield "Source in the batch lane, as it comes: 202 once the event is on disk, the rep a moment later."
    if question.enrichment_seconds and question.caller_waits:
        yield (
            "Enrichment comes as an event of its own and updates the lead: a caller who waits is not kept waiting "
            f"{question.enrichment_seconds:g} s for it."
        )
    elif question.enrichment_seconds:
        yield (
            "Rules that need the answer: wait_for = [its fields] at the source, and at_most longer than "
            f"{question.enrichment_seconds:g} s. Meanwhile no lock is held."
        )
    if measured.assigned_per_second is not None and question.leads_per_minute / 60 > measured.assigned_per_second:
        yield (
            f"{question.leads_per_minute / 60:,.0f} leads a second are more than one worker assigns "
            f"({measured.assigned_per_second:,.0f} a second, {FLOW}, {measured.machine}); what several do was not "
            "measured."
        )
    elif measured.assigned_per_second is not None and question.at_once > 1:
        took = question.at_once / measured.assigned_per_second
        yield (
            f"{question.at_once:,} leads at once are assigned in about {took:.2g} s by one worker "
            f"({measured.assigned_per_second:,.0f} a second, {FLOW}, {measured.machine})."
        )
    if question.crm is not None:
        yield "Window adaptive, linger 2 s: what is pending leaves together, and the account is locked once."
    if question.crm_calls_per_day is not None:
        yield (
            f"daily_calls = {question.crm_calls_per_day}: as the day's calls run low, the windows grow longer, bulk "
            "first."
        )


def missing(question: Question, measured: Measured) -> Iterator[str]:
    if not measured.crowds:
        yield "how long a decision takes, and what routers do under a burst (bench race)"
    if question.crm is not None and writing(question, measured, "sync") is None:
        yield f"one call per event into {question.crm} (bench tail)"
    if measured.assigned_per_second is None:
        yield "leads assigned per second (bench flow)"
