"""Bursts and days."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.decide.pacing import Bucket, ceiling, lingers, resized, spend, wait_of
from fairturn.model import Rate


def test_a_bucket_lets_a_burst_through_and_then_its_rate():
    bucket = Bucket.full(capacity=3, rate=2, at=100.0)
    waits = []
    for _ in range(5):
        bucket, wait = spend(bucket, 100.0)
        waits.append(wait)
    assert waits == [0, 0, 0, 0.5, 1.0]
    assert wait_of(bucket, 110.0) == 0


@settings(max_examples=100)
@given(st.lists(st.floats(0, 5), max_size=50), st.floats(0.5, 20), st.integers(1, 10))
def test_never_more_than_capacity_and_rate_allow(gaps, rate, capacity):
    bucket, now = Bucket.full(capacity, rate, 0.0), 0.0
    calls = []
    for gap in gaps:
        now += gap
        bucket, wait = spend(bucket, now)
        calls.append(now + wait)
    for first, start in enumerate(calls):
        for last in range(first, len(calls)):
            assert last - first + 1 <= capacity + rate * (calls[last] - start) + 1e-6


def test_the_bucket_is_as_large_as_the_crm_says():
    """HubSpot's ten-second limit: a tenth stays for others, half of ours may leave at once."""
    bucket = resized(Bucket.full(50, 25, 0.0), Rate(100, 10.0, 99), 1.0)
    assert (bucket.capacity, bucket.rate, bucket.tokens) == (45.0, 4.5, 45.0)


def test_what_other_programs_have_used_is_not_ours():
    """Case 114: the limit is the account's; what is left of it says what others took."""
    bucket = resized(Bucket.full(50, 25, 0.0), Rate(100, 10.0, 12), 0.0)
    assert bucket.tokens == 2
    assert wait_of(resized(bucket, Rate(100, 10.0, 0), 0.0), 0.0) > 2
    assert resized(bucket, Rate(100, 10.0, 90), 0.0).tokens == 2  # told late: what we have spent stays spent


@pytest.mark.parametrize("rate", [Rate(0, 10.0), Rate(-5, 10.0), Rate(100, 0.0), Rate(100, float("nan")), Rate(9, 1e9)])
def test_a_limit_that_makes_no_sense_changes_nothing(rate):
    bucket = Bucket.full(50, 25, 0.0)
    assert resized(bucket, rate, 1.0) == bucket


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 300), st.floats(0.5, 60), st.lists(st.floats(0, 3), min_size=1, max_size=120))
def test_no_stretch_of_time_sees_more_than_the_limit(most, seconds, gaps):
    bucket, now, calls = resized(Bucket.full(50, 25, 0.0), Rate(most, seconds), 0.0), 0.0, []
    for gap in gaps:
        now += gap
        bucket, wait = spend(bucket, now)
        calls.append(now + wait)
    for start in calls:
        assert sum(start <= call < start + seconds - 1e-6 for call in calls) <= max(most, 2)


def test_bulk_gives_way_first():
    assert lingers(0, 15_000, 2) == {}
    assert lingers(7_000, 15_000, 2) == {}
    assert set(lingers(9_000, 15_000, 2)) == {"bulk"}
    assert set(lingers(13_000, 15_000, 2)) == {"bulk", "normal"}
    low = lingers(14_900, 15_000, 2)
    assert low["bulk"] > low["normal"] > low["high"] > 2


def test_a_budget_used_up_holds_back_for_an_hour_at_most():
    assert lingers(20_000, 15_000, 2) == {"high": 3600, "normal": 3600, "bulk": 3600}


def test_no_budget_no_brake():
    assert lingers(1_000_000, None, 2) == {}


@given(st.integers(0, 20_000), st.integers(0, 20_000))
def test_the_less_is_left_the_longer_the_wait(one, two):
    less, more = lingers(max(one, two), 15_000, 2), lingers(min(one, two), 15_000, 2)
    assert all(less[priority] >= wait >= 2 for priority, wait in more.items())


def test_too_many_failed_writes_stop_the_destination():
    assert ceiling(499, 500) is None
    reason = ceiling(500, 500)
    assert reason is not None
    assert "max_failed = 500" in reason
