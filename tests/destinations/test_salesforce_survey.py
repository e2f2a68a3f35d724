"""`fairturn check --crm` against a simulated org: every fault that a first write would meet, said beforehand."""

import contextlib
import socket

import pytest

from fairturn.config import Settings
from fairturn.destinations.salesforce.survey import open_survey
from tests.destinations.simulated import MAP

FIELDS = {
    **MAP,
    "Fairturn_Rule__c": {"assignment": "rule"},
    "Fairturn_Assigned_At__c": {"assignment": "assigned_at"},
    "Segment__c": {"value": "SMB"},
}


def settings(org, **changes) -> Settings:
    given = {"org": org.get("/summary")["org"], "sandbox": True, **changes.pop("destination", {})}
    mine = org.settings(map=changes.pop("map", FIELDS), **given)
    base = {
        "reps": {
            "ann": {"name": "Ann", "email": "ann@crm.test"},
            "bob": {"name": "Bob", "ids": {"crm": org.users["bob"]}},
        },
        "pools": {"all": {"members": {"ann": 1, "bob": 1}, "hold_owner": {"crm": "Held"}}},
        "rules": [{"id": "rest", "when": "true", "pool": "all"}],
        "destinations": {"crm": mine},
    }
    return Settings.model_validate(base | changes)


async def asked(org, *, probe=False, secret="crmsim-secret", **changes):
    survey = open_survey("crm", settings(org, **changes), client_id="crmsim-client", client_secret=secret)
    async with contextlib.aclosing(Closing(survey)):
        return await survey.survey(probe=probe)


class Closing:
    def __init__(self, survey):
        self.aclose = survey.close


def of(findings, severity):
    return {finding.subject: finding.sentence for finding in findings if finding.severity == severity}


def there(org):
    """Leads that are not in the bin."""
    return [row["Id"] for row in org.get("/records/Lead")["records"] if not row["IsDeleted"]]


def quiet(org):
    """An org without automation, as a beginner's is."""
    org.post("/switches", {"assignment_rule": False})


async def test_an_org_in_order(org):
    quiet(org)
    findings = await asked(org)
    assert of(findings, "error") == {}
    assert of(findings, "warning") == {}
    fine = of(findings, "ok")
    assert fine["login"].endswith("Simulated Org, a sandbox")
    assert {"quota", "Lead", "Contact", "Lead.Fairturn_Id__c", "Contact.Fairturn_Id__c", "Lead.Email"} <= set(fine)
    assert fine["rep ann"] == f"Ann ({org.users['ann']}), active"
    assert fine["owner Held"] == f"Held ({org.queue}), a queue"


async def test_it_reads_only(org):
    """By the simulator's evidence: no request that could write, and nothing that changed."""
    before = org.get("/summary")
    await asked(org)
    after = org.get("/summary")
    assert after["read_requests"] > before["read_requests"]
    assert (after["write_requests"], after["versions"]) == (before["write_requests"], before["versions"])
    assert {row["method"] for row in org.get("/requests")["requests"] if row["kind"] == "write"} == set()


@pytest.mark.parametrize(
    ("changes", "subject", "said"),
    [
        ({"org": "00D000000000001"}, "org", "is pinned to org 00D000000000001"),
        ({"sandbox": False}, "org", "it is a sandbox, and sandbox says that it has to be production"),
        ({"external_id": "Legacy_Id__c"}, "Lead.Legacy_Id__c", "is not marked Unique, so two tries could make two"),
        ({"external_id": "Score__c"}, "Lead.Score__c", "is not marked External ID and Unique"),
        ({"external_id": "Nothing__c"}, "Lead.Nothing__c", "there is no field Nothing__c"),
        ({"status_field": "Stage__c"}, "Lead.Stage__c", "there is no such field"),
        ({"account_lookup": "Account__r.Website"}, "Lead.Account__r.Website", "no external id Website"),
        ({"account_lookup": "Parent__r.Fairturn_Key__c"}, "Lead.Parent__r", "there is no such lookup"),
    ],
)
async def test_what_is_wrong_with_the_destination(org, changes, subject, said):
    findings = await asked(org, destination=changes)
    assert said in of(findings, "error")[subject]
    assert all(finding.remedy for finding in findings if finding.severity == "error")


@pytest.mark.parametrize(
    ("target", "way", "severity", "said"),
    [
        ("Nothing__c", "city", "error", "there is no such field"),
        ("Name", "full_name", "error", "may read it, not create or edit it"),
        ("NumberOfEmployees", "employees", "ok", "int"),
        ("NumberOfEmployees", "company", "warning", "is int, and is given text"),
        ("Title", {"field": "score"}, "error", "is string of 128, and is given a number"),
        ("Title", {"field": "title", "max_length": 300}, "warning", "takes 128 characters, and max_length says 300"),
        ("City", {"value": "x" * 41}, "error", "takes 40 characters, and the constant has 41"),
        ("Status_Code__c", {"assignment": "id"}, "error", "takes 10 characters, and two ids cut to it may be one"),
        ("Renewal__c", {"assignment": "assigned_at"}, "warning", "is date, and is given a time"),
        ("HasOptedOutOfEmail", {"value": True, "mode": "never_unset"}, "ok", "boolean"),
        ("HasOptedOutOfEmail", "message", "error", "is boolean, and is given text"),
        ("Segment__c", {"value": "Huge"}, "error", "has no value Huge; it has SMB, Mid-Market, Enterprise"),
        ("Segment__c", "company", "ok", "a list of 3: what is not in it is left out"),
        ("Rating", {"value": "Lukewarm"}, "warning", "has no value Lukewarm"),
        (
            "Status",
            {"field": "campaign", "mode": "forward", "order": ["Open - Not Contacted", "Done"]},
            "warning",
            "has no value Done",
        ),
    ],
)
async def test_what_is_wrong_with_a_field(org, target, way, severity, said):
    org.post("/seed", {"fields": [{"object": "Lead", "name": "Status_Code__c", "length": 10}]})
    findings = await asked(org, map={**MAP, target: way})
    assert said in of(findings, severity)[f"Lead.{target}"]


async def test_rights(org):
    """Field-level security: what the integration user may not see, and what it may only read."""
    org.post("/switches", {"unwritable": ["Lead.Title", "Lead.Fairturn_Id__c"], "invisible": ["Lead.City"]})
    wrong = of(await asked(org), "error")
    assert wrong["Lead.Title"] == (
        "the integration user may read it, not create or edit it: every lead would go without it"
    )
    assert wrong["Lead.City"] == "there is no such field, or the integration user may not see it"
    assert wrong["Lead.Fairturn_Id__c"] == "the integration user may read it only"


@pytest.mark.parametrize(("switch", "said"), [("not_unique", "is not marked Unique"), ("absent", "there is no field")])
async def test_the_key_on_both_objects(org, switch, said):
    org.post("/switches", {"key_field": switch})
    wrong = of(await asked(org), "error")
    assert said in wrong["Lead.Fairturn_Id__c"]
    assert said in wrong["Contact.Fairturn_Id__c"]
    assert "Contact.Fairturn_Id__c" not in of(await asked(org, destination={"existing": "ignore"}), "error")


async def test_required_fields_that_nothing_fills(org):
    org.post("/seed", {"fields": [{"object": "Lead", "name": "Region__c", "required": True}]})
    assert "is required, and nothing fills it" in of(await asked(org), "error")["Lead.Region__c"]
    mapped = await asked(org, map={**FIELDS, "Region__c": "country"})
    assert "a lead without country has none" in of(mapped, "warning")["Lead.Region__c"]


async def test_record_types(org):
    org.post(
        "/seed",
        {
            "record_types": [
                {"object": "Lead", "name": "Inbound Leads"},
                {"object": "Lead", "name": "Old", "active": False},
            ]
        },
    )
    by_name = {"RecordTypeId": {"record_type": "Inbound Leads"}}
    findings = await asked(org, map={**MAP, **by_name})
    assert of(findings, "error") == {}
    assert of(findings, "ok")["record type Inbound Leads"] == "is active on Lead, and given to the integration user"
    assert "Lead.RecordTypeId" not in of(findings, "ok")
    wrong = of(await asked(org, map={**MAP, "RecordTypeId": {"record_type": "Outbound"}}), "error")
    assert "it has Inbound Leads, Old, Master" in wrong["record type Outbound"]
    wrong = of(await asked(org, map={**MAP, "RecordTypeId": {"record_type": "Old"}}), "error")
    assert wrong["record type Old"] == "is inactive, or not given to the integration user"


async def test_owners_and_queues(org):
    org.post(
        "/seed",
        {
            "users": [
                {"name": "Cid One", "email": "cid@crm.test"},
                {"name": "Cid Two", "email": "cid@crm.test"},
                {"name": "Dee", "email": "dee@crm.test.invalid"},
            ],
            "queues": [{"name": "Cases", "objects": ["Case"]}],
        },
    )
    reps = {
        "gone": {"name": "Gone", "email": "gone@crm.test"},
        "nobody": {"name": "Nobody", "email": "nobody@crm.test"},
        "cid": {"name": "Cid", "email": "cid@crm.test"},
        "dee": {"name": "Dee", "email": "dee@crm.test"},
        "idle": {"name": "Idle", "email": "idle@crm.test"},
    }
    members = dict.fromkeys(reps, 1) | {"idle": 0}
    pools = {"all": {"members": members, "hold_owner": {"crm": "Cases"}}}
    rules = [{"id": "rivals", "when": "false", "park": "Competitors"}, {"id": "rest", "when": "true", "pool": "all"}]
    findings = await asked(org, reps=reps, pools=pools, rules=rules, destination={"parked_owners": ["Old Leads"]})
    wrong, warned = of(findings, "error"), of(findings, "warning")
    assert "is inactive, and an inactive user is given no leads" in wrong["rep gone"]
    assert wrong["rep nobody"] == 'Salesforce has no user "nobody@crm.test"'
    assert wrong["rep cid"].startswith('"cid@crm.test" names 2 of them: Cid One (')
    assert wrong["owner Competitors"] == 'Salesforce has no user or queue "Competitors"'
    assert wrong["owner Cases"] == "the queue Cases may not own Leads"
    assert warned["rep idle"] == 'Salesforce has no user "idle@crm.test"'
    assert warned["parked owner Old Leads"] == 'Salesforce has no user or queue "Old Leads"'
    assert "rep dee" in of(findings, "ok")  # a sandbox's address


async def test_the_orgs_own_automation(org):
    """What it does to routing is said, and is no fault."""
    org.post("/switches", {"assignment_rule": True, "duplicate_rule": "block"})
    rule = {
        "object": "Lead",
        "name": "Phone_needed",
        "when": "Phone = null",
        "message": "Give a phone",
        "field": "Phone",
    }
    org.post("/seed", {"validation_rules": [rule]})
    findings = await asked(org)
    warned = of(findings, "warning")
    assert "Fairturn's writes go past it" in warned["assignment rule Standard"]
    assert "where it blocks" in warned["duplicate rule Standard Lead Duplicate Rule"]
    assert warned["validation rule Phone_needed"] == (
        'is active on Lead and refuses what breaks it: "Give a phone" (at Phone)'
    )
    assert of(findings, "error") == {}


async def test_a_status_that_no_record_has(org):
    findings = await asked(org, destination={"recycle_statuses": ["Recycled", "Recycle Bin"]})
    assert 'no record has the status "Recycle Bin"' in of(findings, "warning")["Lead.Status"]


async def test_the_days_requests(org):
    org.post("/limits", {"max": 1000, "used": 900})
    assert "of 1,000 requests are left" in of(await asked(org), "warning")["quota"]


async def test_the_login(org):
    findings = await asked(org, secret="wrong")
    assert list(of(findings, "error")) == ["login"]
    assert "refuses the login" in findings[0].sentence
    assert "wrong" not in findings[0].sentence


async def test_one_that_does_not_answer(org):
    with socket.create_server(("127.0.0.1", 0)) as taken:  # a port where nobody answers HTTP
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        findings = await asked(org, destination={"url": url, "request_timeout": "1s"})
    [finding] = findings
    assert (finding.severity, finding.subject) == ("error", "connection")


async def test_an_outage_in_the_middle(org):
    org.faults({"kind": "status", "status": 503, "path": "describe", "times": 9})
    findings = await asked(org)
    assert "login" in of(findings, "ok")
    assert "describe" in of(findings, "error")["connection"]


async def test_a_probe_leaves_nothing(org):
    quiet(org)
    findings = await asked(org, probe=True)
    assert of(findings, "error") == {}
    told = [finding.sentence for finding in findings if finding.subject == "probe"]
    assert len(told) == 4
    assert told[1].endswith("and still seen")
    assert told[3].endswith("was deleted")
    assert there(org) == []
    owners = [version["changed"].get("OwnerId") for version in org.get("/versions")["versions"]]
    assert [org.users["ann"]] == [change[1] for change in owners if change and change[0] is not None]


async def test_a_probe_finds_that_a_lead_given_away_is_not_seen_any_more(org):
    """What it is there for; and it says what it could not take away."""
    quiet(org)
    org.post("/switches", {"sharing": "private"})
    findings = await asked(org, probe=True)
    assert "it is not seen any more" in of(findings, "error")["probe"]
    [hidden] = [finding for finding in findings if finding.severity == "error"]
    assert hidden.remedy.startswith("Give the integration user the permission set Fairturn_Private_Sharing")
    [left] = there(org)
    assert "could not be deleted and is still there" in of(findings, "warning")["probe"]
    assert any(left in finding.remedy for finding in findings if finding.severity == "warning")


@pytest.mark.parametrize("pinned", [{"sandbox": False}, {"org": "00D000000000001"}])
async def test_nothing_is_probed_in_another_org(org, pinned):
    findings = await asked(org, probe=True, destination=pinned)
    assert "org" in of(findings, "error")
    assert org.get("/summary")["write_requests"] == 0


async def test_a_probe_that_is_refused(org):
    rule = {
        "object": "Lead",
        "name": "Phone_needed",
        "when": "Phone = null",
        "message": "Give a phone",
        "field": "Phone",
    }
    org.post("/seed", {"validation_rules": [rule]})
    findings = await asked(org, probe=True)
    assert "Give a phone" in of(findings, "error")["probe"]
    assert there(org) == []


async def test_a_probe_whose_answer_got_lost_is_cleaned_up(org):
    """The record was made, nobody heard of it: found by its key, deleted."""
    org.faults({"kind": "reset_after", "path": "/sobjects/Lead", "method": "POST", "times": 1})
    findings = await asked(org, probe=True)
    assert there(org) == []
    assert "connection" in of(findings, "error")
