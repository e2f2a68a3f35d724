"""Who of a CRM's users is meant."""

import pytest

from fairturn.config import Rep, Settings
from fairturn.decide.users import Roster, User, bare, named, owners_named, rep_of, same_id, user_of
from fairturn.model import Owner

ANN = User("005XX0000000001YAA", "user", "Ann Ace", "ann@acme.com", "ann@acme.com.uat")
BOB = User("005XX0000000002YAA", "user", "Bob", "bob@acme.com.invalid", "bob@acme.com")
GONE = User("005XX0000000003YAA", "user", "Ann Ace", "ann@acme.com", active=False)
QUEUE = User("00GXX0000000001YAA", "queue", "Inbound", None, "Inbound_Web")
ALL = (ANN, BOB, GONE, QUEUE)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("005XX0000000001YAA", (ANN,)),
        ("005XX0000000001", (ANN,)),
        ("005XX0000000003", (GONE,)),  # an id is an id
        ("005xx0000000001", ()),  # letter case counts in ids (case 99)
        ("ANN@ACME.COM", (ANN,)),  # of two with one address the active one
        (" ann@acme.com ", (ANN,)),
        ("ann@acme.com.uat", (ANN,)),
        ("bob@acme.com", (BOB,)),  # a sandbox's address is another
        ("bob@acme.com.invalid", (BOB,)),
        ("Bob", (BOB,)),
        ("inbound", (QUEUE,)),
        ("Inbound_Web", (QUEUE,)),
        ("nobody", ()),
        ("", ()),
    ],
)
def test_by_id_else_by_address_else_by_name(text, found):
    assert named(text, ALL) == found


def test_a_kind_may_be_meant():
    twin = User("005XX0000000009YAA", "user", "Inbound")
    assert named("Inbound", (*ALL, twin), "queue") == (QUEUE,)
    assert named("Inbound", (*ALL, twin), "user") == (twin,)
    assert set(named("Inbound", (twin, QUEUE))) == {twin, QUEUE}


def test_several_are_none_and_of_inactive_ones_alone_all_are_told():
    other = User("005XX0000000007YAA", "user", "Other", "ann@acme.com")
    assert named("ann@acme.com", (*ALL, other)) == (ANN, other)
    assert named("ann@acme.com", (GONE,)) == (GONE,)


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ({"ids": {"crm": "005XX0000000001"}}, (ANN,)),
        ({"ids": {"crm": "Bob"}}, (BOB,)),
        ({"email": "Ann@acme.com"}, (ANN,)),
        ({"email": "ann@acme.com", "ids": {"crm": "bob@acme.com"}}, (BOB,)),
        ({"ids": {"other": "005XX0000000001"}}, ()),
        ({"ids": {"crm": "Inbound"}}, ()),  # a queue is no rep
        ({}, ()),
    ],
)
def test_the_users_that_a_rep_may_be(row, found):
    reps = {"r": Rep.model_validate({"name": "R"} | row)}
    assert user_of("r", reps, "crm", ALL) == found
    assert user_of("nobody", reps, "crm", ALL) == ()


@pytest.mark.parametrize(
    ("owner", "rep"),
    [
        (Owner("005XX0000000001YAA", "user", active=True), "by_id"),
        (Owner("005XX0000000002YAA", "user", active=True, email="BOB@acme.com.invalid"), "by_mail"),
        (Owner("005XX0000000004YAA", "user", active=True, name="cem ce"), "by_name"),
        (Owner("005XX0000000004YAA", "user", active=True, email="by.id@acme.com"), None),  # ids say who by_id is
        (Owner("005XX0000000005YAA", "user", active=True, name="Zoe", email="zoe@acme.com"), None),
        (Owner("005XX0000000005YAA", "user", active=True), None),
    ],
)
def test_the_rep_who_is_an_owner(owner, rep):
    reps = {
        "by_id": Rep(name="Ann", email="by.id@acme.com", ids={"crm": "005XX0000000001"}),
        "by_mail": Rep(name="Bob", email="bob@acme.com"),
        "by_name": Rep(name="Cem", ids={"crm": "Cem Ce"}),
        "nothing": Rep(name="Zoe"),
    }
    assert rep_of(owner, reps, "crm") == rep


def test_ids_and_addresses():
    assert same_id("005XX0000000001", "005XX0000000001YAA")
    assert not same_id("501", "5010")
    assert same_id("501", "501")
    assert bare(" Ann@Acme.com.invalid ") == "ann@acme.com"
    assert bare(None) is None
    assert bare("") is None


def test_twenty_thousand_users_are_not_walked_through_for_each_record():
    many = [User(str(4_000_000 + n), "user", f"Name {n}", f"u{n}@acme.com", active=n % 3 > 0) for n in range(20_000)]
    many += [User("005XX0000000001YAA", "user", "Name 7", "U8@acme.com.invalid", "u9@acme.com"), *TWINS]
    roster = Roster(many)
    for text in (
        "4000007",
        "005XX0000000001",
        "Name 7",
        " name 7 ",
        "u8@ACME.com",
        "u9@acme.com",
        "Twin",
        "",
        "?",
        "501",
    ):
        assert len(roster.near(text)) < 5
        assert set(named(text, roster)) == set(named(text, many)), text
    assert roster.by_id("4000007") == many[7]
    assert roster.by_id("4") is None


TWINS = [User(str(n), "user", "Twin", active=n > 501) for n in range(501, 504)]


def test_owners_that_pools_and_rules_name():
    settings = Settings.model_validate(
        {
            "pools": {
                "a": {"members": {"ann": 1}, "hold_owner": {"crm": "Held", "other": "X"}},
                "b": {"members": {"ann": 1}, "hold_owner": {"crm": "Held"}},
            },
            "rules": [
                {"id": "r1", "when": "true", "park": {"crm": "Parked"}},
                {"id": "r2", "when": "true", "park": "Everywhere"},
                {"id": "r3", "when": "true", "pool": "a"},
            ],
        }
    )
    assert owners_named(settings, "crm") == ("Held", "Parked", "Everywhere")
    assert owners_named(settings, "other") == ("X", "Everywhere")
