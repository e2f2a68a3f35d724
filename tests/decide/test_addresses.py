"""What an address says, and that no address is ever too odd to be said something of."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.config import Organisation, Routing
from fairturn.decide import addresses
from fairturn.decide.addresses import EmailFacts, derived, email_facts

OURS = Organisation(own_domains=("Fairturn.com",), competitors=("rival.example.org", "rivals.io"))
ROUTING = Routing(free_domains=("freelance-hub.com",), company_domains=("consultant.com", "yahoo.co.jp", "duck.com"))


def facts(text: str | None) -> EmailFacts:
    return email_facts(text, OURS, ROUTING)


@pytest.mark.parametrize(
    "text",
    [
        "Fred.Bloggs@X.test",
        "fred.bloggs@x.test",
        " fred.bloggs@x.test ",
        "fred.bloggs@x.test.",
        '"Fred" <fred.bloggs@x.test>',
        "Bloggs, Fred <Fred.Bloggs@x.test>",
        "mailto:fred.bloggs@x.test?subject=Hello",
        "<fred.bloggs@x.test>",
        "'fred.bloggs@x.test';",
        "\u200bfred.bloggs@x.test\u00a0",
        "ｆred.bloggs＠x.test",  # full-width letters and at sign
    ],
)
def test_case_71_spellings_of_one_address(text):
    found = facts(text)
    assert (found.normalised, found.shown) == ("fred.bloggs@x.test", "fred.bloggs@x.test")
    assert (found.kind, found.domain_kind, found.mark) == ("work", "test", None)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("jane.doe+demo@gmail.com", "janedoe@gmail.com"),
        ("jane.doe@googlemail.com", "janedoe@gmail.com"),
        ("jane.doe+demo@outlook.com", "jane.doe@outlook.com"),
        ("jane+demo@acme.com", "jane+demo@acme.com"),  # ops+anna and ops+ben may be two people
        ("+@gmail.com", "+@gmail.com"),  # nothing is left of a tag alone
    ],
)
def test_a_tag_is_dropped_only_from_the_key_and_only_where_it_is_known_to_be_one(text, key):
    assert facts(text).normalised == key
    assert facts(text).shown == text


def test_one_domain_in_two_alphabets():
    assert facts("x@münchen.de").normalised == facts("x@xn--mnchen-3ya.de").normalised == "x@xn--mnchen-3ya.de"
    assert facts("x@münchen.de").shown == facts("x@xn--mnchen-3ya.de").shown == "x@münchen.de"


@pytest.mark.parametrize(
    ("text", "kind", "domain"),
    [
        ("a@acme.com", "work", "acme.com"),
        ("a@eu.acme.co.uk", "work", "acme.co.uk"),
        ("a@iq.harvard.edu", "work", "harvard.edu"),
        ("a@shop.myshopify.com", "work", "shop.myshopify.com"),
        ("a@co.uk", "work", None),
        ("a@acme.local", "work", "acme.local"),
        ("a@gmail.com", "free", "gmail.com"),
        ("a@gmx.com", "free", "gmx.com"),
        ("a@tuta.io", "free", "tuta.io"),
        ("a@freelance-hub.com", "free", "freelance-hub.com"),
        ("a@yopmail.com", "disposable", "yopmail.com"),  # also in the list of free mail
        ("a@x.mailinator.com", "disposable", "mailinator.com"),
        ("a@mozmail.com", "relay", "mozmail.com"),  # also in lists of disposable mail
        ("a@privaterelay.appleid.com", "relay", "appleid.com"),
        ("a@telstra.com", "work", "telstra.com"),  # wrongly in the list of free mail
        ("a@consultant.com", "work", "consultant.com"),
        ("a@yahoo.co.jp", "work", "yahoo.co.jp"),  # because the settings say so
        ("a@duck.com", "work", "duck.com"),
    ],
)
def test_whose_mail_it_is(text, kind, domain):
    assert (facts(text).kind, facts(text).domain) == (kind, domain)


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("a@fairturn.com", "own"),
        ("a@eu.fairturn.com", "own"),
        ("a@notfairturn.com", "other"),
        ("a@rivals.io", "competitor"),
        ("a@rival.example.org", "competitor"),
        ("a@example.org", "test"),
        ("a@acme.test", "test"),
        ("a@acme.invalid", "test"),
        ("test@test.com", "test"),
        ("jane@test.com", "other"),
        ("jane..doe@fairturn.com", "own"),  # invalid, yet ours
    ],
)
def test_what_the_domain_is_to_us(text, relation):
    assert facts(text).domain_kind == relation


@pytest.mark.parametrize(
    "text",
    ["jane.acme.com", "jane@", "@acme.com", "jane@10.0.0.1", "jane@[10.0.0.1]", "jane@localhost", "a@b@c.com",
     "jane doe@acme.com", "a@" + "b" * 300 + ".com", "jane@acme..com", "\ud800@x.com"],
)  # fmt: skip
def test_what_does_not_validate_is_kept_and_marked_and_still_known_by_its_text(text):
    found = facts(text)
    assert found.kind == "invalid"
    assert found.mark == "not a valid address"
    assert found.shown
    assert found.normalised
    assert facts(text.upper()).normalised == found.normalised


@pytest.mark.parametrize("text", ["n/a", "None", "undefined", "---", "no email", "{{ lead.email }}", "[object Object]"])
def test_a_placeholder_is_nobodys_key(text):
    assert facts(text).normalised is None
    assert facts(text).shown
    assert facts(text).kind == "invalid"


def test_nobodys_address_is_no_key_either():
    assert facts("none@none.com").normalised is None
    assert facts("noemail@acme.com").kind == "work"


@pytest.mark.parametrize("text", [None, "", "  ", "\u200b", "\0", "<>", '""', "mailto:"])
def test_no_address(text):
    found = facts(text)
    assert found == EmailFacts(None, "", None, None, "none", "other")
    assert derived(found) == {"email_domain": None, "email_kind": "none", "domain_kind": "other"}


def test_of_several_addresses_the_first():
    assert facts("a@acme.com; b@acme.com").shown == "a@acme.com"
    assert facts("a@acme.com, b@acme.com").mark == "several addresses, the first taken"


ADDRESS_LIKE = st.text(st.sampled_from("aB.@+<>\"' ,;-_:xn\u00e9\u4e2d\u0430\u202e\ud800\0[]1"), max_size=30)


@settings(max_examples=400, deadline=None)
@given(ADDRESS_LIKE | st.text(max_size=40) | st.emails())
def test_no_text_is_too_odd_and_what_is_shown_reads_back_the_same(text):
    found = facts(text)
    assert (found.kind == "none") == (not found.shown)
    again = facts(found.shown)
    assert (again.normalised, again.kind, again.domain) == (found.normalised, found.kind, found.domain)
    assert again.shown == found.shown


@settings(max_examples=200)
@given(st.from_regex(addresses.BARE, fullmatch=True) | st.text("ab@.-+_,;<>\"' \u00a0", max_size=12))
def test_an_address_without_anything_around_it_needs_no_cleaning(text):
    if addresses.BARE.fullmatch(text):
        assert addresses.bare_address(text) == (text, None)


def test_a_text_of_any_length_costs_and_remembers_no_more_than_an_address():
    assert facts("a@x.com" + " " * 10**6) == facts("a@x.com")
    assert len(facts("a" * 10**6).shown) == 1000


@settings(max_examples=400, deadline=None)
@given(
    local=st.text("abcXYZ019._+-", min_size=1, max_size=66) | st.sampled_from(["ABUSE", "postmaster", "ı", "o'hara"]),
    host=st.text("abz09.-_é", min_size=1, max_size=30)
    | st.sampled_from(["x.test", "acme.co.uk", "MÜNCHEN.de", "xn--mnchen-3ya.de", "[1.2.3.4]", "1.2.3.4", "a..b", ""]),
)
def test_the_short_way_says_what_the_library_says(local, host):
    assert addresses.parsed(f"{local}@{host}") == addresses.validated(f"{local}@{host}")
