"""Which fields may be written over what the CRM has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairturn.config import MapTo
from fairturn.decide.guarding import guarded, mode_of

STAGES = ("New", "Working", "Qualified")
NO = object()  # the field is not sent


def sent(way, value, *, wrote=NO, current=NO, read=True):
    """What is sent of one field, on a record that is there. read: the CRM's values are known."""
    found = guarded(
        {"F": value},
        {"F": way} if way else {},
        new=False,
        wrote=None if wrote is NO else {"F": wrote},
        current=(({} if current is NO else {"F": current}) if read else None),
    )
    return found.get("F", NO)


ALWAYS, IF_EMPTY = MapTo(field="f", mode="always"), MapTo(field="f", mode="if_empty")
CREATE, NEVER_UNSET = MapTo(field="f", mode="create_only"), MapTo(field="f", mode="never_unset")
FORWARD = MapTo(field="f", mode="forward", order=STAGES)
ASSIGNMENT = MapTo(assignment="pool")


@pytest.mark.parametrize(
    ("way", "value", "wrote", "current", "expected"),
    [
        # without a mode: where there is nothing, or what we wrote
        (None, "a", NO, NO, "a"),
        (None, "a", NO, None, "a"),
        (None, "a", NO, "", "a"),
        (None, "a", NO, "theirs", NO),
        (None, "b", "a", "a", "b"),
        (None, "b", "a", "A", NO),  # somebody changed it since
        (None, "b", "a", None, "b"),  # somebody emptied it since: it is empty
        (None, "a", "a", "theirs", NO),  # nothing new to say: theirs stands
        (None, "a", "a", None, NO),  # and what was emptied on purpose is not filled again with the same
        (None, None, "a", "a", None),  # erased on purpose here
        (None, None, NO, "theirs", NO),
        (None, 7, NO, 7.0, NO),
        (None, "X@acme.com", NO, "x@ACME.com", NO),
        (IF_EMPTY, "a", NO, "theirs", NO),
        (ALWAYS, "a", NO, "theirs", "a"),
        (ALWAYS, "a", NO, "a", NO),
        (ALWAYS, "a", "a", "theirs", NO),
        (ALWAYS, "b", "a", "theirs", "b"),
        (CREATE, "a", NO, NO, NO),
        (CREATE, "b", "a", "a", NO),
        (FORWARD, "Working", NO, "New", "Working"),
        (FORWARD, "working", NO, "NEW", "working"),
        (FORWARD, "New", NO, "Qualified", NO),
        (FORWARD, "New", NO, "New", NO),
        (FORWARD, "Working", NO, None, "Working"),
        (FORWARD, "Working", NO, "Nurture", NO),  # a stage of their own
        (FORWARD, "Nurture", NO, "New", NO),
        (NEVER_UNSET, True, NO, False, True),
        (NEVER_UNSET, False, NO, True, NO),
        (NEVER_UNSET, None, NO, True, NO),
        (NEVER_UNSET, False, True, True, NO),
        (NEVER_UNSET, True, NO, None, True),
        (ASSIGNMENT, "emea", NO, "theirs", "emea"),  # ours to keep up to date
    ],
)
def test_a_field_of_a_record_that_is_there(way, value, wrote, current, expected):
    assert sent(way, value, wrote=wrote, current=current) is expected or (
        sent(way, value, wrote=wrote, current=current) == expected
    )


@pytest.mark.parametrize(
    ("way", "value", "wrote", "expected"),
    [
        (None, "b", "a", "b"),
        (None, "a", "a", NO),
        (None, "a", NO, "a"),
        (FORWARD, "New", "Working", NO),
        (FORWARD, "Qualified", "Working", "Qualified"),
        (NEVER_UNSET, False, True, NO),
        (CREATE, "b", "a", NO),
    ],
)
def test_where_nothing_was_read_what_we_wrote_is_what_is_there(way, value, wrote, expected):
    assert sent(way, value, wrote=wrote, read=False) == expected


def test_a_new_record_gets_every_field():
    record = {"A": 1, "B": None, "C": False}
    modes = {"A": CREATE, "B": FORWARD, "C": NEVER_UNSET}
    assert guarded(record, modes, new=True, wrote=None, current=None) == record


def test_modes():
    assert mode_of(None) == "if_empty"
    assert mode_of(MapTo(field="x")) == "if_empty"
    assert mode_of(ASSIGNMENT) == "always"
    assert mode_of(MapTo(assignment="reason", mode="create_only")) == "create_only"


VALUES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b", *STAGES])
WAYS = st.sampled_from([None, ALWAYS, IF_EMPTY, CREATE, FORWARD, NEVER_UNSET, ASSIGNMENT])


@given(WAYS, VALUES, st.none() | VALUES, VALUES)
def test_writing_twice_says_nothing_new(way, value, wrote, current):
    """What was sent is what we wrote and what is there: the same lead is no second change."""
    modes = {"F": way} if way else {}
    first = guarded({"F": value}, modes, new=False, wrote={"F": wrote}, current={"F": current})
    after = {"F": first.get("F", current)}
    assert guarded({"F": value}, modes, new=False, wrote={"F": wrote} | first, current=after) == {}


@given(st.sampled_from([None, IF_EMPTY, CREATE]), VALUES, VALUES, st.none() | VALUES)
def test_a_persons_own_value_is_never_overwritten_without_a_mode(way, value, current, wrote):
    found = sent(way, value, wrote=wrote, current=current)
    if current not in (None, "") and current is not wrote and current != wrote:
        assert found is NO
