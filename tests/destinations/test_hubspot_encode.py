"""A lead as a HubSpot contact: values, modes, owners, companies; what refusals teach of the account's properties."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from fairturn.config import Destination, MapTo, Rep
from fairturn.decide.users import User
from fairturn.destinations.hubspot import Encoder, open_shadow, sources
from fairturn.destinations.hubspot.encode import STAGES, cut
from fairturn.destinations.hubspot.rows import text
from fairturn.errors import DestinationError
from fairturn.model import Batch, Outgoing, Refused, Written
from tests.destinations.test_hubspot import batch

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
USERS = (
    User("41", "user", "Ann Able", "ann@acme.test"),
    User("42", "user", "Bob Baker", "bob@acme.test"),
    User("43", "user", "Bob Baker", "bob2@acme.test"),
    User("44", "user", "Gil Gone", "gil@acme.test", active=False),
)
REPS = {
    "ann": Rep(name="Ann", email="Ann@Acme.test"),
    "bob": Rep(name="Bob", ids={"hub": "bob baker"}),
    "cid": Rep(name="Cid", ids={"hub": "42"}),
    "dan": Rep(name="Dan", email="dan@acme.test"),
    "eve": Rep(name="Eve"),
    "fay": Rep(name="Fay", ids={"hub": "99"}),
    "gil": Rep(name="Gil", email="gil@acme.test"),
}


def encoder(**mapping):
    return Encoder("hub", "fairturn_id", sources(mapping), REPS)


def outgoing(record_id=None, owner=None, **changes):
    fields = changes.pop("fields", {"email": "j@acme.test"})
    base = Outgoing(1, 1, 1, "ft-1", record_id, fields, owner, "rep", None, None, NOW, None)
    return replace(base, **changes)


def test_values_and_defaults():
    made = encoder(
        email="email",
        lastname=MapTo(field="last_name", default="Unknown"),
        numemployees="employees",
        score="score",
        gone="missing",
        erased="erased",
        consent=MapTo(value=True),
        rule=MapTo(assignment="rule"),
        note=MapTo(field="message", max_length=4),
    )
    fields = {"email": "j@acme.test", "employees": 250, "score": 7.0, "erased": None, "message": "a😀😀😀"}
    record = made.draft(outgoing(fields=fields, assignment={"rule": "emea"}), USERS)
    assert record == {
        "email": "j@acme.test", "lastname": "Unknown", "numemployees": "250", "score": "7", "consent": True,
        "rule": "emea", "note": "a😀", "fairturn_id": "ft-1",
    }  # fmt: skip
    known = made.draft(outgoing("501", fields=fields, confirmed={"erased": "x", "consent": True}, found=None), USERS)
    assert isinstance(known, dict)
    assert known["erased"] is None  # erased on purpose
    assert "consent" not in known
    assert [text(value) for value in (None, True, False, 7.0, 7.5, 250, "x")] == [
        "",
        "true",
        "false",
        "7",
        "7.5",
        "250",
        "x",
    ]


def test_half_of_a_character_is_never_kept():
    assert cut("😀😀", 3) == "😀"
    assert cut("abc", 3) == "abc"
    assert cut("é" * 100, 40) == "é" * 40


def test_what_is_there_is_written_over_by_its_mode():
    made = encoder(
        city="city",
        plan=MapTo(value="A", mode="always"),
        optout=MapTo(field="optout", mode="never_unset"),
        lifecyclestage=MapTo(value="lead"),
        born=MapTo(value="x", mode="create_only"),
    )
    found = {"city": "Bonn", "plan": "B", "optout": "true", "lifecyclestage": "customer", "fairturn_id": "ft-9"}
    record = made.draft(outgoing("501", fields={"city": "Kiel", "optout": "false"}, found=found), USERS)
    assert record == {"plan": "A"}  # the key of another lead stays too
    blank = {"city": None, "plan": "A", "optout": "", "lifecyclestage": "subscriber", "fairturn_id": None}
    record = made.draft(outgoing("501", fields={"city": "Kiel", "optout": True}, found=blank), USERS)
    assert record == {"city": "Kiel", "optout": True, "lifecyclestage": "lead", "fairturn_id": "ft-1"}


def test_a_lifecycle_stage_moves_forward_unless_the_settings_say_otherwise():
    assert sources({"lifecyclestage": "stage"})["lifecyclestage"].order == STAGES
    own = MapTo(field="stage", mode="forward", order=("a", "b"))
    assert sources({"lifecyclestage": own})["lifecyclestage"] == own
    always = MapTo(field="stage", mode="always")
    assert sources({"lifecyclestage": always})["lifecyclestage"] == always


def test_a_value_that_was_refused_is_not_sent_again_until_it_is_another():
    made = encoder(industry="industry")
    refused = {"industry": "Foo"}
    assert "industry" not in made.draft(outgoing(fields={"industry": "Foo"}, refused=refused), USERS)
    assert made.draft(outgoing(fields={"industry": "Bar"}, refused=refused), USERS)["industry"] == "Bar"


@pytest.mark.parametrize(
    ("rep", "expected"),
    [
        ("ann", "41"),
        ("cid", "42"),
        ("bob", ("OWNER_AMBIGUOUS", False)),
        ("dan", ("OWNER_WITHOUT_ID", False)),
        ("eve", ("OWNER_WITHOUT_ID", False)),
        ("fay", ("UNKNOWN_OWNER", True)),
        ("gil", ("INACTIVE_OWNER", True)),
        ("who", ("OWNER_GONE", True)),
    ],
)
def test_owners_by_address_name_or_id(rep, expected):
    record = encoder(email="email").draft(outgoing(owner=rep), USERS)
    if isinstance(record, Refused):
        assert (record.code, record.owner_fault) == expected
    else:
        assert record["hubspot_owner_id"] == expected


def test_owners_of_held_leads_are_the_settings_fault():
    made = encoder(email="email")
    held = outgoing(owner="Ann Able", owner_kind="raw")
    assert made.draft(held, USERS)["hubspot_owner_id"] == "41"
    refused = made.draft(outgoing(owner="Queue", owner_kind="raw"), USERS)
    assert isinstance(refused, Refused)
    assert not refused.owner_fault


def test_without_leave_to_read_owners_ids_alone_are_good():
    made = encoder(email="email")
    assert made.draft(outgoing(owner="fay"), None)["hubspot_owner_id"] == "99"
    refused = made.draft(outgoing(owner="ann"), None)
    assert isinstance(refused, Refused)
    assert refused.code == "OWNERS_UNREAD"


@pytest.mark.parametrize(
    ("fields", "key", "expected"),
    [
        ({"crm_account_id": "9001"}, None, "9001"),
        ({"crm_account_id": "001000000000001AAA"}, None, None),
        ({}, "crm:9001", "9001"),
        ({}, "domain:acme.test", None),
        ({"crm_account_id": "９００１"}, None, None),
    ],
)
def test_a_company_by_hubspots_id_alone(fields, key, expected):
    record = encoder(email="email").draft(outgoing(fields={"email": "j@x.co", **fields}, account_key=key), USERS)
    assert record.get("associatedcompanyid") == expected


def test_the_address_as_key_needs_one():
    made = replace(encoder(email="email"), external_id="email")
    refused = made.draft(outgoing(fields={"last_name": "X"}), USERS)
    assert isinstance(refused, Refused)
    assert refused.code == "NO_EMAIL"
    assert "fairturn_id" not in made.draft(outgoing(), USERS)


async def test_shadow_drafts_and_sends_nothing():
    settings = Destination.model_validate({"type": "hubspot", "mode": "shadow", "map": {"email": "email"}})
    shadow = open_shadow("hub", settings, REPS)
    drafts = shadow.draft([outgoing(owner="ann")])
    assert drafts["ft-1"] == {"email": "j@acme.test", "fairturn_id": "ft-1", "hubspot_owner_id": "Ann@Acme.test"}
    with pytest.raises(DestinationError, match="shadow"):
        await shadow.write(Batch(1, "hub", (outgoing(),), NOW))


# ---- what refusals teach ---------------------------------------------------------------------------------------------

TYPED = [
    {"object": "contacts", "name": "fairturn_day", "type": "date", "fieldType": "date"},
    {
        "object": "contacts", "name": "branch", "type": "enumeration", "fieldType": "select",
        "options": [{"label": "Computer Software", "value": "COMPUTER_SOFTWARE"}, {"label": "Other", "value": "OTHER"}],
    },
]  # fmt: skip


async def test_a_day_without_its_time_and_an_option_by_its_label_are_learnt(hub):
    """Case 98: a time is refused where the property holds days; sent again as a day, and so from then on."""
    hub.seed(properties=TYPED)
    destination = hub.destination(
        map={"email": "email", "fairturn_day": {"assignment": "received_at", "mode": "always"}, "branch": "industry"}
    )
    try:
        await destination.org()
        leads = [
            outgoing(
                lead=n, key=f"ft-{n}", assignment={"received_at": "2026-03-02T10:00:00Z"},
                fields={"email": f"l{n}@acme.test", "industry": "computer software" if n else "Farming"},
            )
            for n in range(3)
        ]  # fmt: skip
        answer = await destination.write(batch(*leads))
        assert [list(one.without) for one in answer.outcomes if isinstance(one, Written)] == [["branch"], [], []]
        there = hub.contacts()
        assert there["l1@acme.test"]["fairturn_day"] == "2026-03-02"
        assert there["l1@acme.test"]["branch"] == "COMPUTER_SOFTWARE"
        later = replace(leads[2], lead=9, key="ft-9", fields={"email": "l9@acme.test", "industry": "Other"})
        again = await destination.write(batch(later))
        assert again.calls == 1
        assert again.records["ft-9"]["branch"] == "OTHER"
        assert destination.draft([later])["ft-9"] == again.records["ft-9"]
    finally:
        await destination.close()
