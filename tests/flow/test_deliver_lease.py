"""What a lease allows, and how a window bends under outage and budget."""

from datetime import UTC, datetime, timedelta
from typing import Any

from fairturn.config import Destination
from fairturn.flow.gather import Usage, window_of
from fairturn.flow.lease import Standing
from fairturn.model import Answer, Failed, Unknown, Written
from fairturn.ports import Lease

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)


def standing(**changes):
    given: dict[str, Any] = {"held": True, "now": NOW, "paused": None, "blocked_until": None, "org": None} | changes
    return Standing(Lease(**given), at=100.0, seconds=10.0)


def test_a_lease_is_trusted_for_less_than_it_lasts():
    """After a SIGSTOP the monotonic clock has gone on: nothing is taken on the strength of the old lease."""
    assert standing().usable(107.9)
    assert not standing().usable(108.0)
    assert not standing(held=False).usable(100.0)


def test_a_block_is_counted_down_on_our_own_clock():
    blocked = standing(blocked_until=NOW + timedelta(seconds=30))
    assert blocked.blocked(100.0) == 30
    assert blocked.blocked(110.0) == 20
    assert blocked.blocked(999.0) == 0
    assert standing().blocked(100.0) == 0


def test_blocks_do_not_shorten_one_another():
    long = standing(blocked_until=NOW + timedelta(seconds=900))
    assert long.blocked_for(100.0, 1.0).blocked(100.0) == 900
    assert standing().blocked_for(100.0, 4.0).blocked(101.0) == 3
    assert standing().blocked_for(100.0, 4.0).lease.failures == 1


def test_counts_go_on_between_two_leases():
    answer = Answer((Unknown("a", "?"), Written("b", "B")), {"b": {}}, calls=2)
    after = standing(failures=3, failed_hour=5, calls_day=7).after(answer, (Failed(1, "BAD", "no"),))
    assert (after.lease.failures, after.lease.failed_hour, after.lease.calls_day) == (0, 6, 9)
    lost = standing(failures=3).after(Answer((Unknown("a", "?"),)), ())
    assert lost.lease.failures == 3


def test_what_was_never_sent_says_nothing_about_the_crm():
    same = Answer((Written("a", "A"),), calls=0, same=frozenset({"a"}))
    assert standing(failures=3).after(same, ()).lease.failures == 3


def test_while_it_fails_one_request_at_a_time_and_smaller_ones():
    settings = Destination(type="console")
    sizes = [
        (w.max_slots, w.max_records) for w in (window_of(settings, failures, ()) for failures in (0, 1, 2, 3, 5, 99))
    ]
    assert sizes == [(4, 200), (1, 200), (1, 200), (1, 100), (1, 25), (1, 1)]


def test_of_two_budgets_the_tighter_counts():
    settings = Destination(type="console")
    window = window_of(settings, 0, (Usage(990, 1000), Usage(0, 100_000), Usage(5, None)))
    assert window.linger_of("bulk") > window.linger_of("normal") > window.linger_of("high") > 2
    assert window_of(settings, 0, (Usage(), Usage(10, 100_000))).lingers == {}
