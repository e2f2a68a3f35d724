"""Salesforce's record ids (case 99)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.decide.record_ids import is_record_id, long_form

# Worked out by hand from the rule; two differ in the case of one letter only.
PAIRS = [
    ("001D000000IRFma", "001D000000IRFmaIAH"),
    ("0050000000AbCdE", "0050000000AbCdEAAV"),
    ("000000000000000", "000000000000000AAA"),
    ("00Q5g00000ABGNy", "00Q5g00000ABGNyEAP"),
    ("00Q5g00000ABGNY", "00Q5g00000ABGNYEA5"),
    ("ABCDEABCDEABCDE", "ABCDEABCDEABCDE555"),
]
LETTERS = st.text(alphabet="abcXYZ019", min_size=15, max_size=15)


@pytest.mark.parametrize(("short", "long"), PAIRS)
def test_the_long_form(short, long):
    assert long_form(short) == long
    assert long_form(long) == long
    assert long_form(short + long[15:].lower()) == long


@settings(max_examples=200, deadline=None)
@given(LETTERS, LETTERS)
def test_two_records_are_two_even_where_only_case_differs(one, other):
    assert (long_form(one) == long_form(other)) == (one == other)
    assert (long_form(one).upper() == long_form(other).upper()) == (one == other)


@pytest.mark.parametrize("text", ["", "005", "0050000000AbCdEI", "0050000000AbCdEIA", "0050000000AbCdEAAA",
                                  "0050000000AbCd!", "0050000000AbCdé", " 0050000000AbCdE"])  # fmt: skip
def test_what_is_none(text):
    assert not is_record_id(text)
    with pytest.raises(ValueError, match="no Salesforce id"):
        long_form(text)
