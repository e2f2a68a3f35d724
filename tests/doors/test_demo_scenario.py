"""The demo's burst as data: the same seed gives the same, and every address is what the settings take it for."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fairturn.assemble.demo.scenario import JUNK_ADDRESSES, Address, Company, scenario
from fairturn.assemble.demo.sending import headers
from fairturn.assemble.demo.settings import CRMS, SOURCES, render
from fairturn.assemble.demo.staff import POOLS, REPS
from fairturn.assemble.demo.there import ORDER, STAYS, known, territory, told
from fairturn.decide.addresses import email_facts
from fairturn.decide.rules import compile_rules
from fairturn.operate.loaded import Loaded
from fairturn.operate.settings import parse


@pytest.fixture(params=CRMS)
def settings(tmp_path: Path, request: pytest.FixtureRequest) -> Loaded:
    crm = CRMS[request.param]
    for name in ("website.secret", "enrichment.secret", "scoring.secret", *crm.secrets, *crm.texts):
        path = tmp_path / name
        path.touch(mode=0o600)
        path.write_text("0123456789abcdef")
    org = {"salesforce": "00Dab0000000001", "hubspot": "62515"}[crm.name]
    text = render(tmp_path, crm, url="http://127.0.0.1:9", org=org, port=8080)
    return parse(text, tmp_path / "fairturn.toml", os.environ)


def test_the_settings_stand_without_a_word(settings):
    assert not settings.faults
    assert set(settings.settings.sources) == set(SOURCES)
    assert set(settings.settings.pools) == set(POOLS)
    assert len(settings.settings.reps) == len(REPS) == 10


@pytest.mark.parametrize("events", [1, 2, 3, 6])
def test_a_burst_has_what_was_asked_for(events):
    plan = scenario(leads=200, seconds=20, events=events, seed=3)
    assert len(plan.people) == 200
    assert plan.count("event") == 200 * events
    assert plan.count("junk") == 12
    assert plan.count("forged") == 2
    first = {post.body for post in plan.posts if post.kind == "event"}
    assert len(first) == 200 * events
    assert {post.body for post in plan.posts if post.kind == "again"} <= first
    assert [post.at for post in plan.posts] == sorted(post.at for post in plan.posts)
    assert all(0 <= post.at <= 20 for post in plan.posts if post.kind == "event")


def test_one_seed_is_one_burst_and_another_is_another():
    assert scenario(50, 10, 3, 7) == scenario(50, 10, 3, 7)
    assert scenario(50, 10, 3, 7) != scenario(50, 10, 3, 8)


def test_people_are_people_and_junk_is_junk(settings):
    organisation, routing = settings.settings.organisation, settings.settings.routing
    plan = scenario(leads=600, seconds=10, events=3, seed=1)
    facts = [email_facts(person.email, organisation, routing) for person in plan.people]
    assert {found.domain_kind for found in facts} == {"other"}
    assert {found.kind for found in facts} == {"work", "free"}
    assert len({found.normalised for found in facts}) == 600
    assert all(found.shown == person.email for found, person in zip(facts, plan.people, strict=True))
    for address in JUNK_ADDRESSES:
        junk = email_facts(address.format(4), organisation, routing)
        assert junk.domain_kind != "other" or junk.kind == "disposable"


@pytest.mark.parametrize("crm", CRMS.values(), ids=CRMS)
def test_companies_follow_zipf_and_the_org_knows_them_all(crm):
    plan = scenario(leads=2000, seconds=10, events=1, seed=1)
    sent = Counter(person.email.partition("@")[2] for person in plan.people)
    ranks = [sent[company.domain] for company in plan.companies]
    assert ranks[0] > 3 * ranks[20] > 0
    assert sum(ranks) / 2000 == pytest.approx(0.85, abs=0.03)
    seed: Any = crm.seed(plan.companies, ())
    keys = {row.get("Fairturn_Key__c", row.get("domain")) for row in seed.get("accounts", seed.get("companies"))}
    assert keys == {company.domain for company in plan.companies}


def test_a_fifth_of_the_people_are_there_in_every_way_and_the_burst_is_the_same():
    plan = scenario(leads=500, seconds=10, events=3, seed=8)
    there = known(plan, 8)
    assert there == known(plan, 8)
    assert len({one.who.email for one in there}) == 100
    assert {one.who for one in there} <= set(plan.addresses)
    assert [one.email for one in plan.addresses] == [one.email for one in plan.people]
    kinds = Counter(one.kind for one in there)
    assert set(kinds) == set(ORDER)
    assert sum(kinds[kind] for kind in STAYS) == 65
    assert all(one.who.company.name for one in there if one.kind in ("elsewhere", "customer"))
    typed = {one.who.email for one in there if one.title is not None}
    assert {person.email for person in told(plan.people, there) if person.title is None} == typed


@pytest.mark.parametrize("settings", ["salesforce"], indirect=True)
def test_whoever_owns_a_lead_sells_where_the_rules_would_send_it(settings):
    plan = scenario(leads=400, seconds=10, events=3, seed=8)
    pools = {rep.name: rep.pool for rep in REPS}
    for one in known(plan, 8, share=1.0):
        if one.owner in pools:
            assert pools[one.owner] == territory(one.who)
    codes = {"Germany": "DE", "France": "FR", "United States": "US"}
    rules = compile_rules(settings.settings)
    for country, code in codes.items():
        for size in (8, 499, 500):
            who = Address("A", "B", "a@b.com", Company("B", "b.com", size, country, ""))
            values = {"employees": size, "country": code, "domain_kind": "other", "email_kind": "work"}
            found = rules.decide(values, "website")
            assert found is not None
            assert found.pool == territory(who)


@pytest.mark.parametrize("crm", CRMS.values(), ids=CRMS)
def test_the_org_holds_whoever_is_there(crm):
    plan = scenario(leads=200, seconds=10, events=1, seed=4)
    there = known(plan, 4)
    seed: Any = crm.seed(plan.companies, there)
    rows = [*seed.get("leads", ()), *seed["contacts"]]
    held = [
        crm.held({"_deleted": False, "_archived": False, "Id": n, "id": n} | _flat(row)) for n, row in enumerate(rows)
    ]
    emails = {email for one in held for email in one.emails}
    assert {one.who.email for one in there} <= emails
    assert set(crm.kinds) == set(ORDER)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A seed's row as the simulator shows it."""
    return row | {"hs_additional_emails": ";".join(row.get("additional_emails", ()))}


def test_a_forger_signs_with_a_guess():
    plan = scenario(leads=100, seconds=10, events=1, seed=1)
    forged = next(post for post in plan.posts if post.kind == "forged")
    honest = next(post for post in plan.posts if post.kind == "event")
    one, other = ({"website": "one"}, {"website": "other"})
    assert headers(forged, one) == headers(forged, other)
    assert headers(honest, one) != headers(honest, other)
