"""Fields add up to the same lead in whatever order events come. Cases 67, 68 and 75."""

from datetime import UTC, datetime, timedelta
from functools import reduce

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.decide.collapsing import differs
from fairturn.decide.mapping import Mapped
from fairturn.decide.merging import combine, dump, event_of, incoming, load, merge, plain
from fairturn.model import Fields, FieldState, FieldValue

T0 = datetime(2026, 3, 2, 10, tzinfo=UTC)


def said(minute: float, event: int, *, rank: int = 0, serial: int = 0, **values: FieldValue) -> dict[str, FieldState]:
    """What an event says; None = erased."""
    mapped = Mapped(
        values={name: value for name, value in values.items() if value is not None},
        cleared=frozenset(name for name, value in values.items() if value is None),
        ids={},
        occurred_at=T0 + timedelta(minutes=minute),
    )
    return incoming(mapped, event.to_bytes(16, "big"), rank, serial)


def lead(*events: dict[str, FieldState]) -> Fields:
    return reduce(merge, events, {})


def test_case_67_a_late_event_fills_what_is_missing_and_overwrites_nothing():
    newer, older = said(2, 1, status="verified"), said(0, 2, status="required", city="Oslo")
    assert plain(lead(newer, older)) == {"status": "verified", "city": "Oslo"}


def test_case_68_within_one_second_the_journal_decides():
    a, b = said(0, 9, serial=7, company="A"), said(0, 1, serial=8, company="B")
    assert plain(lead(a, b)) == plain(lead(b, a)) == {"company": "B"}
    assert event_of(lead(a, b)["company"]) == (1).to_bytes(16, "big")


def test_a_trusted_source_wins_a_tie_and_only_a_tie():
    form, enrichment = said(0, 2, rank=0, company="acme"), said(0, 1, rank=5, company="Acme Inc.")
    assert plain(lead(enrichment, form)) == {"company": "Acme Inc."}
    assert plain(lead(enrichment, said(1, 3, company="ACME"))) == {"company": "ACME"}


def test_case_75_cleared_then_set_then_missing():
    null, number, silent = said(0, 1, phone=None), said(1, 2, phone="+1 666"), said(2, 3, score=1.0)
    assert plain(lead(null, number)) == {"phone": "+1 666"}
    assert plain(lead(number, silent))["phone"] == "+1 666"
    assert plain(lead(number, said(3, 4, phone=None))) == {}


def test_an_event_read_again_replaces_what_it_said():
    assert plain(lead(said(0, 1, company="wrong column"), said(0, 1, company="Acme"))) == {"company": "Acme"}


@pytest.mark.parametrize(
    ("given_", "first", "last"),
    [
        ({"full_name": "Anna van der Berg"}, "Anna van der", "Berg"),
        ({"full_name": "van der Berg, Anna"}, "Anna", "van der Berg"),
        ({"full_name": "Cher"}, None, "Cher"),
        ({"full_name": "李小龙"}, None, "李小龙"),
        ({"full_name": ","}, None, ","),
        ({"full_name": "Anna Berg", "first_name": "Anna"}, "Anna", "Berg"),
        ({"full_name": "Anna Berg", "last_name": "van der Berg"}, None, "van der Berg"),
        ({"full_name": "Anna Berg", "first_name": "Ann", "last_name": "B"}, "Ann", "B"),
        ({"full_name": "Anna", "first_name": "Anna"}, "Anna", None),
    ],
)
def test_names_out_of_a_full_name_never_against_a_name_that_was_given(given_, first, last):
    values = plain(lead(said(0, 1, **given_)))
    assert (values.get("first_name"), values.get("last_name")) == (first, last)


def test_a_later_full_name_does_not_undo_a_given_last_name():
    values = plain(lead(said(0, 1, last_name="van der Berg"), said(1, 2, full_name="Anna van der Berg")))
    assert values["last_name"] == "van der Berg"


VALUES = (
    st.none()
    | st.text(max_size=4)
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
)


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, FieldState]]:
    """Events of one lead; each id speaks once, many at the same moment and of the same rank."""
    count = draw(st.integers(1, 7))
    names = st.dictionaries(st.sampled_from(["email", "company", "score"]), VALUES)
    return [
        said(draw(st.integers(0, 2)), event, rank=draw(st.integers(0, 1)), serial=draw(st.sampled_from([0, event + 1])),
             **draw(names))
        for event in range(count)
    ]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_order_any_grouping_any_repetition_gives_the_same_lead(data):
    events = data.draw(histories())
    expected = lead(*events)
    shuffled = data.draw(st.permutations(events + data.draw(st.lists(st.sampled_from(events), max_size=3))))
    assert lead(*shuffled) == expected
    cut = data.draw(st.integers(0, len(shuffled)))
    assert combine(lead(*shuffled[:cut]), lead(*shuffled[cut:])) == expected
    assert combine(lead(*shuffled[cut:]), lead(*shuffled[:cut])) == expected
    assert load(orjson.loads(orjson.dumps(dump(expected)))) == expected


def test_neither_side_of_a_merge_is_changed():
    before, event = lead(said(0, 1, company="A")), said(1, 2, company="B")
    merge(before, event)
    assert (before["company"].value, event["company"].value) == ("A", "B")


def test_a_stored_row_that_is_none_of_ours_is_named():
    with pytest.raises(ValueError, match="'company'"):
        load({"company": ["A", "yesterday", 0, "e"]})


@pytest.mark.parametrize(
    ("record", "confirmed", "expected"),
    [
        ({"Email": "Ann@x.com"}, {"Email": "ann@x.com"}, False),  # case 71: the CRM answers in lower case
        ({"Score": 7}, {"Score": 7.0, "Id": "1"}, False),
        ({"Phone": None}, {"Phone": ""}, False),
        ({"Phone": None}, {}, False),
        ({"Phone": None}, {"Phone": "1"}, True),
        ({"Flag": True}, {"Flag": 1}, True),
        ({"Score": "7"}, {"Score": 7}, True),
        ({"Company": "acme"}, {"Company": "Acme"}, True),
        ({"Company": "acme"}, None, True),
    ],
)
def test_what_counts_as_news_to_a_crm(record, confirmed, expected):
    assert differs(record, confirmed) is expected
