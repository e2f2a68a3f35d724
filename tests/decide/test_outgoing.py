"""Who is written as an owner, and which records have something to say."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from fairturn.config import Settings
from fairturn.decide.outgoing import Draft, owner_rule, sort_out, untold, values_rule
from fairturn.model import FieldState, Outgoing, Refused

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
RECORD = Outgoing(
    1, 2, 1, "ft-1", "00Q1", {}, None, "raw", None, None, NOW, {"City": "Kiel", "Phone": "1", "OwnerId": "005A"}
)


@pytest.mark.parametrize(
    ("facts", "owner"),
    [
        (("assigned", "ann", "emea", None), ("ann", "rep")),
        (("parked", None, None, "00GJUNK"), ("00GJUNK", "raw")),
        (("held", None, "emea", None), ("00GQUEUE", "raw")),
        (("held", None, "apac", None), (None, "raw")),
        (("waiting", None, None, None), (None, "raw")),
        (("ignored", None, None, None), (None, "raw")),
    ],
)
def test_owner(facts, owner):
    assert owner_rule({"emea": {"crm": "00GQUEUE"}})("crm", *facts) == owner


TWO = {
    "crm": {"type": "salesforce"},
    "hub": {"type": "hubspot"},
    "paper": {"type": "console"},
}


def test_only_the_system_of_record_is_told_an_owner():
    """Two CRMs that both have an owner are two truths; a console prints what would be written."""
    owner_of = owner_rule({"emea": {"crm": "Q1", "hub": "Q2"}}, untold(settings_of("crm")))
    assert owner_of("crm", "assigned", "ann", "emea", None) == ("ann", "rep")
    assert owner_of("paper", "assigned", "ann", "emea", None) == ("ann", "rep")
    for status in ("assigned", "held", "parked"):
        assert owner_of("hub", status, "ann", "emea", "Junk") == (None, "raw")


def test_without_a_system_of_record_everybody_is_told():
    assert untold(settings_of(None)) == frozenset()


def settings_of(system_of_record):
    return Settings.model_validate({"destinations": TWO, "system_of_record": system_of_record})


def test_a_lead_that_somebody_else_owns_there_carries_no_owner():
    assert owner_rule({})("crm", "owned", None, None, None) == (None, "raw")


def test_a_record_of_the_crms_own_is_written_once_to_bear_our_key():
    """Nothing that the mapping writes is new there, but our key is."""
    adopted = replace(RECORD, confirmed=None, found={"City": "Kiel"})
    assert sort_out([adopted], {"ft-1": {}}, shadow=False).send == (adopted,)
    assert sort_out([replace(adopted, confirmed={})], {"ft-1": {}}, shadow=False).send == ()


def test_a_record_that_was_confirmed_word_for_word_is_not_sent_again():
    found = sort_out([RECORD], {"ft-1": {"City": "Kiel", "Phone": "1"}}, shadow=False)
    assert (found.same, found.send) == ((RECORD,), ())


@pytest.mark.parametrize(
    ("record", "draft"),
    [
        (RECORD, {"City": "Bonn"}),
        (RECORD, {"City": "Kiel", "State": "SH"}),
        (RECORD, {"City": None}),
        (replace(RECORD, owner="ann", owner_kind="rep"), {"City": "Kiel", "OwnerId": "005A"}),  # newer than a person's
        (replace(RECORD, record_id=None), {"City": "Kiel"}),
        (replace(RECORD, confirmed=None), {"City": "Kiel"}),
    ],
)
def test_whatever_is_new_is_sent(record, draft):
    assert sort_out([record], {"ft-1": draft}, shadow=False).send == (record,)


def test_shadow_of_the_lead_or_of_the_destination_is_never_sent():
    dark = replace(RECORD, shadow=True)
    drafts = {"ft-1": {"City": "Bonn"}}
    assert sort_out([dark], drafts, shadow=False).shadow == (dark,)
    assert sort_out([RECORD], drafts, shadow=True).shadow == (dark,)


def test_the_same_key_twice_leaves_one_for_later_case_83():
    """Case 83: Salesforce refuses every row of a key that comes twice in one request."""
    other = replace(RECORD, lead=2)
    found = sort_out([RECORD, other], {"ft-1": {"City": "Bonn"}}, shadow=False)
    assert (found.send, found.twice) == ((RECORD,), (other,))


def test_each_record_is_in_one_list_case_100():
    records = [replace(RECORD, lead=n, key=f"ft-{n}") for n in range(4)]
    drafts: dict[str, Draft] = {
        "ft-0": {"City": "Bonn"},
        "ft-1": {"City": "Kiel"},
        "ft-2": Refused("ft-2", "NO_RECORD", "no"),
    }
    found = sort_out(records, drafts, shadow=False)
    assert found.send == (records[0],)
    assert found.same == (records[1],)
    assert [refused.key for refused in found.refused] == ["ft-2", "ft-3"]


def test_what_a_destination_is_told_of_a_lead() -> None:
    """Names come from the full name, derived fields from the address; what was erased on purpose is told as None."""
    fields = {
        "full_name": FieldState("Jane van Doe", 1, 0, "a"),
        "email": FieldState("jane@mail.acme-works.com", 1, 0, "a"),
        "phone": FieldState(None, 2, 0, "b"),
    }
    found = values_rule(Settings())(fields)
    assert (found["first_name"], found["last_name"], found["phone"]) == ("Jane van", "Doe", None)
    assert (found["email_domain"], found["email_kind"]) == ("acme-works.com", "work")
