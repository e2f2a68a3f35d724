"""What becomes of a record by what the CRM said of it: from the outcome to the verdict, for every row of the tables.

The half before it, from a vendor's response to the outcome, is tested beside each vendor's decoder
(tests/destinations/test_*_fates.py).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.decide.verdicts import Retrying, needs_a_person, request_failed, request_heard, verdicts
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

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
RECORD = Outgoing(1, 1, 1, "k", None, {}, "ann", "rep", None, None, NOW, None, first_try_at=NOW)
OTHER = replace(RECORD, lead=2, key="other")
RETRYING = Retrying(max_attempts=3, retry_for=86_400.0)

# done: written. failed: in the list, with the CRM's words. owner: the same, and the rep is paused and the lead goes to
# somebody else. retry: again, counted. patient: again, uncounted, since it is nobody's fault.
Fate = Literal["done", "failed", "owner", "retry", "patient"]


def written(**more: object) -> Written:
    return Written("k", "00Q1", **more)  # type: ignore[arg-type]  # the fields of a frozen noun, by name


def refused(code: str, **more: object) -> Refused:
    return Refused("k", code, f"words of {code}", **more)  # type: ignore[arg-type]  # as above


def later(code: str, after: float | None = None, scope: Literal["record", "destination"] = "record") -> Later:
    return Later("k", after, scope, code, f"words of {code}")


UNSURE = Unknown("k", "no answer")

SALESFORCE: list[tuple[str, Outcome, Fate]] = [
    ("UNABLE_TO_LOCK_ROW", later("UNABLE_TO_LOCK_ROW"), "retry"),
    ("CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY with a lock in it", later("UNABLE_TO_LOCK_ROW"), "retry"),
    ("CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", refused("CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY"), "failed"),
    ("REQUEST_LIMIT_EXCEEDED ConcurrentRequests", later("REQUEST_LIMIT_EXCEEDED", 5.0, "destination"), "patient"),
    ("REQUEST_LIMIT_EXCEEDED TotalRequests", later("REQUEST_LIMIT_EXCEEDED", 900.0, "destination"), "patient"),
    ("SERVER_UNAVAILABLE, 503", later("SERVER_UNAVAILABLE", None, "destination"), "patient"),
    ("500 UNKNOWN_EXCEPTION, 502, 504, HTML", UNSURE, "patient"),
    ("INVALID_SESSION_ID, after one renewal", later("INVALID_SESSION_ID", None, "destination"), "patient"),
    ("INVALID_AUTH_HEADER", later("INVALID_AUTH_HEADER", 300.0, "destination"), "patient"),
    ("DUPLICATE_VALUE of two upserts that race", later("DUPLICATE_VALUE"), "retry"),
    ("DUPLICATE_VALUE of another unique field", refused("DUPLICATE_VALUE"), "failed"),
    ("DUPLICATE_VALUE Duplicate external id specified", later("DUPLICATE_VALUE"), "retry"),
    ("ALL_OR_NONE_OPERATION_ROLLED_BACK", later("ALL_OR_NONE_OPERATION_ROLLED_BACK"), "retry"),
    ("PROCESSING_HALTED", later("PROCESSING_HALTED"), "retry"),
    ("REQUIRED_FIELD_MISSING", refused("REQUIRED_FIELD_MISSING"), "failed"),
    ("INVALID_EMAIL_ADDRESS", refused("INVALID_EMAIL_ADDRESS", fields=("Email",)), "failed"),
    ("STRING_TOO_LONG, sent without the field", written(without={"City": "too long"}), "done"),
    ("INVALID_FIELD, sent without the field", written(without={"Nope__c": "No such column"}), "done"),
    ("INVALID_FIELD_FOR_INSERT_UPDATE, sent without it", written(without={"Score__c": "check security"}), "done"),
    ("a bad picklist value, sent without the field", written(without={"Rating": "bad value"}), "done"),
    ("FIELD_CUSTOM_VALIDATION_EXCEPTION", refused("FIELD_CUSTOM_VALIDATION_EXCEPTION"), "failed"),
    ("DUPLICATES_DETECTED", refused("DUPLICATES_DETECTED"), "failed"),
    ("DUPLICATE_EXTERNAL_ID, 300", refused("DUPLICATE_EXTERNAL_ID"), "failed"),
    ("INACTIVE_OWNER_OR_USER", refused("INACTIVE_OWNER_OR_USER", owner_fault=True), "owner"),
    ("INVALID_CROSS_REFERENCE_KEY of the owner", refused("INVALID_CROSS_REFERENCE_KEY", owner_fault=True), "owner"),
    ("CANNOT_UPDATE_CONVERTED_LEAD, its Contact written", written(object_type="Contact"), "done"),
    ("CANNOT_UPDATE_CONVERTED_LEAD, no Contact", refused("CANNOT_UPDATE_CONVERTED_LEAD"), "failed"),
    ("ENTITY_IS_DELETED", refused("ENTITY_IS_DELETED"), "failed"),
    ("STORAGE_LIMIT_EXCEEDED", later("STORAGE_LIMIT_EXCEEDED", 300.0, "destination"), "patient"),
    ("API_DISABLED_FOR_ORG", later("API_DISABLED_FOR_ORG", 300.0, "destination"), "patient"),
    ("INSUFFICIENT_ACCESS_OR_READONLY", refused("INSUFFICIENT_ACCESS_OR_READONLY"), "failed"),
    ("an automation limit, failed alone", refused("CANNOT_EXECUTE_FLOW_TRIGGER"), "failed"),
    ("somebody else's owner stands", written(owner_stands="005BOB"), "done"),
]
HUBSPOT: list[tuple[str, Outcome, Fate]] = [
    ("429 TEN_SECONDLY_ROLLING", later("TEN_SECONDLY_ROLLING", 10.0, "destination"), "patient"),
    ("429 secondly", later("RATE_LIMITS", 1.0, "destination"), "patient"),
    ("429 DAILY", later("DAILY", 3_600.0, "destination"), "patient"),
    ("423 Locked", later("LOCKED", 2.0), "retry"),
    ("477 migration", later("MIGRATION", 86_400.0, "destination"), "patient"),
    ("500, 502, 503, 504, 521 to 524, HTML", UNSURE, "patient"),
    ("401 EXPIRED_AUTHENTICATION, after one renewal", later("EXPIRED_AUTHENTICATION", None, "destination"), "patient"),
    ("403 MISSING_SCOPES", later("MISSING_SCOPES", 300.0, "destination"), "patient"),
    ("400 VALIDATION_ERROR of a record", refused("VALIDATION_ERROR"), "failed"),
    ("INVALID_EMAIL", refused("INVALID_EMAIL", fields=("email",)), "failed"),
    ("INVALID_OPTION, sent without the property", written(without={"rating": "not an option"}), "done"),
    ("PROPERTY_DOESNT_EXIST, sent without it", written(without={"nope": "does not exist"}), "done"),
    ("409 CONFLICT, turned into an update", written(created=False), "done"),
    ("OBJECT_NOT_FOUND", refused("OBJECT_NOT_FOUND"), "failed"),
    ("an unknown owner", refused("INVALID_OWNER", owner_fault=True), "owner"),
    ("207, with its error", refused("VALIDATION_ERROR"), "failed"),
]


def judge(outcome: Outcome, record: Outgoing = RECORD, *, beside: Outcome | None = None) -> Verdict:
    """Of this record; `beside` is what was said of another in the same request."""
    outcomes = (outcome,) if beside is None else (outcome, beside)
    batch = Batch(1, "crm", (record,) if beside is None else (record, OTHER), NOW)
    answer = Answer(outcomes, {"k": {"City": "Kiel"}, "other": {}})
    return verdicts(batch, answer, RETRYING, NOW, {None: 0.0})[0]


def fate(verdict: Verdict) -> Fate:
    match verdict:
        case Done():
            return "done"
        case Failed():
            return "owner" if verdict.owner_fault else "failed"
        case RetryAt():
            return "retry" if verdict.counts else "patient"


@pytest.mark.parametrize(("said", "outcome", "expected"), SALESFORCE, ids=[row[0] for row in SALESFORCE])
def test_what_salesforce_says(said: str, outcome: Outcome, expected: Fate) -> None:
    assert fate(judge(outcome)) == expected


@pytest.mark.parametrize(("said", "outcome", "expected"), HUBSPOT, ids=[row[0] for row in HUBSPOT])
def test_what_hubspot_says(said: str, outcome: Outcome, expected: Fate) -> None:
    assert fate(judge(outcome)) == expected


@pytest.mark.parametrize(("said", "outcome", "expected"), SALESFORCE + HUBSPOT)
def test_one_record_changes_nothing_for_another(said: str, outcome: Outcome, expected: Fate) -> None:
    """But an answer that came says that a record it did not mention is odd by itself: that is counted."""
    neighbour = Written("other", "00Q2")
    found = fate(judge(outcome, beside=neighbour))
    assert found == ("retry" if outcome == UNSURE else expected)
    batch = Batch(1, "crm", (RECORD, OTHER), NOW)
    answer = Answer((outcome, neighbour), {"k": {}, "other": {}})
    assert fate(verdicts(batch, answer, RETRYING, NOW, {})[1]) == "done"


@pytest.mark.parametrize(("said", "outcome", "expected"), SALESFORCE + HUBSPOT)
def test_the_words_of_the_crm_are_kept(said: str, outcome: Outcome, expected: Fate) -> None:
    verdict = judge(outcome)
    if isinstance(outcome, Refused | Later):
        assert isinstance(verdict, Failed | RetryAt)
        assert (verdict.code, verdict.message) == (outcome.code, outcome.message)


@pytest.mark.parametrize(("said", "outcome", "expected"), SALESFORCE + HUBSPOT)
def test_patience_ends(said: str, outcome: Outcome, expected: Fate) -> None:
    """What is counted ends with its attempts, an outage with retry_for; each stands in the list then."""
    tried = replace(RECORD, attempt=3)
    assert fate(judge(outcome, tried)) == ("failed" if expected == "retry" else expected)
    old = replace(RECORD, first_try_at=NOW - timedelta(days=2))
    assert fate(judge(outcome, old)) == ("failed" if expected in ("retry", "patient") else expected)


def test_which_stops_wait_for_a_person() -> None:
    stops = {said: outcome for said, outcome, _ in SALESFORCE + HUBSPOT if needs_a_person(Answer((outcome,)))}
    assert set(stops) == {"API_DISABLED_FOR_ORG", "403 MISSING_SCOPES", "INVALID_AUTH_HEADER"}
    assert needs_a_person(Answer((later("LoginRefused", 300.0, "destination"),)))
    assert needs_a_person(Answer((later("WrongOrg", 300.0, "destination"),)))


OUTCOMES = st.one_of(
    st.sampled_from([outcome for _, outcome, _ in SALESFORCE + HUBSPOT]),
    st.builds(Unknown, st.sampled_from(["k", "other", "stranger"]), st.text(max_size=5)),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(OUTCOMES, max_size=5), st.integers(1, 4), st.booleans())
def test_unknown_is_never_success(outcomes: list[Outcome], attempt: int, known: bool) -> None:
    """Done only where every word about the record is the same Written; whatever else is in the answer."""
    record = replace(RECORD, attempt=attempt, record_id="00Q1" if known else None)
    answer = Answer(tuple(outcomes), {"k": {}})
    (verdict,) = verdicts(Batch(1, "crm", (record,), NOW), answer, RETRYING, NOW, {})
    mine = [outcome for outcome in outcomes if outcome.key == "k"]
    if isinstance(verdict, Done):
        assert mine
        assert all(isinstance(outcome, Written) and outcome == mine[0] for outcome in mine)
    if not any(isinstance(outcome, Written | Refused) for outcome in outcomes):
        assert not request_heard(answer)
    if outcomes and all(isinstance(outcome, Unknown) for outcome in outcomes):
        assert request_failed(answer)
