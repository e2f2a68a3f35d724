"""A destination that is down is left alone, longer each time, and tried by one request."""

import pytest

from fairturn.decide.breaker import LONGEST, pause, slots


def test_pauses_grow_to_a_minute_and_no_further():
    assert [pause(failures, 0.0) for failures in range(1, 9)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert pause(10_000, 0.0) == LONGEST


def test_the_dice_take_off_half_at_most():
    assert 30 < pause(20, 0.999) < pause(20, 0.5) < 60


@pytest.mark.parametrize(("asked", "paused"), [(55.0, 55.0), (900.0, 900.0), (0.1, 1.0)])
def test_what_the_crm_asks_for_is_the_least_case_111(asked, paused):
    """Case 111: the limit resets after 55 s; every retry before that would fall in the window that refused."""
    assert pause(1, 0.0, asked) == paused


def test_one_probe_at_a_time():
    assert slots(0, 4) == 4
    assert slots(1, 4) == slots(30, 4) == 1


def test_half_an_hour_of_outage_is_a_handful_of_probes_case_104():
    """Case 104: no stampede while the CRM is down, and within a minute of its return somebody asks."""
    spent, probes = 0.0, 0
    while spent < 1800:
        probes += 1
        spent += pause(probes, 0.5)
    assert probes < 50
