"""`fairturn check --crm` and `fairturn crm setup`, as a person at a shell uses them, against simulated CRMs."""

import asyncio
import json
import subprocess
import sys

import httpx2
import pytest
from typer.testing import CliRunner

from fairturn.cli import app

SETTINGS = """\
system_of_record = "salesforce"

[sources.website]
verify = {{ type = "unsigned" }}
map = {{ email = "email" }}

[reps.ann]
name = "Ann"
email = "ann@crm.test"

[pools.all]
members = {{ ann = 1 }}

[destinations.salesforce]
type = "salesforce"
url = "{salesforce}"
allow_private = true
request_timeout = "{timeout}"
client_id = "env:SF_ID"
client_secret = "env:SF_SECRET"

[destinations.salesforce.map]
Email = "email"
LastName = {{ field = "last_name", default = "Unknown" }}
Company = {{ field = "company", default = "Unknown" }}

[destinations.hubspot]
type = "hubspot"
url = "{hubspot}"
allow_private = true
token = "env:HUBSPOT_TOKEN"
map = {{ email = "email", lastname = "last_name" }}

[destinations.print]
type = "console"

[[rules]]
id = "rest"
when = "true"
pool = "all"
"""


@pytest.fixture(scope="module")
def crms():
    command = [sys.executable, "-m", "crmsim", "serve", "--port", "0", "--hubspot-port", "0", "--time-scale", "0.02"]
    process = subprocess.Popen(
        [*command, "--exit-with-parent"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.communicate(timeout=10)


@pytest.fixture
def shell(crms, tmp_path):
    """Runs a command in a folder with settings for both CRMs, each with Ann in it."""
    for control in ("control", "hubspot_control"):
        with httpx2.Client(base_url=crms[control], trust_env=False, verify=False) as sim:
            sim.post("/reset", json={})
            section = "users" if control == "control" else "owners"
            assert sim.post("/seed", json={section: [{"name": "Ann", "email": "ann@crm.test"}]}).status_code == 200
    file = tmp_path / "fairturn.toml"
    env = {
        "FAIRTURN_CONFIG": str(file),
        "COLUMNS": "200",
        "SF_ID": "crmsim-client",
        "SF_SECRET": "crmsim-secret",
        "HUBSPOT_TOKEN": "pat-na1-crmsim",
    }

    async def run(*words, code, text=SETTINGS, **changes):
        file.write_text(text.format(**{**crms, "timeout": "10s", **changes}))
        done = await asyncio.to_thread(CliRunner().invoke, app, list(words), env=env, catch_exceptions=False)
        assert done.exit_code == code, (done.exit_code, done.stdout, done.stderr)
        return done.stdout if code != 2 else done.stderr

    return run


async def test_both_crms_are_asked(shell):
    """What must be mended comes first, and each finding says where to click."""
    said = (await shell("check", "--crm", code=1)).splitlines()
    start = said.index("hubspot:")
    assert said[start + 1].startswith("  error: fairturn_id: there is no such property. `fairturn crm setup --hubspot")
    assert any(line.startswith("  ok: rep ann: Ann (005") for line in said)
    assert any(line.startswith("  warning: assignment rule Standard: is active on Lead") for line in said)
    assert said[-1].startswith("The CRMs: 1 fault (")


async def test_setup_makes_it_stand(shell):
    said = await shell("crm", "setup", "--hubspot", code=1)
    assert "  missing: fairturn_id: Fairturn's key of the lead" in said
    assert '  fairturn_rule = { assignment = "rule" }' in said
    assert "  crm.objects.contacts.write: to write contacts" in said
    assert "  made: fairturn_id:" in await shell("crm", "setup", "--hubspot", "--create", code=0)
    facts = json.loads(await shell("crm", "setup", "--hubspot", "--create", "--json", code=0))
    assert facts["ok"]
    assert all(row["there"] and not row["made"] for row in facts["properties"])
    facts = json.loads(await shell("check", "--crm", "--probe", "--json", code=0))
    assert facts["ok"]
    probes = [(one["destination"], one["severity"]) for one in facts["crm"] if one["subject"] == "probe"]
    assert set(probes) == {("salesforce", "ok"), ("hubspot", "ok")}
    assert set(facts["crm"][0]) == {"severity", "destination", "subject", "sentence", "remedy"}


async def test_one_that_does_not_answer_spoils_nothing(shell):
    facts = json.loads(await shell("check", "--crm", "--json", code=1, salesforce="http://127.0.0.1:1", timeout="2s"))
    mine = [one for one in facts["crm"] if one["destination"] == "salesforce"]
    assert [(one["severity"], one["subject"]) for one in mine] == [("error", "connection")]
    assert any(one["subject"] == "rep ann" for one in facts["crm"] if one["destination"] == "hubspot")
    assert not facts["ok"]


async def test_faults_of_the_settings_come_first(shell):
    said = await shell("check", "--crm", code=1, text=SETTINGS.replace('pool = "all"', 'pool = "al"'))
    assert "there is no pool" in said
    assert said.splitlines()[-1] == "The CRMs were not asked: mend these first."


async def test_a_shadow_without_its_secrets(shell):
    """It runs without them; asked it cannot be."""
    shadow = SETTINGS.replace('type = "salesforce"', 'type = "salesforce"\nmode = "shadow"').replace(
        'client_secret = "env:SF_SECRET"\n', ""
    )
    facts = json.loads(await shell("check", "--crm", "--json", code=1, text=shadow))
    [found] = [one for one in facts["crm"] if one["destination"] == "salesforce"]
    assert (found["severity"], found["subject"]) == ("warning", "login")
    assert "client_secret" in found["sentence"]


async def test_a_probe_is_asked_of_crms(shell):
    assert "--crm" in await shell("check", "--probe", code=2)


async def test_setup_is_told_for_which_crm(shell):
    assert "--hubspot" in await shell("crm", "setup", code=2)
    assert 'no HubSpot destination "hub"' in await shell("crm", "setup", "--hubspot", "--destination", "hub", code=2)
