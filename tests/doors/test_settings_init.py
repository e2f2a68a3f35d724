"""What `fairturn init` writes loads and checks clean, whatever export it was made from."""

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.errors import ConfigError
from fairturn.operate.headings import lead_fields, owner_heading, people
from fairturn.operate.init import starter, starter_from
from fairturn.operate.settings import parse
from fairturn.operate.sheets import parse_sheet, read_sheet

ENV = {
    "FAIRTURN_WEBSITE_SECRET": "a long enough secret",
    "SALESFORCE_CLIENT_ID": "3MVG9abcdef",
    "SALESFORCE_CLIENT_SECRET": "0123456789",
    "HUBSPOT_TOKEN": "pat-na1-0123456789",
}
FILE = Path("fairturn.toml")
FORMATS = ("plain", "form", "typeform", "hubspot_workflow")


@pytest.mark.parametrize("destination", ["console", "salesforce", "hubspot"])
def test_it_checks_clean(destination):
    loaded = parse(starter(destination), FILE, ENV, formats=FORMATS)
    assert loaded.faults == ()
    assert [rule.id for rule in loaded.settings.rules] == [
        "own-people", "test-addresses", "disposable-addresses", "competitors", "everyone-else",
    ]  # fmt: skip
    assert sorted(loaded.settings.pools["inbound"].members.values()) == [1, 2]


@pytest.mark.parametrize("destination", ["salesforce", "hubspot"])
def test_a_crm_starts_in_shadow(destination):
    settings = parse(starter(destination), FILE, ENV).settings
    assert settings.destinations[destination].mode == "shadow"


@pytest.mark.parametrize("destination", ["salesforce", "hubspot"])
def test_going_live_needs_no_ids(destination):
    """Reps are found in the CRM by their e-mail."""
    loaded = parse(starter(destination).replace('mode = "shadow"', 'mode = "live"'), FILE, ENV)
    assert [(fault.severity, fault.key) for fault in loaded.faults] == [("warning", f"destinations.{destination}.org")]


@pytest.mark.parametrize("destination", ["salesforce", "hubspot"])
def test_what_is_commented_out_works_too(destination):
    """Modes and assignment fields: a new user takes the # away, and no more."""
    lines = starter(destination).splitlines()
    start = lines.index(f"[destinations.{destination}]")
    end = next(place for place, line in enumerate(lines) if "--- Rules" in line)
    ready = [re.sub(r"^# (?=\w+ = )", "", line) for line in lines[start:end]]
    ready = [line.replace("00D...", "00D5g000000AbCdEAK") for line in ready if "Status = {" not in line]
    settings = parse("\n".join([*lines[:start], *ready, *lines[end:]]), FILE, ENV).settings
    mine = settings.destinations[destination]
    assert mine.parked_owners
    assert mine.recycle_statuses
    assert mine.org
    ways = [way for way in mine.map.values() if not isinstance(way, str)]
    assert {way.assignment for way in ways if way.assignment} == {
        "id", "rule", "pool", "reason", "received_at", "assigned_at",
    }  # fmt: skip
    assert {"create_only", "never_unset"} <= {way.mode for way in ways if way.mode}


def test_an_owner_whom_an_export_names_is_found_by_name():
    """Owners of an export are the CRM's own names; a queue's id is nobody's."""
    owners = ["Ann Lee", "bob@acme.com", "Bob@acme.com.invalid", "00G5g000000AbCdEAK", "0055g000000AbCd"]
    loaded = parse(starter("salesforce", ["Email"], owners), FILE, ENV)
    reps = {rep: (row.email, dict(row.ids)) for rep, row in loaded.settings.reps.items()}
    assert list(reps.values()) == [
        (None, {"salesforce": "Ann Lee"}),
        ("bob@acme.com", {}),
        (None, {}),
        (None, {}),
        (None, {"salesforce": "0055g000000AbCd"}),
    ]


EXPORT = (
    "Lead Owner;Email Address;First Name;Last Name;Company;No. of Employees;Budget (k€)\r\n"
    'Ann Lee;jane@acme.com;Jane;Doe;"Acme; Inc";250;10\r\n'
    "José Ñu;joe@rival.com;Joe;Müller;Rival;;\r\n"
    "ann lee;x@y.com;;;;;\r\n"
    "Unassigned;x@y.com;;;;;\r\n"
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_an_export_of_any_country(tmp_path, encoding):
    path = tmp_path / "leads.csv"
    path.write_bytes(EXPORT.encode(encoding))
    loaded = parse(starter_from(path), FILE, ENV, formats=FORMATS)
    settings = loaded.settings
    assert loaded.faults == ()
    assert settings.sources["website"].map["email"] == ("email", '"Email Address"')
    assert settings.sources["website"].map["company"] == ("company", "Company")
    assert {rep: settings.reps[rep].name for rep in settings.reps} == {"ann-lee": "Ann Lee", "jose-nu": "José Ñu"}
    assert settings.pools["inbound"].members == {"ann-lee": 1, "jose-nu": 1}
    assert "budget_k" in loaded.text
    assert read_sheet(path).rows[0]["Company"] == "Acme; Inc"


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("a,b\n1,2\n", {"a": "1", "b": "2"}),
        ("sep=;\na;b\n1;2,5\n", {"a": "1", "b": "2,5"}),
        ("a\tb\n1\t\n", {"a": "1"}),
        ('"a, x"|b\n1|2|3\n', {"a, x": "1", "b": "2"}),
        ('a,b\n"two\nlines","say ""x"""\n', {"a": "two\nlines", "b": 'say "x"'}),
        ("\n\n a , a ,\n1,2,3\n", {"a": "1", "a (2)": "2"}),
        ("a,b\n\0 1,2\n", {"a": "1", "b": "2"}),
        ("a;b\n1;2\n", {"a": "1", "b": "2"}),
        ("email\njane@acme.com\n", {"email": "jane@acme.com"}),
    ],
)
def test_tables(text, row):
    assert parse_sheet(text, FILE).rows[0] == row


@pytest.mark.parametrize("text", ["", "\n\n", ",,,\n, ,\n"])
def test_tables_without_headings(text):
    with pytest.raises(ConfigError, match="Export it again"):
        parse_sheet(text, FILE)


def test_no_file(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        read_sheet(tmp_path / "nowhere.csv")


def test_headings_of_crms():
    hubspot = ["Record ID", "First Name", "Last Name", "Email", "Company Name", "Contact owner", "Country/Region"]
    assert lead_fields(hubspot) == {
        "email": "Email", "first_name": "First Name", "last_name": "Last Name", "company": "Company Name",
        "country": "Country/Region",
    }  # fmt: skip
    assert owner_heading(hubspot) == "Contact owner"
    assert lead_fields(["Vorname", "Nachname", "E-Mail", "Firma", "PLZ"])["postal_code"] == "PLZ"
    assert owner_heading(["Email", "Company"]) is None


def test_owners_become_reps():
    assert people(["Ann Lee", "ann lee", "ann.lee@acme.com", "", "N/A", "李雷", "王芳"]) == [
        ("ann-lee", "Ann Lee", None),
        ("ann-lee-2", "Ann Lee", "ann.lee@acme.com"),
        ("rep", "李雷", None),
        ("rep-2", "王芳", None),
    ]


def test_many_reps_stay_readable():
    text = starter("console", ["Email"], [f"Rep Number {number}" for number in range(40)])
    assert len(parse(text, FILE, ENV).settings.pools["inbound"].members) == 40
    assert max(map(len, text.splitlines())) < 140


WORD = st.text(max_size=25)


@settings(max_examples=150, deadline=None)
@given(st.lists(WORD, max_size=6), st.lists(WORD, max_size=6), st.sampled_from(["console", "salesforce", "hubspot"]))
def test_no_export_makes_settings_that_do_not_stand(headings, owners, destination):
    text = starter(destination, headings, owners)
    tomllib.loads(text)
    loaded = parse(text, FILE, ENV, formats=FORMATS)
    assert [fault for fault in loaded.faults if fault.severity == "error"] == []
