"""When a lead's person is asked for, how long an answer is waited for, and what makes the question needless."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.config import Organisation, Routing
from fairturn.config import Settings as Config
from fairturn.decide.addresses import email_facts
from fairturn.decide.asking import address_of, asked, decider, inquire, named, on_the_clock, patience, silence
from fairturn.decide.drafts import Draft, claim, missing, wait
from fairturn.decide.existing import Choice
from fairturn.model import Existing, Lead, Owner, Person

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SALESFORCE = {"type": "salesforce", "max_wait": "15s"}


def config(**destinations):
    more = {"system_of_record": destinations.pop("record")} if "record" in destinations else {}
    reps = {"ann": {"name": "Ann", "email": "ann@corp.com"}}
    rules = [
        {"id": "pool", "when": "true", "pool": "main"},
        {"id": "owner", "when": "true", "owner": "ann"},
        {"id": "park", "when": "true", "park": "00G000000000001AAA"},
    ]
    return Config.model_validate(
        {"destinations": destinations or {"crm": SALESFORCE}, "reps": reps, "rules": rules} | more
    )


def ago(seconds):
    return NOW - timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("destinations", "wanted", "decides"),
    [
        ({"crm": SALESFORCE}, ["crm"], "crm"),
        ({"crm": SALESFORCE | {"existing": "ignore"}}, [], None),
        ({"crm": SALESFORCE | {"mode": "shadow"}}, [], None),
        ({"out": {"type": "console"}}, [], None),
        ({"crm": SALESFORCE | {"object": "Account"}}, [], None),
        ({"crm": SALESFORCE, "hub": {"type": "hubspot"}, "record": "hub"}, ["crm", "hub"], "hub"),
        ({"crm": SALESFORCE | {"existing": "ignore"}, "hub": {"type": "hubspot"}, "record": "crm"}, ["hub"], None),
        ({"crm": SALESFORCE, "out": {"type": "console"}}, ["crm"], "crm"),
    ],
)
def test_who_is_asked_and_whose_owners_count(destinations, wanted, decides):
    settings = config(**destinations)
    assert (list(asked(settings)), decider(settings)) == (wanted, decides)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (" Jane@Acme.com ", "jane@acme.com"),
        ('"Jane" <jane+x@acme.com>', "jane+x@acme.com"),  # as it is written there, its tag too
        ("jane at acme", None),
        ("noemail@acme.com", None),
        ("n/a", None),
        (None, None),
    ],
)
def test_the_address_that_is_asked_for(text, wanted):
    assert address_of(email_facts(text, Organisation(), Routing())) == wanted


def test_an_address_that_is_new_is_asked_for_and_waited_for():
    found = inquire(asked(config()), "a@b.com", {}, NOW, waiting=False)
    assert (found.ask, found.open, found.until) == (("crm",), ("crm",), NOW + timedelta(seconds=15))


def test_no_address_is_no_question():
    found = inquire(asked(config()), None, {}, NOW, waiting=False)
    assert (found.ask, found.open, found.heard) == ((), (), {})


@pytest.mark.parametrize(
    ("known", "waiting", "ask", "still", "state"),
    [
        (Existing("due", "a@b.com", ago(5)), True, (), ("crm",), None),
        (Existing("due", "a@b.com", ago(15)), True, (), (), "unknown"),
        (Existing("answered", "a@b.com", ago(5), answered_at=ago(3)), True, (), (), "answered"),
        (Existing("answered", "a@b.com", ago(9000), answered_at=ago(8990)), True, (), (), "answered"),  # a long line
        (Existing("answered", "a@b.com", ago(500), answered_at=ago(490)), False, (), (), "answered"),
        (Existing("answered", "a@b.com", ago(9000), answered_at=ago(8990)), False, ("crm",), ("crm",), None),
        (Existing("answered", "other@b.com", ago(5), answered_at=ago(3)), True, ("crm",), ("crm",), None),
        (Existing("unknown", "a@b.com", ago(16), why="no", answered_at=ago(1)), True, (), (), "unknown"),
        (Existing("due", "other@b.com", ago(14)), True, ("crm",), ("crm",), None),
        (Existing("due", "other@b.com", ago(16)), True, (), (), "unknown"),  # an address a second buys no more time
    ],
)
def test_what_was_asked_before(known, waiting, ask, still, state):
    found = inquire(asked(config()), "a@b.com", {"crm": known}, NOW, waiting=waiting)
    assert (found.ask, found.open) == (ask, still)
    assert ({name: one.state for name, one in found.heard.items()}) == ({} if state is None else {"crm": state})


def test_an_answer_that_did_not_come_says_so():
    known = {"crm": Existing("due", "a@b.com", ago(15))}
    heard = inquire(asked(config()), "a@b.com", known, NOW, waiting=True).heard["crm"]
    assert heard.why == "crm did not answer within 15 s whether the person is there; a new record was made"


both = config(crm=SALESFORCE, hub={"type": "hubspot", "max_wait": "60s"}, record="crm")
existing = st.one_of(
    st.none(),
    st.builds(
        lambda state, email, age: Existing(state, email, ago(age), answered_at=None if state == "due" else ago(age)),
        st.sampled_from(["due", "answered", "unknown"]),
        st.sampled_from(["a@b.com", "other@b.com"]),
        st.integers(0, 2000),
    ),
)


@settings(max_examples=150)
@given(existing, existing, st.booleans(), st.sampled_from(["a@b.com", None]))
def test_every_destination_is_asked_open_or_heard_and_no_wait_is_endless(one, other, waiting, email):
    known = {name: row for name, row in (("crm", one), ("hub", other)) if row is not None}
    found = inquire(asked(both), email, known, NOW, waiting=waiting)
    assert set(found.ask) <= set(found.open)
    assert not set(found.open) & set(found.heard)
    if email is not None:
        assert set(found.open) | set(found.heard) == {"crm", "hub"}
    assert (found.until is None) == (not found.open)
    if found.until is not None:
        assert NOW < found.until <= NOW + timedelta(seconds=60)


# ---- a record that the event named itself ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "settings", "wanted"),
    [
        ("00Q5g00000abCdE", config(), {"crm": ("00Q5g00000abCdEEAU"[:15], "Lead")}),
        ("0035g00000abCdE", config(), {"crm": ("0035g00000abCdE", "Contact")}),
        ("0015g00000abCdE", config(), {}),  # an Account
        ("501", config(), {}),  # HubSpot's, and there is none
        ("501", both, {"hub": ("501", "contacts")}),
        ("00Q5g00000abCdE", both, {"crm": ("00Q5g00000abCdE", "Lead")}),
        ("visitor-7", both, {}),
        (None, both, {}),
        ("501", config(a={"type": "hubspot"}, b={"type": "hubspot"}, record="b"), {"b": ("501", "contacts")}),
        ("501", config(a={"type": "hubspot", "mode": "shadow"}), {}),
    ],
)
def test_a_record_id_says_where_the_person_is(text, settings, wanted):
    found = named(settings, {"crm_lead_id": text, "email": "A@b.com"})
    assert {name: (one.record_id[:15], one.object_type) for name, one in found.items()} == wanted


# ---- what a lead waits for, and what becomes of it -------------------------------------------------------------------


def draft(**more):
    return Draft(1, None, "web", {}, "new", **more)


def test_the_fields_time_runs_from_the_leads_beginning_whatever_else_it_waits_for():
    source = Config.model_validate(
        {"sources": {"web": {"verify": {"type": "unsigned"}, "wait_for": ["company"], "at_most": "5s"}}}
    ).sources["web"]
    one = draft(waits_since=ago(3))
    fields, until = missing(one, source, NOW)
    inquiry = inquire(asked(config()), "a@b.com", {}, NOW, waiting=False)
    wait(one, fields, inquiry, until)
    assert until == NOW + timedelta(seconds=2)
    assert one.wait_until == NOW + timedelta(seconds=15)  # whichever is later
    assert one.reason == "waits for company, and asks crm whether the person is there"
    assert missing(draft(waits_since=ago(5)), source, NOW) == ((), NOW)


ANN, STRANGER = (
    Owner("005000000000001AAA", "user", active=True, name="Ann", email="ann@corp.com"),
    Owner("005000000000009AAA", "user", active=True, name="Olga", email="olga@corp.com"),
)
RECORD = Person("00Q000000000001AAA", "Lead", "a@b.com", ANN)


@pytest.mark.parametrize(
    ("rule", "keeps", "status", "rep", "keep", "owner_rule"),
    [
        (0, ANN, "routing", None, "ann", False),
        (0, STRANGER, "owned", None, None, False),
        (0, None, "routing", None, None, False),
        (1, ANN, "assigned", "ann", None, True),
        (1, STRANGER, "owned", None, None, False),
        (2, ANN, "assigned", "ann", None, True),
        (2, STRANGER, "owned", None, None, False),
        (2, None, "parked", None, None, False),
    ],
)
def test_whose_a_lead_is_that_was_there(rule, keeps, status, rep, keep, owner_rule):
    settings = config()
    one = draft()
    one.status = "parked" if rule == 2 else "assigned" if rule == 1 else "routing"
    one.owner_rule = rule == 1
    if rule == 1:
        one.rep = "ann"
    one.pool = "main" if rule == 0 else None
    claim(one, settings.rules[rule], settings, {"crm": Choice(RECORD, keeps, "so it is")})
    assert (one.status, one.rep, one.keep, one.owner_rule) == (status, rep, keep, owner_rule)
    assert one.adopt == {"crm": RECORD}
    assert (one.kept is not None) == (keeps is not None)  # and then no owner is written


def test_only_the_system_of_records_owners_count():
    one = draft()
    one.status, one.pool = "routing", "main"
    choices = {"crm": Choice(None, None, "not there"), "hub": Choice(RECORD, STRANGER, "there")}
    claim(one, both.rules[0], both, choices)
    assert (one.status, one.keep, one.kept, one.adopt) == ("routing", None, None, {"hub": RECORD})


def test_a_lead_without_an_owner_of_ours_is_told_of_all_the_same():
    lead = Lead(1, NOW, "web", "waiting", {}, None, None, None, None, None, NOW)
    one = Draft(1, lead, "web", {}, "owned")
    assert one.told
    assert one.lead().status == "owned"


@pytest.mark.parametrize(
    ("window", "clock", "seconds"),
    [
        ({}, False, 15),
        ({"window": "fixed", "every": "10s"}, True, 25),
        ({"window": "fixed", "every": "10s", "lookup_linger": "2s"}, False, 15),
        ({"window": "none"}, False, 15),
    ],
)
def test_with_a_fixed_window_the_wait_for_the_tick_is_none_for_the_crm(window, clock, seconds):
    crm = asked(config(crm=SALESFORCE | window))["crm"]
    assert (on_the_clock(crm), patience(crm)) == (clock, seconds)
    assert f"within {seconds} s" in silence("crm", crm)
    found = inquire({"crm": crm}, "a@acme.com", {}, NOW, waiting=False)
    assert found.until == NOW + timedelta(seconds=seconds)
