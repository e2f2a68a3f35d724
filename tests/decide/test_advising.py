"""Lock, queue or batch: the answer follows from the question and from what was measured, and from nothing else."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.decide.advice import Crowd, Measured, Question, Writing, complaints
from fairturn.decide.advising import advise

CROWDS = (
    Crowd("naive", 10, 100, 10, 0, 12, 40.0, 90.0, 250.0),
    Crowd("skip_locked", 10, 100, 10, 0, 2, 25.0, 40.0, 400.0),
    Crowd("skip_locked", 20, 100, 10, 30, 2, 40.0, 60.0, 450.0),
    Crowd("counter", 100, 100, 10, 0, 0, 100.0, 160.0, 900.0),
    Crowd("fairturn", 100, 100, 10, 0, 0, 8.0, 14.0, 9000.0),
)
SYNC = Writing("sync", "salesforce", 1500, 60, 3000, 0.2, 11.0, "bench/results/tail.json")
MEASURED = Measured(CROWDS, (SYNC,), 4000.0, "2 cores")


def says(question, measured=MEASURED):
    found = advise(question, measured)
    return found, " ".join(reason.says for reason in found.reasons)


def test_five_leads_a_day_need_nothing():
    for measured in (MEASURED, Measured()):
        found, why = says(Question(5 / 1440, 10), measured)
        assert found.choice == "keep"
        assert "five leads a day" in why.lower()


def test_leads_that_never_meet_need_nothing_either():
    """100 a day with 40 ms each: 100 x 100/86,400 x 0.04 = 0.005 meetings a day. 1,000 a day meet 14 times a month."""
    assert says(Question(100 / 1440, 10))[0].choice == "keep"
    assert says(Question(1000 / 1440, 10))[0].choice == "lock"


def test_a_light_decision_of_few_at_once_needs_a_lock():
    found, why = says(Question(10, 10, burst=10))
    assert found.choice == "lock"
    assert "more than 10 requests" in why
    assert "20 at once and 10 reps it left 30 of 100 leads without a rep" in why


def test_beyond_the_reps_it_is_one_counted_row_or_a_batch():
    assert says(Question(10, 10, burst=50))[0].choice == "lock"  # 900 a second were measured of it
    assert says(Question(10, 10, burst=50), Measured())[0].choice == "batch"
    assert says(Question(40_000, 10))[0].choice == "batch"  # 667 a second are more than half of 900
    assert says(Question(10, 10, burst=20_000))[0].choice == "batch"  # 22 s of waiting one by one


def test_nothing_outside_is_asked_under_a_lock():
    found, why = says(Question(30, 10, enrichment_seconds=2))
    assert found.choice == "queue"
    assert found.usual == pytest.approx(0.5 * 2.04)
    assert "a pool takes 30 leads a minute" in why
    assert "wait_for" in " ".join(found.fairturn)


def test_more_events_than_calls_need_a_batch():
    question = Question(30, 10, events_per_lead=3, crm="salesforce", crm_calls_per_day=100_000)
    found, why = says(question)
    assert found.choice == "batch"
    assert found.calls["one_per_event"] == 259_200  # two for each of 129,600, as measured
    assert found.calls["fixed_15"] < found.calls["adaptive"] < 100_000
    assert "20 % never arrived" in why


def test_a_limit_that_no_window_keeps_is_told():
    """14,400 leads a day into HubSpot, 100 in a request: 144 calls at the very least."""
    found, why = says(Question(10, 5, events_per_lead=3, crm="hubspot", crm_calls_per_day=143))
    assert found.choice == "batch"
    assert "No way of writing fits into it: 14,400 leads a day fill 144 requests" in why
    assert "No way" not in says(Question(10, 5, events_per_lead=3, crm="hubspot", crm_calls_per_day=144))[1]


def test_more_than_one_worker_was_measured_to_assign_is_told_and_not_worked_off_on_paper():
    several = " ".join(advise(Question(60 * 4001, 10), MEASURED).fairturn)
    assert "4,001 leads a second are more than one worker assigns (4,000 a second" in several
    assert "in about" not in several


def test_a_caller_who_waits_is_answered_and_not_kept_for_enrichment():
    plan = " ".join(advise(Question(30, 10, enrichment_seconds=2, caller_waits=True), MEASURED).fairturn)
    assert 'lane = "sync"' in plan
    assert "not kept waiting" in plan
    assert "wait_for" not in plan


def test_what_was_not_measured_is_not_made_up():
    found, why = says(Question(10, 10, burst=50, crm="hubspot"), Measured())
    assert found.usual is None
    assert len(found.not_measured) == 3
    assert "without a rep" not in why
    assert {reason.source for reason in found.reasons} == {"arithmetic"}


@given(
    st.builds(
        Question,
        st.floats(0.001, 1e6),
        st.integers(1, 10_000),
        st.just(0.0) | st.floats(0.001, 3600),
        st.none() | st.integers(1, 1_000_000),
        st.integers(1, 1000),
        st.none() | st.sampled_from(["salesforce", "hubspot"]),
        st.none() | st.integers(1, 10**9),
        st.booleans(),
    ),
    st.sampled_from([MEASURED, Measured()]),
)
@settings(max_examples=80)
def test_every_question_has_an_answer(question, measured):
    assert not list(complaints(question))
    found, why = says(question, measured)
    assert found.fairturn
    assert found.calls["fixed_15"] <= found.calls["adaptive"]
    assert not re.search(r"\b(nan|inf|None)\b", why)
    if found.choice == "lock":
        assert question.enrichment_seconds == 0


@pytest.mark.parametrize(
    ("question", "option"),
    [
        (Question(0, 10), "--leads-per-minute"),
        (Question(float("nan"), 10), "--leads-per-minute"),
        (Question(1, 0), "--reps"),
        (Question(1, 1, enrichment_seconds=-1), "--enrichment-seconds"),
        (Question(1, 1, burst=0), "--burst"),
        (Question(1, 1, events_per_lead=0), "--events-per-lead"),
        (Question(1, 1, crm_calls_per_day=0), "--crm-calls-per-day"),
    ],
)
def test_senseless_figures_are_told_with_a_remedy(question, option):
    ((named, words),) = complaints(question)
    assert named == option
    assert len(words.split()) > 5
