"""The demo's burst as data: the same seed gives the same, and every address is what the settings take it for."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fairturn.assemble.demo.scenario import JUNK_ADDRESSES, scenario
from fairturn.assemble.demo.sending import headers
from fairturn.assemble.demo.settings import POOLS, REPS, SOURCES, org_seed, render
from fairturn.decide.addresses import email_facts
from fairturn.operate.loaded import Loaded
from fairturn.operate.settings import parse


@pytest.fixture
def settings(tmp_path: Path) -> Loaded:
    for name in ("website.secret", "enrichment.secret", "scoring.secret", "crm.secret", "crm.id"):
        path = tmp_path / name
        path.touch(mode=0o600)
        path.write_text("0123456789abcdef")
    text = render(tmp_path, crm_url="http://127.0.0.1:9", org="00Dab0000000001", port=8080)
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


def test_companies_follow_zipf_and_the_org_knows_them_all():
    plan = scenario(leads=2000, seconds=10, events=1, seed=1)
    sent = Counter(person.email.partition("@")[2] for person in plan.people)
    ranks = [sent[company.domain] for company in plan.companies]
    assert ranks[0] > 3 * ranks[20] > 0
    assert sum(ranks) / 2000 == pytest.approx(0.85, abs=0.03)
    accounts: Any = org_seed(plan.companies)["accounts"]
    keys = {account["Fairturn_Key__c"] for account in accounts}
    assert keys == {company.domain for company in plan.companies}


def test_a_forger_signs_with_a_guess():
    plan = scenario(leads=100, seconds=10, events=1, seed=1)
    forged = next(post for post in plan.posts if post.kind == "forged")
    honest = next(post for post in plan.posts if post.kind == "event")
    one, other = ({"website": "one"}, {"website": "other"})
    assert headers(forged, one) == headers(forged, other)
    assert headers(honest, one) != headers(honest, other)
