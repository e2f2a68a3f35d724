"""The simulator's arithmetic without any server: ids, and records that are changed and taken back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crmsim.clock import Stamp
from crmsim.salesforce import ids
from crmsim.salesforce.org import Author, Org

AUTHOR = Author("005000000000001AAA", "api", 1, Stamp(0.0, 0.0))
LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("0050000000AbCdE", "0050000000AbCdEAAV"),
        ("001D000000IqhSL", "001D000000IqhSLIAZ"),  # SF-docs, composite resources
        ("a" * 15, "a" * 15 + "AAA"),
    ],
)
def test_the_suffix(short, long):
    assert ids.to18(short) == long
    assert ids.to15(long) == ids.to15(short) == short


@settings(max_examples=200, deadline=None)
@given(st.text(LETTERS, min_size=15, max_size=15))
def test_the_long_form_survives_a_loss_of_case(short):
    """Case 99: why the suffix exists."""
    long = ids.to18(short)
    assert ids.to15(long.upper()) == ids.to15(long.lower()) == short


@pytest.mark.parametrize(
    "text", ["", "00Q", "00Q0000000000001", "00Q00000000000-", "00Q0000000000019AA", "00Qé00000000001"]
)
def test_what_is_no_id(text):
    """Case 99: sixteen characters are none."""
    assert ids.to15(text) is None


def test_ids_in_sequence_differ_and_look_like_ids():
    org = Org(3)
    made = [org.new_id("00Q") for _ in range(5000)]
    assert len(set(made)) == len(made) == len({ids.to18(one).casefold() for one in made})
    assert all(len(one) == 15 and one.startswith("00Q") for one in made)
    assert made[:3] == [Org(3).new_id("00Q"), *made[1:3]]


STEP = st.tuples(st.sampled_from("abc"), st.sampled_from(["x@a.test", "X@A.test", "y@a.test", None]), st.booleans())


@settings(max_examples=100, deadline=None)
@given(st.lists(STEP, max_size=12), st.lists(STEP, max_size=12))
def test_taking_back_restores_records_and_keys(standing, undone):
    """What allOrNone rests on."""
    org = Org()
    lead = org.objects["lead"]

    def apply(steps):
        for key, email, deleted in steps:
            values = {"Fairturn_Id__c": key, "Email": email, "IsDeleted": deleted}
            found = org.match(lead, lead.fields["fairturn_id__c"], key)
            yield org.update(found[0], values, AUTHOR) if found else org.insert(lead, values, AUTHOR)

    def state():
        rows = {record.id: (record.values, record.version, record.deleted) for record in org.by_object["Lead"].values()}
        keys = {
            where: {key: sorted(found) for key, found in index.items()} for where, index in org.keys.items() if index
        }
        return rows, keys

    list(apply(standing))
    before = state()
    for change in reversed(list(apply(undone))):
        org.revert(change)
    assert state() == before
