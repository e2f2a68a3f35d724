"""What we do about the CRM's answer: exactly one verdict for each record of the batch, whatever the answer holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from fairturn.model import (
    Answer,
    Batch,
    Done,
    Failed,
    Later,
    Outcome,
    Outgoing,
    Refused,
    RetryAt,
    Unknown,
    Verdict,
    Written,
)

FIRST = 1.0  # seconds before the second attempt
LONGEST = 600.0
PATIENT = 86_400.0  # seconds, whatever the CRM asks for: a row whose time never comes is a row lost
UNKNOWN = "UNKNOWN"
SURE = 6  # failures in a row after which a record that failed alone lets the others try
# What no waiting mends, in our own words and in the CRMs': credentials, scopes, rights, the wrong org.
PERSONS = frozenset(
    {
        "LoginRefused",
        "WrongOrg",
        "API_DISABLED_FOR_ORG",
        "API_CURRENTLY_DISABLED",
        "INVALID_AUTH_HEADER",
        "MISSING_SCOPES",
        "NO_UNIQUE_PROPERTY",
        "INVALID_AUTHENTICATION",
    }
)
ASIDE = 150.0  # seconds: two probes of a destination that is blocked for a minute at a time


@dataclass(frozen=True, slots=True)
class Retrying:
    """How long and how often a record is tried."""

    max_attempts: int = 8  # sends that the CRM refused, or did not mention
    retry_for: float = 3 * 86_400.0  # seconds since the first try, outages included


def backoff(attempt: int, dice: float) -> float:
    """Seconds after the `attempt`-th counted attempt: 1, 2, 4 ... 600 s, less up to half by the dice (0 <= dice < 1).

    Records of one batch get the same dice, so that they still travel together when they come back.
    """
    return min(LONGEST, FIRST * 2.0 ** min(max(attempt, 1) - 1, 16)) * (1.0 - dice / 2.0)


def verdicts(
    batch: Batch, answer: Answer, retrying: Retrying, now: datetime, dice: Mapping[int | None, float]
) -> tuple[Verdict, ...]:
    """One verdict per record, in the batch's order. dice: account -> [0, 1); None = those without an account.

    A record that the answer does not mention, or mentions twice with different outcomes, is unknown, never done.
    """
    outcomes: dict[str, Outcome] = {}
    for outcome in answer.outcomes:
        if outcome.key is None:
            continue
        known = outcomes.get(outcome.key)
        contradicts = known is not None and known != outcome
        outcomes[outcome.key] = Unknown(outcome.key, "two different outcomes") if contradicts else outcome
    whole = request_failed(answer)
    return tuple(
        _shadowed(record, answer)
        if record.key in answer.shadow
        else _judge(
            record,
            outcomes.get(record.key) or Unknown(record.key, "the CRM did not mention this record"),
            record_of(record, answer),
            retrying,
            now,
            dice.get(record.account, dice.get(None, 0.0)),
            outage=whole,
        )
        for record in batch.records
    )


def aside(found: tuple[Verdict, ...], failures: int) -> tuple[Verdict, ...]:
    """The verdicts of a request, after `failures` unanswered ones in a row before it.

    A record on which the CRM breaks is the oldest of every probe: alone in an unanswered request, it steps back, so
    that the next probe takes another. In an outage that costs it no more than ASIDE.
    """
    if failures < SURE or len(found) != 1:
        return found
    (verdict,) = found
    if not isinstance(verdict, RetryAt) or verdict.code != UNKNOWN:
        return found
    return (replace(verdict, after=max(verdict.after, ASIDE)),)


def of_the_crm(answer: Answer) -> tuple[Outcome, ...]:
    """The outcomes of what was sent: not those of records that equal the confirmed ones, or could not be made."""
    return tuple(
        outcome
        for outcome in answer.outcomes
        if outcome.key not in answer.same and not (isinstance(outcome, Refused) and outcome.key not in answer.records)
    )


def needs_a_person(answer: Answer) -> bool:
    """Whether only somebody's correction, in the settings or over there, can end what stops the destination."""
    stops = [one for one in answer.outcomes if isinstance(one, Later) and one.scope == "destination"]
    return any(one.code in PERSONS for one in stops)


def request_failed(answer: Answer) -> bool:
    """Whether the request failed as a whole: an outage of the CRM, the way there, or our access; no record's fault."""
    sent = of_the_crm(answer)
    return bool(sent) and all(
        isinstance(outcome, Unknown) or (isinstance(outcome, Later) and outcome.scope == "destination")
        for outcome in sent
    )


def request_heard(answer: Answer) -> bool:
    """Whether the CRM judged a record: it is up."""
    return any(isinstance(outcome, Written | Refused) for outcome in of_the_crm(answer))


def record_of(record: Outgoing, answer: Answer) -> Mapping[str, object]:
    return answer.records.get(record.key, {})


def _shadowed(record: Outgoing, answer: Answer) -> Verdict:
    return Done(record.lead, record.record_id or "", None, record_of(record, answer))


def _judge(
    record: Outgoing,
    outcome: Outcome,
    sent: Mapping[str, object],
    retrying: Retrying,
    now: datetime,
    dice: float,
    *,
    outage: bool,
) -> Verdict:
    match outcome:
        case Written():
            anew = record.record_id is not None and outcome.record_id != record.record_id
            return Done(
                lead=record.lead,
                record_id=outcome.record_id,
                created=outcome.created,
                record=sent,
                anew=anew,
                object_type=outcome.object_type,
                without=outcome.without,
                owner_stands=outcome.owner_stands,
            )
        case Refused():
            return Failed(record.lead, outcome.code, outcome.message, owner_fault=outcome.owner_fault)
        case Later():
            # What is asked of the whole destination is kept by its block, which a person can lift; a time in each row
            # would outlive that.
            own = outcome.scope == "record"
            after = asked(outcome.after) if own else 0.0
            retry = RetryAt(record.lead, after, outcome.code, outcome.message, own)
            if not own:
                return _again(record, retry, retrying, now, None)  # it goes first when the block ends: it is the oldest
        case _:
            retry = RetryAt(record.lead, 0.0, UNKNOWN, outcome.message, not outage)
    return _again(record, retry, retrying, now, dice)


def asked(seconds: float | None) -> float:
    """What a CRM asks for, as a time that can be: not below 0, not beyond a day, and no NaN."""
    return min(seconds, PATIENT) if seconds is not None and seconds > 0.0 else 0.0


def _again(record: Outgoing, retry: RetryAt, retrying: Retrying, now: datetime, dice: float | None) -> Verdict:
    """The retry with its time, or the end of our patience. dice None: it need not step back."""
    if retry.counts and record.attempt >= retrying.max_attempts:
        return Failed(record.lead, retry.code, f"{retry.message} (given up after {record.attempt} attempts)")
    tried = record.first_try_at or now
    if (now - tried).total_seconds() >= retrying.retry_for:
        days = retrying.retry_for / 86_400.0
        return Failed(record.lead, retry.code, f"{retry.message} (given up after {days:g} days of trying)")
    return retry if dice is None else replace(retry, after=max(retry.after, backoff(record.attempt, dice)))
