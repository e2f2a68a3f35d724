"""How many records a request may carry is learnt, and kept within what the API takes and what the org swallows."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.decide.sizing import FORGET, SMALL, Size, after, learnt, start
from fairturn.model import Load

Sizes = dict[str, Size]


def load(records, *, seconds=0.5, broke=False, kind="Lead"):
    return Load(kind, records, seconds, broke)


def divided(records, swallows, poison=frozenset(), first=0):
    """The requests that a bisecting destination makes of `records`, depth first."""
    mine = range(first, first + records)
    if records > swallows or any(one in poison for one in mine):
        yield load(records, broke=True)
        if records > 1:
            yield from divided(records // 2, swallows, poison, first)
            yield from divided(records - records // 2, swallows, poison, first + records // 2)
        return
    yield load(records)


def worked(sizes, swallows, *, waiting=200, most=200, now=0.0, poison=frozenset()):
    """The sizes after one request as large as they allow; and the requests it took."""
    records = min(waiting, sizes.get("Lead", start(most)).records)
    loads = tuple(divided(records, swallows, poison))
    return learnt(sizes, loads, most, now), loads


def test_it_starts_at_fifty_and_doubles_after_clean_full_requests():
    sizes: Sizes = {}
    seen = []
    for _ in range(4):
        sizes, loads = worked(sizes, 999)
        seen.append(loads[0].records)
    assert seen == [50, 100, 200, 200]


def test_a_request_that_was_not_full_proves_nothing():
    assert after(Size(50), load(49), 200, 0.0) == Size(50)


def test_every_object_has_its_own():
    sizes = learnt({}, (load(50), load(50, broke=True, kind="Contact")), 200, 7.0)
    assert sizes == {"Lead": Size(100), "Contact": Size(25, 50, 7.0)}


def test_automation_that_breaks_above_twenty():
    """Found in a few requests, and then no request breaks any more."""
    sizes: Sizes = {}
    broken = 0
    for _ in range(12):
        sizes, loads = worked(sizes, 20)
        broken = sum(one.overloaded for one in loads)
    assert (sizes["Lead"].records, sizes["Lead"].broke, broken) == (20, 21, 0)


def test_one_record_that_breaks_its_company_makes_nobody_small():
    sizes, _ = worked({}, 999, poison={49})
    assert sizes["Lead"].records >= 25
    for _ in range(3):
        sizes, _ = worked(sizes, 999)
    assert sizes["Lead"].records > 40


def test_a_record_that_fails_alone_says_nothing_of_sizes():
    assert after(Size(100), load(1, broke=True), 200, 0.0) == Size(100)


def test_slow_requests_become_smaller_but_never_tiny_and_do_not_swing():
    """A request of n records takes n / 5 seconds here: 25 records is what five seconds allow."""
    size, seen = Size(50), []
    for _ in range(12):
        size = after(size, load(size.records, seconds=size.records / 5), 200, 0.0)
        seen.append(size.records)
    assert seen[-6:] == [25] * 6
    for _ in range(12):
        size = after(size, load(size.records, seconds=60), 200, 0.0)
    assert size.records == SMALL
    assert after(Size(100), load(3, seconds=11), 200, 0.0) == Size(100)  # a lock that three records waited for


def test_a_size_of_other_settings_is_cut_to_what_is_allowed_now():
    assert after(Size(200), load(40), 100, 0.0).records == 100
    assert start(20).records == 20


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 250), st.floats(0, 90), st.booleans(), st.floats(0, 9_000)), max_size=25),
    st.integers(1, 200),
)
def test_never_above_what_the_api_takes_and_never_below_one(history, most):
    sizes: Sizes = {}
    now = 0.0
    for records, seconds, broke, later in history:
        now += later
        sizes = learnt(sizes, (load(records, seconds=seconds, broke=broke),), most, now)
        assert 1 <= sizes["Lead"].records <= most


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 250), st.sampled_from([10, 100, 200]), st.randoms(use_true_random=False))
def test_it_settles_just_below_where_it_breaks_and_recovers_when_that_is_mended(swallows, most, dice):
    sizes: Sizes = {}
    now, broken = 0.0, []
    for _ in range(40):
        now += dice.uniform(0, 30)
        sizes, loads = worked(sizes, swallows, most=most, now=now)
        broken.append(any(one.overloaded for one in loads))
    best = min(swallows, most)
    assert sizes["Lead"].records == best
    assert not any(broken[24:])  # of all 750 pairs the slowest (200, 114 or 153) breaks last at its 24th answer
    now += FORGET + 1
    for _ in range(9):
        sizes, loads = worked(sizes, 999, most=most, now=now)
        assert not any(one.overloaded for one in loads)
    assert sizes["Lead"].records == most


@given(st.integers(1, 200), st.integers(2, 60), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_the_order_in_which_requests_are_told_does_not_matter(records, swallows, dice):
    loads = list(divided(records, swallows))
    shuffled = dice.sample(loads, len(loads))
    assert learnt({}, loads, 200, 0.0) == learnt({}, shuffled, 200, 0.0)
