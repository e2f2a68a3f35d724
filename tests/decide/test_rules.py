"""Which rule decides: order, missing values, odd values, and that nothing a lead holds makes it raise."""

import re
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.config import Organisation, Routing, Settings
from fairturn.decide.addresses import DomainKind, EmailKind, derived, email_facts
from fairturn.decide.conditions import CLOSED
from fairturn.decide.rules import compile_rules
from fairturn.errors import ConfigError

DOC = Path(__file__).parents[2] / "docs/reference/conditions.md"


def book(*conditions, last="true", fields=None, **organisation):
    rules = [{"id": f"r{number}", "when": when, "pool": "p"} for number, when in enumerate(conditions, 1)]
    if last:
        rules.append({"id": "rest", "when": last, "pool": "p"})
    return compile_rules(
        Settings.model_validate(
            {
                "organisation": organisation,
                "fields": fields or {"demo": "boolean", "seen": "time"},
                "sources": {"website": {"verify": {"type": "unsigned"}}, "chat": {"verify": {"type": "unsigned"}}},
                "rules": rules,
            }
        )
    )


def decided(rules, source="website", absent=(), **values):
    rule = rules.decide(values, source, absent)
    return rule.id if rule else None


def matches(when, source="website", **values):
    answers = {rule: truth for rule, truth, _ in book(when).explain(values, source)}
    assert (decided(book(when), source, **values) == "r1") == (answers["r1"] is True)
    return answers["r1"]


def test_the_first_rule_that_matches_decides():
    rules = book('lead.country == "US"', "lead.employees > 100")
    assert decided(rules, country="US", employees=500) == "r1"
    assert decided(rules, country="DE", employees=500) == "r2"
    assert decided(rules, country="DE", employees=5) == "rest"
    assert decided(rules) == "rest"


def test_without_a_last_rule_there_may_be_none():
    assert book('lead.country == "US"', last=None).decide({}, "website") is None


def test_a_rule_whose_owner_is_absent_is_passed_over():
    settings = Settings.model_validate(
        {"rules": [{"id": "key", "when": "true", "owner": "ann"}, {"id": "rest", "when": "true", "pool": "p"}]}
    )
    rules = compile_rules(settings)
    assert decided(rules) == "key"
    assert decided(rules, absent={"ann": "on leave"}) == "rest"
    assert rules.explain({}, "website", {"ann": "on leave"})[0] == ("key", False, "its owner ann is paused")


@pytest.mark.parametrize(
    ("values", "is_not_us", "is_us"),
    [
        ({}, None, None),
        ({"country": None}, None, None),
        ({"country": ""}, None, None),
        ({"country": "  "}, None, None),
        ({"country": "us"}, True, False),  # " us " as mapping trims it
        ({"country": "US"}, False, True),
        ({"country": "USA"}, True, False),
    ],
)
def test_negated_condition_and_a_missing_field(values, is_not_us, is_us):
    """Case 119: no answer is no match, for a condition and for its opposite."""
    assert matches('lead.country != "US"', **values) is is_not_us
    assert matches('!(lead.country == "US")', **values) is is_not_us
    assert matches('lead.country == "US"', **values) is is_us


@pytest.mark.parametrize(
    ("value", "expected"), [(250, True), (100, False), (None, None), ("many", None), (250.0, True)]
)
def test_whole_numbers(value, expected):
    """Case 119: what mapping could not make a number of has no answer; it is never compared as text."""
    assert matches("lead.employees > 100", employees=value) is expected


def test_those_without_a_value_are_asked_for_by_name():
    """Case 119: `known` says whether there is a value, and always has an answer."""
    for value, known in (({}, False), ({"country": " "}, False), ({"country": "US"}, True)):
        assert matches("known.country", **value) is known
        assert matches('!known.country || lead.country != "US"', **value) is (not known)


def test_an_error_is_not_a_match():
    """The evaluator's ERROR values read as truthy strings."""
    assert matches("lead.employees / 0 > 1", employees=5) is None
    assert matches('timestamp(lead.title) > timestamp("2026-01-01T00:00:00Z")', title="soon") is None


def test_one_side_may_have_no_answer_where_the_other_decides():
    assert matches('lead.country == "US" || lead.employees > 100', employees=500) is True
    assert matches('lead.country == "US" && lead.employees > 100', employees=5) is False
    assert matches('lead.country == "US" && lead.employees > 100', employees=500) is None


@pytest.mark.parametrize(
    ("when", "values"),
    [
        ("lead.score > 50", {"score": 50.5}),
        ("50 < lead.score", {"score": 51}),
        ("lead.score == 7", {"score": 7}),
        ("lead.score >= -1 && lead.score <= 1.5", {"score": 0.0}),
        ("lead.demo", {"demo": True}),
        ("!lead.demo", {"demo": False}),
        ('lead.seen >= timestamp("2026-01-31T00:00:00Z")', {"seen": "2026-01-31T01:00:00+01:00"}),
        ('lead.title.lowerAscii().contains("chief")', {"title": "CHIEF Officer"}),
        ('lead.title.matches("(?i)^vp|head of")', {"title": "Head of Sales"}),
        ('lead.country in ["DE", "Österreich"]', {"country": "Österreich"}),
        ("lead.email_domain in org.own_domains", {"email_domain": "acme.com"}),
        ('lead.company == "a\\"b"', {"company": 'a"b'}),
        ("// the DACH team\nlead.country == 'DE'", {"country": "DE"}),
    ],
)
def test_what_conditions_can_say(when, values):
    rules = book(when, own_domains=("Acme.com",))
    assert decided(rules, **values) == "r1", rules.explain(values, "website")


def test_the_source_is_a_name_too():
    assert matches('event.source == "chat"', source="chat") is True
    assert matches('event.source == "chat"', source="website") is False


def test_explain_says_why():
    rules = book('lead.country == "US" && lead.employees > 100', "known.phone", "lead.employees > 1")
    assert rules.explain({"country": "DE", "employees": "many"}, "website") == (
        ("r1", False, "lead.country is 'DE', lead.employees is 'many', which is not a whole number"),
        ("r2", False, "known.phone is false"),
        ("r3", None, "lead.employees is 'many', which is not a whole number"),
        ("rest", True, "it holds for every lead"),
    )
    assert rules.explain({}, "website")[0] == ("r1", None, "lead.country has no value, lead.employees has no value")


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=40),
    st.text(alphabet=st.characters(categories=["Cs"]), min_size=1, max_size=3),
)  # fmt: skip
EVERYTHING = book(
    'lead.country == "US"', 'lead.country != "US" && !known.employees', "lead.employees * 2 > 100", "lead.score < 0.5",
    "lead.demo",
    'lead.seen > timestamp("2026-01-01T00:00:00Z")', 'lead.title.matches("a+$") || size(lead.company) > 30',
    'lead.email.split("@")[1] == "b"', "lead.employees > 5 ? lead.demo : known.seen",
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(["country", "employees", "score", "demo", "seen", "title", "email"]), VALUES))
def test_whatever_a_lead_holds_it_ends_somewhere(values):
    answers = EVERYTHING.explain(values, "website")
    assert decided(EVERYTHING, **values) == next(rule for rule, truth, _ in answers if truth is True)


def test_what_an_evaluation_may_cost_is_bounded():
    many = f"[{', '.join(['1'] * 100)}]"
    nested = f"{many}.all(a, {many}.all(b, {many}.all(c, {many}.all(d, a + b + c + d > 0)))) && known.country"
    assert matches(nested, country="US") is None  # 100 million steps; stopped after 10,000
    assert matches('lead.message.matches("(a+)+$")', message="a" * 20_000 + "!") is False
    for when in (
        "(" * 200 + "true" + ")" * 200,
        'lead.title.replace("a", lead.message).replace("b", lead.message) == "x"',
        'lead.title.split("").join(lead.message) == "x"',
        "dyn(lead.title) == 1",
    ):
        with pytest.raises(ConfigError):
            book(when)


def test_every_fault_is_told_at_once():
    with pytest.raises(ConfigError) as caught:
        book('lead.contry == "US"', "true", "lead.employees > '5'", last=None)
    assert [fault.key for fault in caught.value.faults] == ["rules.1.when", "rules.3.when"]


def test_the_page_on_conditions_tells_the_truth():
    """Case 119: the documented table is run, row by row."""
    rows = re.findall(r"^\| `(.+?)` \| `(.+?)` \| (.+?) \|", DOC.read_text(), re.MULTILINE)
    assert len(rows) > 15
    for when, lead, said in rows:
        values = dict(pair.split("=", 1) for pair in lead.split("; ") if "=" in pair)
        read = {name: {"null": None}.get(text, text.strip('"')) for name, text in values.items()}
        typed = {name: int(text) if text and text.isdigit() else text for name, text in read.items()}
        expected = {"matches": True, "does not match": False, "no answer: does not match": None}[said]
        assert matches(when.replace("\\|", "|"), **typed) is expected, (when, lead)


def test_the_closed_sets_are_those_that_we_make():
    assert set(CLOSED["lead.email_kind"]) == set(get_args(EmailKind))
    assert set(CLOSED["lead.domain_kind"]) == set(get_args(DomainKind))


def test_real_leads_know_their_derived_fields():
    rules = book('lead.email_kind == "none"', 'lead.domain_kind == "own"', own_domains=("acme.com",))
    for address, expected in (("jane@acme.com", "r2"), (None, "r1"), ("jane@gmail.com", "rest")):
        facts = email_facts(address, Organisation(own_domains=("acme.com",)), Routing())
        assert decided(rules, **derived(facts)) == expected
