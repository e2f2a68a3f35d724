"""Limits, values and the records' keys without a process."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crmsim.clock import Stamp
from crmsim.hubspot import fidelity, values
from crmsim.hubspot.limits import Limits, zone
from crmsim.hubspot.options import HubspotOptions
from crmsim.hubspot.portal import Author, Portal
from crmsim.hubspot.properties import standard
from crmsim.hubspot.switches import CHOICES, Switches
from crmsim.hubspot.tokens import App

APP, OTHER, OAUTH = App(1, "a", oauth=False), App(2, "b", oauth=False), App(3, "c", oauth=True)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()
WHO = Author("us", "api", 1, Stamp(NOON, 0.0))


def test_ten_seconds_roll():
    limits = Limits.of(HubspotOptions(burst_limit=2, oauth_burst_limit=1))

    def take(app, now):
        return limits.take(app, now, NOON, search=False)

    assert [take(APP, 0), take(APP, 4), take(APP, 9.9)] == [None, None, "burst"]
    assert take(OTHER, 9.9) is None, "each app has its own"
    assert [take(OAUTH, 9.9), take(OAUTH, 9.9)] == [None, "burst"]
    assert [take(APP, 10), take(APP, 10), take(APP, 14)] == [None, "burst", None]
    assert limits.used == 6


def test_searches_roll_by_the_second_for_all_apps():
    limits = Limits.of(HubspotOptions())
    assert [limits.take(APP, 0.1 * n, NOON, search=True) for n in range(6)] == [None] * 5 + ["search"]
    assert limits.take(OTHER, 0.9, NOON, search=True) == "search"
    assert limits.take(OTHER, 1.0, NOON, search=True) is None


def test_the_day_ends_at_midnight_in_the_accounts_time_zone():
    limits = Limits.of(HubspotOptions(daily_limit=1, time_zone="Europe/Berlin"))
    assert limits.take(APP, 0, NOON, search=False) is None
    assert limits.take(APP, 0, NOON + 10.9 * 3600, search=True) == "daily"
    assert limits.midnight(NOON) == datetime(2026, 3, 1, 23, tzinfo=UTC)
    assert limits.take(APP, 0, NOON + 11 * 3600, search=False) is None
    with pytest.raises(ValueError, match="no time zone"):
        zone("Mars/Olympus")


@pytest.mark.parametrize(
    ("email", "good"),
    [
        ("jane@acme.com", True), ("j.d+x@mail.acme.co.uk", True), ("jane@acme.test", True), ("j@x.berlin", True),
        ("jane@acme.con", False), ("jane@acme.lcom", False), ("jane@acme", False), ("@acme.com", False),
        ("jane@-acme.com", False), ("jane@acme..com", False), (".jane@acme.com", False), ("jane@@acme.com", False),
        ("josé@acme.com", False),
    ],
)  # fmt: skip
def test_an_address(email, good):
    assert values.email_is_good(email, Switches()) is good


def test_an_address_of_an_unknown_top_level_domain_is_a_matter_of_switches():
    assert values.email_is_good("a@b.con", Switches(tld_check=False))
    assert values.email_is_good("a@b.con", Switches(extra_tlds="con"))
    assert not values.email_is_good("a@b.test", Switches(extra_tlds="con"))


@pytest.mark.parametrize(
    ("name", "given_value", "kept"),
    [
        ("createdate", None, "READ_ONLY_VALUE"),
        ("email", "  A@X.co ", "a@x.co"),
        ("hs_additional_emails", "B@x.co; c@x.co ;", "b@x.co;c@x.co"),
        ("score", 1.5, "1.5"),
        ("score", "1e3", "1e3"),
        ("hs_email_optout", True, "true"),
        ("lifecyclestage", "lead ", "lead"),
        ("phone", None, ""),
    ],
)
def test_a_value_is_kept_as_text(name, given_value, kept):
    clean, wrong = values.check(standard()["contacts"], {name: given_value}, Portal(), Switches())
    assert (wrong[0].error if wrong else clean[name]) == kept


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(standard()["contacts"].properties)), st.text(max_size=12), max_size=6))
def test_any_text_is_kept_or_refused_by_name(properties):
    clean, wrong = values.check(standard()["contacts"], properties, Portal(), Switches())
    assert set(clean) | {item.name for item in wrong} == set(properties)
    assert all(isinstance(value, str) for value in clean.values())


MAILS = st.sampled_from(["a@x.co", "b@x.co", "c@x.co", "d@x.co"])
ACTS = st.lists(st.tuples(st.sampled_from(["create", "email", "more", "archive", "merge"]), MAILS, st.integers(0, 5)))


@settings(max_examples=60, deadline=None)
@given(ACTS)
def test_an_email_leads_to_one_live_contact_whatever_happened(acts):
    """Creates, changes of e-mail, additional e-mails, archives and merges in any order."""
    portal = Portal()
    kind = portal.kinds["contacts"]
    for act, mail, place in acts:
        live = portal.live("contacts")
        record = live[place % len(live)] if live else None
        given_values = {"hs_additional_emails" if act == "more" else "email": mail}
        free = portal.holder(kind, given_values, None if act == "create" else record) is None
        if act == "create" and free:
            portal.insert(kind, given_values, WHO)
        elif record is None:
            continue
        elif act in ("email", "more") and free:
            portal.apply(record, given_values, WHO)
        elif act == "archive":
            portal.archive(record, WHO)
        elif act == "merge" and len(live) > 1:
            other = live[(place + 1) % len(live)]
            ids = {record.id, other.id}
            stays = portal.merge(record, other, WHO, new_id=bool(place % 2))
            assert all(portal.get(kind, old) is stays for old in ids)
    for record in portal.live("contacts"):
        mails = [record.email, *record.values.get("hs_additional_emails", "").split(";")]
        assert all(portal.find(kind, "email", mail) is record for mail in mails if mail)
    assert all(portal.records[known] for known in portal.keys["contacts", "email"].values())


def test_every_switch_that_the_table_names_is_there():
    named = {name for _, _, _, switch in fidelity.RULES if switch for name in switch.split(", ")}
    assert named <= set(Switches.__slots__)
    assert set(CHOICES) <= named
    assert len({name for name, *_ in fidelity.RULES}) == len(fidelity.RULES)
    assert {confidence for _, _, confidence, _ in fidelity.RULES} == {
        "documented",
        "recorded",
        "reported",
        "unverified",
    }


def test_secrets_stay_out_of_the_options_words():
    shown = repr(HubspotOptions())
    assert not any(secret in shown for secret in ("pat-na1", "crmsim-secret", "crmsim-refresh"))
