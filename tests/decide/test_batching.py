"""When changes leave and which leave together; the properties hold for any arrivals and any speed of the CRM."""

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.decide.batching import Departure, Pending, Window, company, in_time, ripe
from fairturn.model import Ripening

T0 = datetime(2026, 3, 2, 10, tzinfo=UTC)
LONG_AGO = T0 - timedelta(days=400)


def at(seconds):
    return T0 + timedelta(seconds=seconds)


def row(lead, first=0.0, *, account=None, priority="normal", due=None):
    return Ripening(lead, at(first), LONG_AGO if due is None else at(due), account, priority)


def waiting(*rows, busy=(), in_flight=0):
    return Pending(T0, tuple(rows), frozenset(busy), in_flight)


def group(account, size, start=0):
    return [row(start + number, account=account) for number in range(size)]


# ---- adaptive ---------------------------------------------------------------------------------------------------


def test_a_quiet_lead_leaves_after_the_linger():
    assert ripe(waiting(row(1)), Window(), at(1.9)) == Departure((), at(2))
    assert ripe(waiting(row(1)), Window(), at(2)) == Departure((1,), None)


def test_everything_pending_leaves_with_the_oldest():
    assert ripe(waiting(row(1), row(2, 1.9), row(3, 1)), Window(), at(2)).leads == (1, 3, 2)


def test_steady_events_do_not_postpone_a_departure_case_65():
    """Case 65: the window opens with the first event and is not re-armed by later ones."""
    window = Window(linger=10)
    assert ripe(waiting(row(1, 0)), window, at(9)).next_at == at(10)
    assert ripe(waiting(row(1, 0)), window, at(10)).leads == (1,)


def test_what_is_ripe_waits_for_those_who_are_asked_about_unless_it_is_full():
    window = Window(company=0.7, max_records=3)
    assert ripe(waiting(row(1), row(2)), window, at(2)) == Departure((), at(2.7))
    assert ripe(waiting(row(1), row(2), row(3)), window, at(2)).leads == (1, 2, 3)
    assert ripe(waiting(row(1), row(2)), replace(window, limits={None: 2}), at(2)).leads == (1, 2)
    assert ripe(waiting(row(1)), Window(company=0.7), at(1)) == Departure((), at(2)), "the window itself stands"
    assert ripe(waiting(row(1)), Window(company=0.7), at(3.5)) == Departure((), at(4)), "at most a linger"
    assert ripe(waiting(row(1)), Window(company=0.7), at(4)).leads == (1,), "however often the hope is renewed"
    assert ripe(waiting(row(1)), replace(window, kind="none"), at(2)).leads == (1,)


def test_what_had_to_wait_for_the_slot_waits_for_company_too_or_all_who_follow_would_miss_it():
    waited = waiting(row(1))
    assert ripe(waited, Window(company=0.4, idle=0.2), at(9)) == Departure((), at(9.4))
    assert ripe(waited, Window(company=9, idle=1.5), at(9)) == Departure((), at(9.5)), "a linger after it was free"
    assert ripe(waited, Window(company=0.4, idle=2), at(9)).leads == (1,)
    tick = Window(kind="fixed", every=15, company=0.4, idle=8)
    assert ripe(waited, tick, at(15)) == Departure((), at(15.4)), "those of the tick come along"
    assert ripe(waited, tick, at(17)).leads == (1,)


@pytest.mark.parametrize(
    ("asked_at", "heard_at", "left_at", "wanted"),
    [
        (None, 0.0, 50.0, 0.0),  # nobody is asked about
        (99.5, 0.0, 50.0, 1.5),  # somebody is: at most until a linger after the question
        (97.0, 0.0, 50.0, 0.0),  # a CRM that takes long over it
        (99.9, 99.95, 50.0, 0.1),  # answered: route has a moment, whoever else is asked about meanwhile
        (99.9, 99.0, 50.0, 0.0),
        (99.9, 49.0, 50.0, 1.9),  # the answer's leads have left
    ],
)
def test_how_long_a_request_waits_for_those_who_are_asked_about(asked_at, heard_at, left_at, wanted):
    assert company(asked_at, heard_at, left_at, 2.0, 100.0) == pytest.approx(wanted)


def test_many_who_were_asked_about_take_longer_to_be_placed():
    assert company(None, 100.0, 50.0, 2.0, 100.0, 120) == pytest.approx(0.15 + 0.24)


@pytest.mark.parametrize(
    ("lands", "wanted"),
    [
        (None, 50.0),  # nothing is out: at once
        (50.5, 50.0),  # the answer will be late anyhow
        (51.0, 50.4),  # so that it is there as the request lands
        (60.0, 50.5),  # at most so long
    ],
)
def test_a_look_up_leaves_in_time_for_the_request_after_the_one_that_is_out(lands, wanted):
    assert in_time(50.0, lands, 0.6, 0.5) == pytest.approx(wanted)


def test_a_second_request_leaves_only_while_more_than_a_full_one_waits():
    window = Window(max_records=3)
    three = [row(number) for number in range(3)]
    assert ripe(waiting(*three, in_flight=1), window, at(5)) == Departure((), at(15))
    assert ripe(waiting(*three, row(9), in_flight=1), window, at(5)).leads == (0, 1, 2)
    assert ripe(waiting(*three, row(9), in_flight=4), window, at(500)) == Departure((), None)


def test_nobody_waits_for_company_longer_than_max_wait_while_a_slot_is_free():
    assert ripe(waiting(row(1), in_flight=1), Window(), at(14.9)).leads == ()
    assert ripe(waiting(row(1), row(2, 14), in_flight=1), Window(), at(15)).leads == (1, 2)


def test_priority_before_age():
    rows = [row(1, -9, priority="bulk"), row(2, -5), row(3, 0, priority="high"), row(4, -6)]
    assert ripe(waiting(*rows), Window(max_records=3), at(2)).leads == (3, 4, 2)


def test_a_retry_waits_for_its_time_and_tells_it():
    assert ripe(waiting(row(1, due=30)), Window(), at(20)) == Departure((), at(30))
    assert ripe(waiting(row(1, due=30), row(2, 19)), Window(), at(20)) == Departure((), at(21))
    assert ripe(waiting(row(1, due=30), row(2, 19)), Window(), at(21)).leads == (2,)


def test_a_budget_that_runs_low_holds_bulk_back_but_not_its_company():
    window = Window(lingers={"bulk": 60})
    assert ripe(waiting(row(1, priority="bulk")), window, at(30)) == Departure((), at(60))
    assert ripe(waiting(row(1, priority="bulk"), row(2, 20)), window, at(30)).leads == (2, 1)


def test_nothing_waits_nothing_leaves():
    assert ripe(waiting(), Window(), at(0)) == Departure((), None)


# ---- grouping ---------------------------------------------------------------------------------------------------


def test_groups_are_kept_whole_where_they_fit_case_79():
    """Case 79: groups of 150, 100, 147 and one of 450."""
    rows = group(1, 150) + group(2, 100, 1000) + group(3, 147, 2000) + group(4, 450, 3000)
    sent = []
    while rows:
        leads = ripe(waiting(*rows), Window(), at(9)).leads
        accounts = [number for number in (1, 2, 3, 4) if any(r.account == number for r in rows if r.lead in set(leads))]
        sent.append((len(leads), accounts))
        rows = [r for r in rows if r.lead not in set(leads)]
    assert sent == [(150, [1]), (100, [2]), (147, [3]), (200, [4]), (200, [4]), (50, [4])]


def test_a_group_too_large_follows_itself_and_never_flies_twice_case_78():
    rows = group(1, 450) + [row(9000 + n) for n in range(10)]
    assert ripe(waiting(*rows), Window(), at(9)).leads == tuple(range(200))
    rest = [r for r in rows if r.lead >= 200]
    assert ripe(waiting(*rest, busy=[1], in_flight=1), Window(), at(9)).leads == ()
    assert ripe(waiting(*rest, busy=[1], in_flight=1), Window(), at(15)).leads == tuple(range(9000, 9010))


def test_leads_without_account_are_groups_of_one_case_80():
    """Case 80: 10,001 leads without account and 20 with; nobody waits behind a key that is none."""
    rows = [row(n) for n in range(10_001)] + group(7, 20, 20_000)
    first = ripe(waiting(*rows), Window(), at(9)).leads
    assert first == tuple(range(200))
    second = ripe(waiting(*[r for r in rows if r.lead >= 200], in_flight=1), Window(), at(9)).leads
    assert second == tuple(range(200, 400))


def test_what_does_not_fit_leaves_its_room_to_others():
    rows = [*group(1, 3), *group(2, 3, 10), row(20), row(21)]
    assert ripe(waiting(*rows), Window(max_records=5), at(9)).leads == (0, 1, 2, 20, 21)


# ---- what an org swallows ------


def of(kind, *rows):
    return [replace(one, object_type=kind) for one in rows]


def test_each_object_has_its_own_limit():
    window = Window(max_records=100, limits={None: 30, "Lead": 30, "Contact": 5})
    rows = [*group(None, 40), *of("Contact", *(row(n) for n in range(100, 110)))]
    leads = ripe(waiting(*rows), window, at(9)).leads
    assert (sum(lead < 100 for lead in leads), sum(lead >= 100 for lead in leads)) == (30, 5)


def test_rows_of_the_own_object_share_its_limit_whether_they_name_it_or_not():
    mixed = [*of("Lead", row(1), row(2)), row(11), row(12)]
    assert len(ripe(waiting(*mixed), Window(limits={None: 3, "Lead": 3}, own="Lead"), at(2)).leads) == 3
    assert len(ripe(waiting(*mixed), Window(limits={None: 4, "Lead": 4}, own="Lead"), at(2)).leads) == 4


def test_a_group_that_the_limits_allow_stays_whole():
    window = Window(limits={None: 10})
    rows = group(1, 6) + group(2, 6, 100) + group(3, 4, 200)
    assert ripe(waiting(*rows), window, at(9)).leads == (*range(6), *range(200, 204))


def test_a_group_of_two_objects_leaves_together_where_both_fit():
    window = Window(limits={None: 3, "Contact": 1})
    firm = [*group(1, 3), *of("Contact", row(50, account=1))]
    assert set(ripe(waiting(*firm), window, at(9)).leads) == {0, 1, 2, 50}
    larger = [*firm, *of("Contact", row(51, account=1))]
    assert set(ripe(waiting(*larger), window, at(9)).leads) == {0, 1, 2, 50}  # 51 follows: the account is busy


def test_a_crowd_is_more_than_the_org_swallows_at_once():
    window = Window(limits={None: 3})
    three = [row(number) for number in range(3)]
    assert ripe(waiting(*three, in_flight=1), window, at(5)).leads == ()
    assert ripe(waiting(*three, row(9), in_flight=1), window, at(5)).leads == (0, 1, 2)


def test_a_limit_is_never_above_the_settings_and_never_nothing():
    window = Window(max_records=2, limits={None: 50, "Contact": 0})
    assert len(ripe(waiting(*group(None, 9)), window, at(9)).leads) == 2
    assert ripe(waiting(*of("Contact", row(1))), window, at(9)).leads == (1,)


# ---- fixed and none ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("now", "leads", "next_at"), [(14.9, (), 15), (15, (1, 2), None)])
def test_fixed_flushes_on_the_clock(now, leads, next_at):
    window = Window(kind="fixed", every=15)
    found = ripe(waiting(row(1, 0.1), row(2, 14)), window, at(now))
    assert found == Departure(leads, None if next_at is None else at(next_at))


def test_fixed_counts_an_event_on_the_tick_to_the_next_one():
    assert ripe(waiting(row(1, 15)), Window(kind="fixed", every=15), at(15)).next_at == at(30)


def test_none_sends_one_by_one_and_at_once():
    window = Window(kind="none")
    assert ripe(waiting(row(1), row(2)), window, at(0)).leads == (1,)
    assert ripe(waiting(row(2), in_flight=3), window, at(0)).leads == (2,)
    assert ripe(waiting(row(2), in_flight=4), window, at(0)).leads == ()
    assert ripe(waiting(row(2, account=5), busy=[5], in_flight=1), window, at(0)).leads == ()


# ---- properties: a whole run, on a clock of our own ----------------------------------------------------------------

ARRIVALS = st.lists(
    st.tuples(
        st.integers(0, 400),  # tenths of a second
        st.sampled_from([None, None, 1, 2, 3]),
        st.sampled_from(["high", "normal", "bulk"]),
    ),
    min_size=1,
    max_size=60,
)


@settings(max_examples=120, deadline=None)
@given(
    ARRIVALS,
    st.sampled_from(["adaptive", "fixed", "none"]),
    st.integers(1, 12),
    st.integers(1, 4),
    st.integers(1, 60),
    st.fixed_dictionaries({None: st.integers(1, 12), "Contact": st.integers(1, 12)}),
)
def test_everything_leaves_once_and_no_account_flies_twice(arrivals, kind, max_records, max_slots, tenths, limits):
    """Random arrivals, sizes and speeds: in = out, each lead once, each account in one request at a time, slots kept,
    and whoever could leave at the latest time the policy names, leaves."""
    window = Window(kind=kind, max_records=max_records, max_slots=max_slots, limits=limits)
    waits = [
        replace(row(n, tick / 10, account=account, priority=p), object_type="Contact" if n % 3 == 2 else None)
        for n, (tick, account, p) in enumerate(arrivals)
    ]
    kinds = {r.lead: r.object_type for r in waits}
    flying: list[tuple[datetime, tuple[int, ...]]] = []
    account_of = {r.lead: r.account for r in waits}
    out: list[int] = []
    now = T0
    for _ in range(20_000):
        flying = [(end, leads) for end, leads in flying if end > now]
        busy = [account_of[lead] for _, leads in flying for lead in leads if account_of[lead] is not None]
        here = [r for r in waits if r.first_event_at <= now and r.lead not in out]
        found = ripe(Pending(now, tuple(here), frozenset(busy), len(flying)), window, now)
        if found.leads:
            assert len(found.leads) <= (1 if kind == "none" else max_records)
            for kind_of, limit in limits.items():
                assert sum(kinds[lead] == kind_of for lead in found.leads) <= limit
            assert len(flying) < max_slots
            assert not {account_of[lead] for lead in found.leads if account_of[lead] is not None} & set(busy)
            assert not set(found.leads) & set(out)
            out += found.leads
            flying.append((now + timedelta(seconds=tenths / 10), found.leads))
            continue
        free = [r for r in here if r.account not in busy]
        if free and len(flying) < max_slots and kind == "adaptive":
            assert max(now - r.first_event_at for r in free) < timedelta(seconds=window.max_wait)
        later = [r.first_event_at for r in waits if r.first_event_at > now] + [end for end, _ in flying]
        later += [found.next_at] if found.next_at else []
        if not later:
            break
        assert min(later) > now  # time moves on: no busy loop
        now = min(later)
    assert sorted(out) == sorted(account_of)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 600), min_size=1, max_size=200), st.integers(1, 30))
def test_departures_are_a_linger_apart_whatever_the_speed(ticks, tenths):
    """What costs a CRM is requests: with room for everything, never two departures within a linger."""
    window = Window(max_wait=1e6)
    times, departures = sorted(set(ticks)), []
    gone: set[int] = set()
    lands = T0
    for now in (at(tick / 10) for tick in range(1200)):
        here = [row(t, t / 10) for t in times if at(t / 10) <= now and t not in gone]
        found = ripe(Pending(now, tuple(here), frozenset(), int(lands > now)), window, now)
        if found.leads:
            gone |= set(found.leads)
            departures.append(now)
            lands = now + timedelta(seconds=tenths / 10)
    assert gone == set(times)
    assert all(b - a >= timedelta(seconds=2) for a, b in itertools.pairwise(departures))
