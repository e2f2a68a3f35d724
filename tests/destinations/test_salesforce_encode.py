"""A lead as a record."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairturn.config import MapTo, Rep
from fairturn.destinations.salesforce.encode import Encoder, cut, id_field, payload, sources
from fairturn.model import Outgoing, Refused

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
RECORD = Outgoing(1, 1, 1, "ft-1", None, {"last_name": "Doe", "city": "Kiel"}, None, "raw", None, None, NOW, None)
USER = "005XX0000000001YAA"
ENCODER = Encoder(
    "crm",
    "Lead",
    "Fairturn_Id__c",
    sources(
        {
            "LastName": MapTo(field="last_name", default="Unknown"),
            "Company": MapTo(field="company", default="Unknown"),
            "City": "city",
            "Rating": MapTo(value="Hot"),
            "Employees__c": "employees",
        }
    ),
    {"ann": Rep(name="Ann", ids={"crm": USER})},
    "Account__r.Fairturn_Key__c",
)


def drafted(record, encoder=ENCODER):
    draft = encoder.draft(record)
    assert not isinstance(draft, Refused)
    return draft


def test_missing_leaves_the_crm_alone_null_erases_default_fills_case_75():
    """Case 75: three meanings, three results."""
    assert ENCODER.draft(RECORD) == {"LastName": "Doe", "Company": "Unknown", "City": "Kiel", "Rating": "Hot"}
    erased = replace(RECORD, fields={"last_name": None, "city": None, "employees": 0})
    assert ENCODER.draft(erased) == {
        "LastName": "Unknown", "Company": "Unknown", "City": None, "Rating": "Hot", "Employees__c": 0,
    }  # fmt: skip


def test_owner_only_when_an_assignment_made_it():
    assert "OwnerId" not in drafted(RECORD)
    owned = ENCODER.draft(replace(RECORD, owner="ann", owner_kind="rep"))
    assert not isinstance(owned, Refused)
    assert owned["OwnerId"] == USER


def test_ids_of_fifteen_characters_are_sent_as_eighteen_case_99():
    encoder = replace(ENCODER, reps={"ann": Rep(name="Ann", ids={"crm": USER[:15]})})
    draft = encoder.draft(replace(RECORD, owner="ann", owner_kind="rep"))
    assert not isinstance(draft, Refused)
    assert len(str(draft["OwnerId"])) == 18


def test_a_queue_owns_leads_but_no_contacts():
    held = replace(RECORD, owner="00GXX0000000001", owner_kind="raw")
    assert "OwnerId" in drafted(held)
    there = replace(held, record_id="003XX0000000001AAA", object_type="Contact")
    assert "OwnerId" not in drafted(there)


@pytest.mark.parametrize(
    ("key", "fields", "expected"),
    [
        ("domain:acme.com", {}, {"Account__r": {"Fairturn_Key__c": "acme.com"}}),
        ("crm:001XX0000000001", {}, {"Account__c": "001XX0000000001YAA"}),
        ("domain:acme.com", {"crm_account_id": "001XX0000000001"}, {"Account__c": "001XX0000000001YAA"}),
        ("crm:whatever", {}, {}),
        (None, {}, {}),
    ],
)
def test_account(key, fields, expected):
    encoder = replace(ENCODER, fields={})
    assert encoder.draft(replace(RECORD, fields=fields, account_key=key)) == expected
    assert replace(encoder, account_lookup=None).draft(replace(RECORD, fields=fields, account_key=key)) == {}


def test_lookup_fields():
    assert id_field("Account__r") == "Account__c"
    assert id_field("Account") == "AccountId"


def test_payload():
    draft = ENCODER.draft(replace(RECORD, account_key="domain:acme.com"))
    assert not isinstance(draft, Refused)
    body = payload([("Lead", {"Fairturn_Id__c": "ft-1", **draft})])
    assert body["allOrNone"] is False
    (record,) = body["records"]
    assert record["attributes"] == {"type": "Lead"}
    assert record["Fairturn_Id__c"] == "ft-1"
    assert record["Account__r"] == {"Fairturn_Key__c": "acme.com"}


@given(st.text(max_size=60), st.integers(1, 50))
def test_cut_never_splits_a_character_case_97(text, limit):
    found = cut(text, limit)
    assert text.startswith(found)
    assert len(found.encode("utf-16-le", "surrogatepass")) // 2 <= limit
    assert found == text or len(text[: len(found) + 1].encode("utf-16-le", "surrogatepass")) // 2 > limit


def test_an_address_is_never_cut():
    encoder = replace(ENCODER, fields=sources({"Email": "email", "City": "city"}))
    long = "a" * 200 + "@acme.com"
    assert encoder.draft(replace(RECORD, fields={"email": long, "city": "c" * 99})) == {"Email": long, "City": "c" * 40}
