"""`fairturn check --crm` against a simulated HubSpot account, and the properties that `fairturn crm setup` makes."""

import socket

import pytest

from fairturn.config import Settings
from fairturn.destinations.hubspot import credentials
from fairturn.destinations.hubspot.furnish import HubSpotFurnish
from fairturn.destinations.hubspot.survey import HubSpotSurvey
from fairturn.errors import DestinationError
from tests.destinations.hubspot_simulated import MAP, OAUTH, PRIVATE


def settings(hub, **changes) -> Settings:
    given = {"org": str(hub.get("/summary")["portal"]), **changes.pop("destination", {})}
    mine = hub.settings(map=changes.pop("map", MAP), **given)
    base = {
        "reps": {
            "ann": {"name": "Ann", "email": "Ann@seller.test"},
            "bob": {"name": "Bob", "ids": {"hub": hub.owners["bob"]}},
        },
        "pools": {"all": {"members": {"ann": 1, "bob": 1}}},
        "rules": [{"id": "rest", "when": "true", "pool": "all"}],
        "destinations": {"hub": mine},
    }
    return Settings.model_validate(base | changes)


async def asked(hub, *, probe=False, secrets=PRIVATE, **changes):
    found = settings(hub, **changes)
    survey = HubSpotSurvey("hub", found, credentials("hub", found.destinations["hub"], secrets))
    try:
        return await survey.survey(probe=probe)
    finally:
        await survey.close()


def of(findings, severity):
    return {finding.subject: finding.sentence for finding in findings if finding.severity == severity}


async def test_an_account_in_order(hub):
    findings = await asked(hub)
    assert of(findings, "error") == {}
    assert of(findings, "warning") == {}
    fine = of(findings, "ok")
    assert fine["login"].startswith("account ")
    assert {"fairturn_id", "email", "rep ann", "rep bob", "contacts", "quota", "burst limit"} <= set(fine)
    assert fine["fairturn_id"] == "text, unique"


async def test_it_reads_only(hub):
    """By the simulator's evidence."""
    before = hub.get("/summary")
    await asked(hub)
    after = hub.get("/summary")
    assert after["read_requests"] > before["read_requests"]
    assert (after["write_requests"], after["versions"]) == (before["write_requests"], before["versions"])


async def test_an_oauth_app(hub):
    assert of(await asked(hub, secrets=OAUTH), "error") == {}


@pytest.mark.parametrize(
    ("changes", "subject", "said"),
    [
        ({"org": "1"}, "account", "is pinned to account 1"),
        ({"external_id": "fairturn_key"}, "fairturn_key", "there is no such property"),
        ({"external_id": "city"}, "city", "does not require unique values"),
        ({"status_field": "stage"}, "stage", "there is no such property"),
    ],
)
async def test_what_is_wrong_with_the_destination(hub, changes, subject, said):
    findings = await asked(hub, destination=changes)
    assert said in of(findings, "error")[subject]
    assert all(finding.remedy for finding in findings if finding.severity == "error")


@pytest.mark.parametrize(
    ("name", "way", "severity", "said"),
    [
        ("nothing", "city", "error", "there is no such property"),
        ("createdate", {"assignment": "received_at"}, "error", "only HubSpot itself writes it"),
        ("segment", {"value": "huge"}, "error", "has no option huge; it has smb, mid, enterprise"),
        ("segment", {"value": "SMB"}, "error", "has no option SMB"),  # the label, not the internal value
        ("segment", "company", "ok", "3 options: a value that is none of them is left out"),
        ("score", "score", "ok", "number"),
        ("score", "company", "warning", "is number, and is given text"),
        ("hs_email_optout", {"value": True, "mode": "never_unset"}, "ok", "yes or no"),
        ("lifecyclestage", {"value": "lead", "mode": "forward"}, "ok", "a list"),
        (
            "hs_lead_status",
            {"field": "campaign", "mode": "forward", "order": ["NEW", "DONE"]},
            "warning",
            "has no option DONE",
        ),
    ],
)
async def test_what_is_wrong_with_a_property(hub, name, way, severity, said):
    findings = await asked(hub, map={**MAP, name: way})
    assert said in of(findings, severity)[name]


async def test_scopes(hub):
    """Each is named with what it is for, once."""
    hub.switch(missing_scopes="crm.objects.owners.read crm.schemas.contacts.read crm.objects.contacts.read")
    findings = await asked(hub)
    wrong = of(findings, "error")
    assert set(wrong) == {
        "scope crm.objects.owners.read",
        "scope crm.schemas.contacts.read",
        "scope crm.objects.contacts.read",
    }
    assert "to find owners by their e-mail" in wrong["scope crm.objects.owners.read"]
    assert all("tick it" in finding.remedy for finding in findings if finding.severity == "error")


async def test_the_scopes_that_the_app_itself_has(hub):
    """Those too that nothing is asked with unless something is written; an OAuth app's token tells none of them."""
    few = ["crm.objects.contacts.read", "crm.objects.owners.read"]
    hub.seed(apps=[{**PRIVATE, "name": "ours", "scopes": few}])
    findings = await asked(hub)
    wrong = of(findings, "error")
    assert set(wrong) == {"scope crm.objects.contacts.write", "scope crm.schemas.contacts.read"}
    assert wrong["scope crm.objects.contacts.write"] == "the app does not have it, to write contacts"
    assert of(await asked(hub, secrets=OAUTH), "error") == {}
    assert PRIVATE["token"] not in str(hub.requests(""))


async def test_a_token_that_does_not_tell_its_scopes_is_no_finding(hub):
    hub.faults({"kind": "status", "status": 404, "path": "/access-token-info", "body": {"message": "not found"}})
    assert of(await asked(hub), "error") == {}


async def test_owners(hub):
    reps = {
        "gone": {"name": "Gone", "email": "gone@seller.test"},
        "nobody": {"name": "Nobody", "email": "nobody@seller.test"},
    }
    pools = {"all": {"members": {"gone": 1, "nobody": 1}, "hold_owner": {"hub": "Inbound"}}}
    wrong = of(await asked(hub, reps=reps, pools=pools), "error")
    assert "is inactive" in wrong["rep gone"]
    assert wrong["rep nobody"] == 'HubSpot has no user "nobody@seller.test"'
    assert wrong["owner Inbound"] == 'HubSpot has no user or queue "Inbound"'


async def test_a_token_that_is_refused(hub):
    findings = await asked(hub, secrets={"token": "pat-na1-wrong"})
    assert list(of(findings, "error")) == ["login"]
    assert "pat-na1-wrong" not in str(findings)


async def test_one_that_does_not_answer(hub):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        [finding] = await asked(hub, destination={"url": url, "request_timeout": "1s"})
    assert (finding.severity, finding.subject) == ("error", "connection")


async def test_a_probe_leaves_nothing(hub):
    findings = await asked(hub, probe=True)
    assert of(findings, "error") == {}
    told = [finding.sentence for finding in findings if finding.subject == "probe"]
    assert len(told) == 4
    assert told[1] == f"given to owner {hub.owners['ann']}, and still seen"
    assert told[2] == "updated, and found again by fairturn_id"
    assert told[3].endswith("was deleted")
    assert hub.contacts() == {}
    assert [row for row in hub.get("/records/contacts")["records"] if not row["_archived"]] == []


async def test_a_probe_without_the_right_to_write(hub):
    hub.switch(missing_scopes="crm.objects.contacts.write")
    findings = await asked(hub, probe=True, secrets=OAUTH)
    [wrong] = [finding for finding in findings if finding.severity == "error"]
    assert wrong.subject == "probe"
    assert "crm.objects.contacts.write" in wrong.remedy
    told = of(await asked(hub, probe=True), "error")
    assert set(told) == {"scope crm.objects.contacts.write", "probe"}


async def test_a_probe_whose_answer_got_lost_is_cleaned_up(hub):
    hub.faults({"kind": "reset_after", "on": "write", "nth": [1]})
    findings = await asked(hub, probe=True)
    assert "connection" in of(findings, "error")
    assert [row for row in hub.get("/records/contacts")["records"] if not row["_archived"]] == []


# ---- crm setup --------------------------------------------------------------------------------------------------


async def furnished(hub, *, create, **changes):
    found = settings(hub, **changes)
    crm = HubSpotFurnish("hub", found, credentials("hub", found.destinations["hub"], PRIVATE))
    try:
        before = await crm.pieces()
        for piece in before if create else ():
            if not piece.there:
                await crm.make(piece)
        return before, await crm.pieces()
    finally:
        await crm.close()


async def test_what_is_missing_is_made_once(hub):
    """A property that HubSpot will upsert by, and six that say what an assignment was."""
    changes = {"destination": {"external_id": "fairturn_key"}, "map": {**MAP, "our_rule": {"assignment": "rule"}}}
    before, after = await furnished(hub, create=True, **changes)
    assert [piece.name for piece in before] == [
        "fairturn_key", "fairturn_assignment_id", "our_rule", "fairturn_pool", "fairturn_reason",
        "fairturn_received_at", "fairturn_assigned_at",
    ]  # fmt: skip
    assert not any(piece.there for piece in before)
    assert all(piece.there and not piece.trouble for piece in after)
    assert {piece.name for piece in after if not piece.map_line} == {"fairturn_key", "our_rule"}
    again, _ = await furnished(hub, create=True, **changes)
    assert all(piece.there for piece in again)
    fields = {"fairturn_assigned_at": {"assignment": "assigned_at"}, "fairturn_pool": {"assignment": "pool"}}
    findings = await asked(hub, **{**changes, "map": {**changes["map"], **fields}})
    assert of(findings, "error") == {}
    assert of(findings, "warning") == {}


async def test_making_one_that_somebody_made_meanwhile(hub):
    found = settings(hub)
    crm = HubSpotFurnish("hub", found, credentials("hub", found.destinations["hub"], PRIVATE))
    pieces = [piece for piece in await crm.pieces() if not piece.there]
    for piece in (*pieces, *pieces):
        await crm.make(piece)
    assert all(piece.there for piece in await crm.pieces())
    await crm.close()


async def test_nothing_is_made_without_being_asked(hub):
    before = hub.get("/summary")["write_requests"]
    _, after = await furnished(hub, create=False)
    assert [piece.name for piece in after if piece.there] == ["fairturn_id"]
    assert hub.get("/summary")["write_requests"] == before


async def test_a_property_that_is_not_unique(hub):
    _, after = await furnished(hub, create=True, destination={"external_id": "city"})
    assert "does not require unique values" in after[0].trouble


async def test_without_the_right_to_make_properties(hub):
    hub.switch(missing_scopes="crm.schemas.contacts.write")
    with pytest.raises(DestinationError, match=r"does not have the scope crm\.schemas\.contacts\.write"):
        await furnished(hub, create=True)
