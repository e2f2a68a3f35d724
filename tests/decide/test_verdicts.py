"""One verdict for each record, whatever the answer holds."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.decide.breaker import pause, probe
from fairturn.decide.verdicts import Retrying, aside, backoff, request_failed, verdicts
from fairturn.model import Answer, Batch, Done, Failed, Later, Outgoing, Refused, RetryAt, Unknown, Written

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
DICE = {None: 0.0}


def outgoing(lead, *, attempt=1, tried=NOW, account=None):
    return Outgoing(lead, 1, attempt, f"ft-{lead}", None, {}, None, "raw", account, None, NOW, None, first_try_at=tried)


def judge(answer, *records, retrying=Retrying(), dice=DICE):  # noqa: B008 (frozen)
    return verdicts(Batch(1, "crm", records or (outgoing(1),), NOW), answer, retrying, NOW, dice)


def test_written_is_done_with_the_record_as_sent():
    answer = Answer((Written("ft-1", "00Q1", created=True),), {"ft-1": {"City": "Kiel"}})
    assert judge(answer) == (Done(1, "00Q1", True, {"City": "Kiel"}),)


def test_what_was_left_out_of_a_write_goes_with_it():
    said = Written("ft-1", "003A", False, "Contact", {"Rating": "not an option"}, "005BOB")
    (verdict,) = judge(Answer((said,), {"ft-1": {"City": "Kiel"}}))
    assert verdict == Done(1, "003A", False, {"City": "Kiel"}, False, "Contact", {"Rating": "not an option"}, "005BOB")


def test_refused_is_failed_in_the_words_of_the_crm():
    answer = Answer((Refused("ft-1", "INACTIVE_OWNER_OR_USER", "inactive user [005]", owner_fault=True),))
    assert judge(answer) == (Failed(1, "INACTIVE_OWNER_OR_USER", "inactive user [005]", owner_fault=True),)


def test_matched_by_key_not_by_place_case_86():
    """Case 86: any order; and the one that is not mentioned is unknown, not done."""
    answer = Answer((Written("ft-3", "C"), Written("ft-1", "A")))
    first, second, third = judge(answer, outgoing(1), outgoing(2), outgoing(3))
    assert (first.record_id, third.record_id) == ("A", "C")
    assert isinstance(second, RetryAt)
    assert second.counts  # the request as a whole did not fail: this one record is odd


def test_silence_is_never_success():
    (verdict,) = judge(Answer(()))
    assert isinstance(verdict, RetryAt)


def test_two_answers_for_one_record_are_none():
    answer = Answer((Written("ft-1", "A"), Refused("ft-1", "BAD", "no"), Written("ft-2", "B")))
    first, second = judge(answer, outgoing(1), outgoing(2))
    assert isinstance(first, RetryAt)
    assert isinstance(second, Done)


def test_a_lost_answer_uses_up_no_attempt_case_104():
    """Case 104: 503, no connection, no answer: the outage is nobody's fault, and age alone ends it."""
    records = [outgoing(number, attempt=8) for number in (1, 2)]
    lost = judge(Answer((Unknown("ft-1", "timed out"), Unknown("ft-2", "timed out"))), *records)
    down = judge(Answer(tuple(Later(r.key, None, "destination", "503", "down") for r in records)), *records)
    assert [verdict.counts for verdict in (*lost, *down)] == [False] * 4


def test_an_outage_ends_with_retry_for():
    old = outgoing(1, tried=NOW - timedelta(days=3))
    (verdict,) = judge(Answer((Later("ft-1", None, "destination", "503", "down"),)), old)
    assert verdict == Failed(1, "503", "down (given up after 3 days of trying)")


def test_a_limit_of_three_is_three_sends_case_105():
    """Case 105: exactly three sends, then the list of failed writes."""
    sends, attempt = 0, 1
    while True:
        sends += 1
        answer = Answer((Later("ft-1", None, "record", "INSUFFICIENT_ACCESS", "no"),))
        (verdict,) = judge(answer, outgoing(1, attempt=attempt), retrying=Retrying(max_attempts=3))
        if isinstance(verdict, Failed):
            break
        assert isinstance(verdict, RetryAt)
        attempt += verdict.counts
    assert sends == 3
    assert "3 attempts" in verdict.message


def test_one_row_lost_of_many_does_count():
    answer = Answer((Written("ft-1", "A"), Unknown("ft-2", "no id in its row")))
    _, second = judge(answer, outgoing(1), outgoing(2, attempt=8))
    assert isinstance(second, Failed)


def test_what_was_asked_for_is_waited_for_case_111():
    """Case 111: by the record if it is the record's own; by the destination's block (test_breaker) if it is for all."""
    (verdict,) = judge(Answer((Later("ft-1", 55, "record", "LOCK", "busy"),)))
    assert isinstance(verdict, RetryAt)
    assert verdict.after == 55
    (verdict,) = judge(Answer((Later("ft-1", 55, "destination", "429", "slow down"),)))
    assert isinstance(verdict, RetryAt)
    assert verdict.after == 0  # it is the oldest, and goes first when the block ends


def test_records_of_one_account_come_back_together():
    answer = Answer(tuple(Later(f"ft-{n}", None, "record", "UNABLE_TO_LOCK_ROW", "busy") for n in (1, 2, 3)))
    records = (outgoing(1, account=7), outgoing(2, account=7), outgoing(3, account=8))
    first, second, third = judge(answer, *records, dice={7: 0.2, 8: 0.9, None: 0.0})
    assert first.after == second.after != third.after


def test_shadow_is_done_without_an_outcome():
    answer = Answer((), {"ft-1": {"City": "Kiel"}}, shadow=frozenset({"ft-1"}))
    assert judge(answer) == (Done(1, "", None, {"City": "Kiel"}),)


@pytest.mark.parametrize(
    ("outcomes", "failed"),
    [
        ((), False),
        ((Unknown("a", ""), Unknown("b", "")), True),
        ((Unknown("a", ""), Later("b", None, "destination", "503", "")), True),
        ((Unknown("a", ""), Written("b", "B")), False),
        ((Later("a", None, "record", "UNABLE_TO_LOCK_ROW", ""),), False),
        ((Refused("a", "OWNER_WITHOUT_ID", "decided here"), Unknown("b", "")), True),
        ((Refused("sent", "BAD", "decided there"), Unknown("b", "")), False),
    ],
)
def test_when_a_request_failed_as_a_whole(outcomes, failed):
    assert request_failed(Answer(outcomes, {"sent": {}})) is failed


def test_a_record_on_which_the_crm_breaks_does_not_starve_the_others_case_106():
    """Case 106: the oldest of 300 never gets an answer, and takes every request that it is in with it. The others are
    there within ten minutes all the same.
    """
    due = dict.fromkeys(range(300), 0.0)
    now, failures = 0.0, 0
    while len(due) > 1:
        assert now < 600
        sent = [lead for lead in due if due[lead] <= now][: probe(failures, 200)]
        if 0 not in sent:
            due = {lead: at for lead, at in due.items() if lead not in sent}
            failures = 0
            continue
        answer = Answer(tuple(Unknown(f"ft-{lead}", "no answer") for lead in sent))
        found = aside(judge(answer, *map(outgoing, sent)), failures)
        due |= {verdict.lead: now + verdict.after for verdict in found if isinstance(verdict, RetryAt)}
        failures += 1
        now += pause(failures, 0.0)
    assert list(due) == [0]


def test_nobody_steps_back_where_the_crm_has_answered_lately():
    lost = judge(Answer((Unknown("ft-1", "no answer"),)))
    assert aside(lost, 5) == lost
    (back,) = aside(lost, 6)
    assert isinstance(back, RetryAt)
    assert back.after == 150
    busy = judge(Answer((Later("ft-1", None, "destination", "503", "down"),)))
    assert aside(busy, 99) == busy


def test_backoff_grows_to_ten_minutes():
    assert [backoff(attempt, 0) for attempt in (1, 2, 3, 10, 11, 99)] == [1, 2, 4, 512, 600, 600]
    assert backoff(3, 0.999) > 2


KEYS = st.sampled_from(["ft-1", "ft-2", "ft-3", "ft-99"])
OUTCOMES = st.lists(
    st.one_of(
        st.builds(Written, KEYS, st.just("00Q")),
        st.builds(Refused, KEYS, st.just("BAD"), st.just("no")),
        st.builds(Later, KEYS, st.none(), st.sampled_from(["record", "destination"]), st.just("X"), st.just("x")),
        st.builds(Unknown, KEYS, st.just("?")),
    ),
    max_size=6,
)


@settings(max_examples=150)
@given(OUTCOMES, st.integers(1, 9))
def test_in_is_out_case_100(outcomes, attempt):
    """Case 100: exactly one verdict per record, in order; done only where the answer says written and nothing else."""
    records = tuple(outgoing(number, attempt=attempt) for number in (1, 2, 3))
    found = judge(Answer(tuple(outcomes)), *records)
    assert [verdict.lead for verdict in found] == [1, 2, 3]
    for record, verdict in zip(records, found, strict=True):
        said = [outcome for outcome in outcomes if outcome.key == record.key]
        if isinstance(verdict, Done):
            assert said
            assert all(outcome == Written(record.key, "00Q") for outcome in said)
