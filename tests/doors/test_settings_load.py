"""Reading the settings: the file itself, its secrets, and that good ones pass without a word."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.assemble.database import find
from fairturn.assemble.deliveries import destination
from fairturn.assemble.roles import source_secrets
from fairturn.errors import ConfigError, DestinationError
from fairturn.model import Batch
from fairturn.operate.addresses import url_problem
from fairturn.operate.secrets import beside, secret
from fairturn.operate.settings import load, parse

GOOD = """
[sources.website]
verify = { type = "shared_secret", secrets = ["env:WEBSITE_SECRET"] }
map = { email = "email", last_name = ["name", 'fields."Your name"'] }
wait_for = ["employees"]

[reps.ann]
name = "Ann Lee"
ids = { salesforce = "0050000000AbCdE" }
attributes = { language = ["en", "de"] }

[reps.bob]
name = "Bob Ray"
ids = { salesforce = "0050000000AbCde" }   # another user: letter case counts
attributes = { language = ["en"] }

[pools.emea]
members = { ann = 2, bob = 1 }
fallback = "rest"
hold_owner = { salesforce = "00G0000000AbCdE" }

[pools.rest]
members = { bob = 0, ann = 1 }

[destinations.salesforce]
type = "salesforce"
url = "https://acme.my.salesforce.com"
org = "00D0000000AbCdE"
client_id = "env:CLIENT_ID"
client_secret = "env:CLIENT_SECRET"
account_lookup = "Account__r.Fairturn_Key__c"

[destinations.salesforce.map]
Email = "email"
Region__c = { value = "EMEA" }
LastName = { field = "last_name", default = "Unknown" }
Company = { field = "company", default = "Unknown" }

[[rules]]
id = "german"
when = 'lead.language == "de"'
pool = "emea"
require = { language = "{lead.language}" }

[[rules]]
id = "queue"
when = 'lead.email_kind == "free"'
park = { salesforce = "00G0000000AbCdE" }

[[rules]]
id = "rest"
when = "true"
pool = "rest"
"""
ENV = {"WEBSITE_SECRET": "a long enough secret", "CLIENT_ID": "3MVG9abcdef", "CLIENT_SECRET": "0123456789abcdef"}
FILE = Path("fairturn.toml")


def refused(text, env=None, **more):
    with pytest.raises(ConfigError) as caught:
        parse(text, FILE, ENV if env is None else env, **more)
    return [str(fault) for fault in caught.value.faults]


def test_good_settings_pass_without_a_word():
    loaded = parse(GOOD, FILE, ENV)
    assert loaded.faults == ()
    assert loaded.settings.pools["emea"].members == {"ann": 2, "bob": 1}
    assert loaded.line_of("pools.emea.fallback") == 19


def test_settings_hold_names_of_secrets_only():
    """Case 123."""
    loaded = parse(GOOD, FILE, ENV)
    assert not any(value in repr(loaded) for value in ENV.values())


def test_warnings_do_not_refuse():
    loaded = parse(GOOD.replace('org = "00D0000000AbCdE"\n', ""), FILE, ENV)
    assert [(fault.severity, fault.key) for fault in loaded.faults] == [("warning", "destinations.salesforce.org")]


def test_commands_that_only_read_need_no_secrets():
    assert len(refused(GOOD, {})) == 3
    assert parse(GOOD, FILE, {}, secrets=False).faults == ()


def test_relative_paths_begin_at_the_settings_whatever_folder_one_is_in(tmp_path, monkeypatch):
    """`data` and "file:" mean the same to `serve` under systemd, to cron, and to a person in another folder."""
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    for folder in (home, elsewhere):
        folder.mkdir()
    (home / "hook.secret").write_text("a long enough secret")
    (home / "hook.secret").chmod(0o600)
    text = 'data = "pg"\n' + GOOD.replace("env:WEBSITE_SECRET", "file:hook.secret")
    (home / "fairturn.toml").write_text(text)
    monkeypatch.chdir(elsewhere)
    for path in (home / "fairturn.toml", Path("../home/fairturn.toml")):
        assert load(path, ENV).faults == ()
        assert find(path, ENV).place.data.resolve() == home / "pg"
        settings, env = load(path, ENV).settings, beside(path, ENV)
        assert source_secrets(settings, env)["website"] == (b"a long enough secret",)
    (home / "fairturn.toml").write_text('data = "pg"\n[nonsense]\n')
    assert find(home / "fairturn.toml", ENV).place.data == home / "pg"
    (elsewhere / "linked.toml").symlink_to(home / "fairturn.toml")
    assert find(Path("linked.toml"), ENV).place.data == elsewhere / "pg"


async def test_a_destination_in_shadow_needs_no_secrets_and_no_address_yet():
    """`check` and the worker agree: what is named and missing is a warning, and nothing is asked of it."""
    shadow = GOOD.replace('type = "salesforce"', 'type = "salesforce"\nmode = "shadow"')
    loaded = parse(shadow, FILE, {"WEBSITE_SECRET": ENV["WEBSITE_SECRET"]})
    assert [(fault.severity, fault.key) for fault in loaded.faults] == [
        ("warning", "destinations.salesforce.client_id"),
        ("warning", "destinations.salesforce.client_secret"),
    ]
    bare = re.sub(r"(?m)^(url|client_id|client_secret) = .*\n", "", shadow)
    loaded = parse(bare, FILE, {"WEBSITE_SECRET": ENV["WEBSITE_SECRET"]})
    assert loaded.faults == ()
    crm = destination("salesforce", loaded.settings, {})
    assert await crm.org() is None
    with pytest.raises(DestinationError, match="shadow mode: batch 1 was not sent"):
        await crm.write(Batch(1, "salesforce", (), datetime(2026, 3, 2, tzinfo=UTC)))


@pytest.mark.parametrize(
    ("lookup", "sobject", "said"),
    [
        ("Account__r.Key__c", "Lead", None),
        ("Account.Key__c", "Contact", None),
        ("Account.Key__c", "Lead", "a Lead has no account by itself"),
        ("Account__c", "Contact", "is no lookup by external id"),
        ("Owner.Key__c", "Contact", "is no lookup by external id"),
    ],
)
def test_the_lookups_that_the_encoder_takes(lookup, sobject, said):
    text = GOOD.replace("Account__r.Fairturn_Key__c", lookup).replace(
        'type = "salesforce"', f'type = "salesforce"\nobject = "{sobject}"'
    )
    if sobject == "Contact":  # which has no Company
        text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("Company ="))
    if said is None:
        assert parse(text, FILE, ENV).faults == ()
    else:
        (fault,) = refused(text)
        assert said in fault


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b'a = 1\nname = "M\xfcller"\n', 2, "not UTF-8"),
        (b"", None, "nowhere to go"),
        (b"a = " + b"9" * 5000, None, "too long"),
        (b"a = " + b"[" * 5000 + b"]" * 5000, None, "nested too deeply"),
    ],
)
def test_odd_files(tmp_path, data, line, message):
    path = tmp_path / "fairturn.toml"
    path.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        load(path, ENV)
    fault = next(fault for fault in caught.value.faults if message in fault.message)
    assert (fault.file, fault.line) == (str(path), line)


def test_no_file_and_no_permission(tmp_path):
    with pytest.raises(ConfigError, match=r"no such file.*fairturn init"):
        load(tmp_path / "nowhere.toml", ENV)
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path, ENV)


def test_byte_order_mark_and_windows_line_ends(tmp_path):
    path = tmp_path / "fairturn.toml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert load(path, ENV).line_of("rules.1.when") == parse(GOOD, FILE, ENV).line_of("rules.1.when")


@pytest.mark.parametrize("value", ["", "  ", "\n"])
def test_an_empty_secret_is_an_error(tmp_path, value):
    """Case 53: with an empty key anybody can sign."""
    file = tmp_path / "secret"
    file.write_text(value)
    for ref, env in (("env:WEBSITE_SECRET", {"WEBSITE_SECRET": value}), (f"file:{file}", {})):
        with pytest.raises(ConfigError, match="is empty"):
            secret(ref, env)
    assert any("WEBSITE_SECRET is empty" in said for said in refused(GOOD, ENV | {"WEBSITE_SECRET": value}))


def test_secrets_from_files(tmp_path):
    file = tmp_path / "secret"
    file.write_bytes(b"\xef\xbb\xbfwith a line end\r\n")
    assert secret(f"file:{file}", {}) == "with a line end"
    text = GOOD.replace("env:WEBSITE_SECRET", f"file:{file}")
    file.chmod(0o600)
    assert parse(text, FILE, ENV).faults == ()
    file.chmod(0o644)
    (fault,) = parse(text, FILE, ENV).faults
    assert (fault.severity, fault.remedy) == ("warning", f"Close it: chmod 600 {file}")


@pytest.mark.parametrize(
    "ref", ["", "sw0rdfish", "env:", "env:A B", "file:", "vault:x", "env:NOT_SET", "file:/nowhere/x"]
)
def test_what_names_no_secret(ref):
    with pytest.raises(ConfigError) as caught:
        secret(ref, {})
    assert "sw0rdfish" not in str(caught.value)


def test_a_secret_that_is_no_base64():
    text = GOOD.replace(
        '{ type = "shared_secret", secrets',
        '{ type = "hmac", header = "X", key = "base64", key_prefix = "whsec_", secrets',
    )
    assert parse(text, FILE, ENV | {"WEBSITE_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}).faults == ()
    (said,) = refused(text, ENV | {"WEBSITE_SECRET": "whsec_not base64!"})
    assert "no base64" in said


def test_a_literal_nul_is_refused():
    assert any("NUL" in said for said in refused(GOOD.replace('"Ann Lee"', '"Ann \\u0000 Lee"')))


def test_two_reps_with_one_user():
    """Cases 99 and 121: one record in its short and its long form."""
    (said,) = refused(GOOD.replace('"0050000000AbCde"', '"0050000000AbCdEAAV"'))
    assert said.startswith('fairturn.toml:14: reps.bob.ids.salesforce: reps "ann" (line 9) and "bob" are one user')


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/", "https://169.254.169.254", "https://0x7f000001/", "https://2130706433/",
        "https://[::ffff:127.0.0.1]/", "https://[::1]", "https://[fe80::1%25eth0]/", "https://localhost", "https://127.1",
        "https://0177.0.0.1", "https://010.8.8.8", "https://10.0.0.7:8443", "https://192.168.1.1", "https://0.0.0.0",
        "https://crm.internal", "https://crm", "https://127.0.0.1.", "https://LOCALHOST.", "https://8.8.8.8",
        "https://user@good.test@127.0.0.1/", "https://acme@127.0.0.1", "https://user:pass@acme.com", "file:///etc/passwd",
        "ftp://acme.com", "acme.com", "", "https://", "http://acme.my.salesforce.com", "https://acme.com/services",
        "https://acme.com?x=1", "https://acme.com\\@evil.test", "https://acme.com:port", "https://ac me.com",
        "https://[::1", "https://[64:ff9b::7f00:1]", "https://[2002:7f00:1::]", "https://0x7f.1", "https://08.8.8.8",
    ],
)  # fmt: skip
def test_urls_that_are_not_called(url):
    """Case 122, as far as the text of a URL tells."""
    problem = url_problem(url, allow_private=False)
    assert problem is not None
    assert all(problem)
    text = GOOD.replace("https://acme.my.salesforce.com", url.replace("\\", "\\\\"))
    assert any("destinations.salesforce.url" in said for said in refused(text))


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8081", "http://localhost:9000/", "https://10.0.0.7", "http://crmsim:80"]
)
def test_private_addresses_where_they_are_asked_for(url):
    assert url_problem(url, allow_private=True) is None
    assert url_problem(url, allow_private=False) is not None


@pytest.mark.parametrize("url", ["https://acme.my.salesforce.com", "https://acme--dev.sandbox.my.salesforce.com:443/"])
def test_urls_that_are_called(url):
    assert url_problem(url, allow_private=False) is None


VALUES = ("1", "-1", "0.5", "true", '"x"', '""', "[]", "{}", '["a"]', "{ a = 1 }", "nan", "inf", "12:30:00", "9" * 20)
SIGNS = ("[", "]", "{", "}", "=", ".", ",", "#", "0", "é", " ", '"', "'", "\\")


@st.composite
def slips(draw):
    """Good settings after one to three slips: a value of another kind, a line gone, a character too many or too few."""
    lines = GOOD.splitlines()
    for number in draw(st.lists(st.integers(0, len(lines) - 1), min_size=1, max_size=3)):
        line = lines[number]
        place = draw(st.integers(0, len(line)))
        slip = draw(st.sampled_from(["value", "more", "less", "gone"]))
        lines[number] = {
            "value": f"{line.partition('=')[0]} = {draw(st.sampled_from(VALUES))}",
            "more": line[:place] + draw(st.sampled_from(SIGNS)) + line[place:],
            "less": line[:place] + line[place + 1 :],
            "gone": "",
        }[slip]
    return "\n".join(lines)


@settings(max_examples=150, deadline=None)
@given(slips())
def test_whatever_a_hand_does_to_good_settings_is_answered_in_words(text):
    try:
        parse(text, FILE, ENV)
    except ConfigError as error:
        for fault in error.faults:
            assert fault.line is not None or not fault.key, fault
            assert fault.message, fault
            assert fault.remedy, fault


PEOPLE = """\
system_of_record = "salesforce"
[sources.website]
verify = { type = "unsigned" }
map = { email = "email" }
[reps.ann]
name = "Ann Lee"
email = "ann@acme.com"
[reps.bob]
name = "Bob Ray"
ids = { salesforce = "Bob Ray", hubspot = "bob@acme.com" }
[pools.emea]
members = { ann = 1, bob = 1 }
hold_owner = { salesforce = "Inbound queue" }
[destinations.salesforce]
type = "salesforce"
url = "https://acme.my.salesforce.com"
org = "00D5g000000AbCd"
client_id = "env:SF_ID"
client_secret = "env:SF_SECRET"
parked_owners = ["Old Leads", "0055g000000AbCd"]
recycle_statuses = ["Recycled"]
[destinations.salesforce.map]
LastName = { field = "last_name", default = "Unknown" }
Company = { field = "company", default = "Unknown" }
Status = { value = "New", mode = "forward", order = ["New", "Working"] }
RecordTypeId = { record_type = "Inbound" }
Fairturn_Rule__c = { assignment = "rule" }
[destinations.hubspot]
type = "hubspot"
org = "12345678"
token = "env:HUBSPOT_TOKEN"
map = { email = "email", lifecyclestage = { value = "lead", mode = "forward" } }
[[rules]]
id = "rivals"
when = 'lead.domain_kind == "competitor"'
park = "Competitors"
create = "always"
[[rules]]
id = "rest"
when = "true"
pool = "emea"
existing = "assign"
"""
KEYS = {"SF_ID": "3MVG9abcdef", "SF_SECRET": "0123456789", "HUBSPOT_TOKEN": "pat-na1-0123456789"}


def test_names_do_where_ids_did():
    """Reps, queues, parked owners and record types, in two CRMs of which one has the word on owners."""
    assert parse(PEOPLE, FILE, KEYS).faults == ()


def test_owners_are_written_nowhere_if_the_crm_that_has_them_is_in_shadow():
    text = PEOPLE.replace('type = "salesforce"', 'type = "salesforce"\nmode = "shadow"')
    [fault] = parse(text, FILE, KEYS).faults
    assert (fault.severity, fault.key, fault.line) == ("warning", "system_of_record", 1)
    assert "no owner is written anywhere" in fault.message


def test_rules_about_people_there_say_nothing_where_nobody_is_asked():
    text = PEOPLE.replace('type = "salesforce"', 'type = "salesforce"\nexisting = "ignore"').replace(
        'type = "hubspot"', 'type = "hubspot"\nexisting = "ignore"'
    )
    said = [(fault.severity, fault.key) for fault in parse(text, FILE, KEYS).faults]
    assert said == [
        ("warning", "destinations.salesforce.parked_owners"),
        ("warning", "destinations.salesforce.recycle_statuses"),
        ("warning", "rules.1.create"),
        ("warning", "rules.2.existing"),
    ]
