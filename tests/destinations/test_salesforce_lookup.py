"""Whom a simulated org has with these addresses, and at what cost."""

import pytest
import structlog

from fairturn.config import Rep
from fairturn.destinations.salesforce.lookup import moment
from fairturn.destinations.salesforce.soql import LONGEST, chunks, literal, missing_column, select
from fairturn.errors import DestinationError

ASK = 10.0


@pytest.fixture
async def crm(org):
    made = []

    def make(**changes):
        made.append(org.destination(**changes))
        return made[-1]

    yield make
    for destination in made:
        await destination.close()


def questions(org):
    return [row for row in org.get("/requests")["requests"] if row["kind"] == "read"]


async def test_open_leads_converted_ones_and_contacts_in_one_call(org, crm):
    made = org.post(
        "/seed",
        {
            "leads": [
                {"LastName": "Open", "Company": "A", "Email": "Open@Acme.com", "Owner": "ann@crm.test",
                 "Status": "Working - Contacted", "City": "Kiel"},
                {"LastName": "Was", "Company": "A", "Email": "was@acme.com", "converted": True},
                {"LastName": "Queued", "Company": "A", "Email": "queued@acme.com", "Owner": "Held"},
                {"LastName": "Left", "Company": "A", "Email": "left@acme.com", "Owner": "gone@crm.test"},
                {"LastName": "Binned", "Company": "A", "Email": "binned@acme.com", "deleted": True},
            ],
            "contacts": [{"LastName": "Kim", "Email": "kim@acme.com", "Owner": "bob@crm.test", "MailingCity": "Bonn"}],
        },
    )  # fmt: skip
    destination = crm()
    emails = ["open@acme.com", "was@acme.com", "queued@acme.com", "left@acme.com", "kim@acme.com", "nobody@acme.com",
              "binned@acme.com"]  # fmt: skip
    found = await destination.look_up(emails, ASK)
    assert found.calls == 2  # the second tells who the owners are
    people = {(one.email, one.object_type): one for one in found.people}
    assert set(people) == {
        ("open@acme.com", "Lead"), ("was@acme.com", "Lead"), ("was@acme.com", "Contact"), ("queued@acme.com", "Lead"),
        ("left@acme.com", "Lead"), ("kim@acme.com", "Contact"),
    }  # fmt: skip
    here = people["open@acme.com", "Lead"]
    assert here.record_id == made["leads"][0]
    assert here.owner is not None
    assert (here.owner.id, here.owner.kind, here.owner.active, here.owner.name) == (
        org.users["ann"],
        "user",
        True,
        "Ann",
    )
    assert (here.status, here.values["City"], here.converted, here.key) == ("Working - Contacted", "Kiel", False, None)
    assert here.created_at is not None
    assert here.created_at.tzinfo is not None
    was = people["was@acme.com", "Lead"]
    assert was.converted
    assert was.converted_to == people["was@acme.com", "Contact"].record_id
    queued, left = people["queued@acme.com", "Lead"].owner, people["left@acme.com", "Lead"].owner
    assert queued is not None
    assert left is not None
    assert (queued.kind, queued.id, queued.name) == ("queue", org.queue, "Held")
    assert (left.active, left.email) == (False, "gone@crm.test")
    assert people["kim@acme.com", "Contact"].values["MailingCity"] == "Bonn"
    assert (await destination.look_up(emails, ASK)).calls == 1  # the owners are known by now
    assert found.quota_max == 100_000


async def test_the_contact_of_a_converted_lead_comes_along_though_its_address_is_another(org, crm):
    made = org.post("/seed", {"leads": [{"LastName": "W", "Company": "A", "Email": "w@acme.com", "converted": True}]})
    (lead,) = [row for row in org.get("/records/Lead")["records"] if row["Id"] == made["leads"][0]]
    org.post("/edit", {"object": "Contact", "id": lead["ConvertedContactId"], "fields": {"Email": "new@acme.com"}})
    found = await crm().look_up(["w@acme.com"], ASK)
    assert [(one.object_type, one.email) for one in found.people] == [("Lead", "w@acme.com"), ("Contact", "w@acme.com")]
    assert found.people[1].values["Email"] == "new@acme.com"


async def test_a_hundred_addresses_are_one_call(org, crm):
    org.post("/seed", {"leads": [{"LastName": "x", "Company": "A", "Email": f"p{n}@acme.com"} for n in range(100)]})
    found = await crm().look_up([f"p{n}@acme.com" for n in range(100)], ASK)
    assert len(found.people) == 100
    assert len({one.email for one in found.people}) == 100
    assert found.calls == 2


async def test_all_pages_are_read(org, crm):
    org.post("/switches", {"query_page": 40})
    org.post("/seed", {"leads": [{"LastName": "x", "Company": "A", "Email": f"p{n}@acme.com"} for n in range(100)]})
    found = await crm().look_up([f"p{n}@acme.com" for n in range(100)], ASK)
    assert len(found.people) == 100


async def test_long_addresses_are_asked_for_in_several_questions(org, crm):
    emails = [f"{'a' * 200}{n}@acme.com" for n in range(100)]
    org.post("/seed", {"leads": [{"LastName": "x", "Company": "A", "Email": email} for email in emails]})
    found = await crm().look_up(emails, ASK)
    assert {one.email for one in found.people} == set(emails)


async def test_addresses_of_strangers_end_no_string(org, crm):
    org.post("/seed", {"leads": [{"LastName": "x", "Company": "A", "Email": "o'neil@acme.com"}]})
    odd = [
        "o'neil@acme.com",
        "') OR (Email != ''",
        "back\\slash@acme.com",
        "new\nline@acme.com",
        "%27@acme.com",
        "+&#@x.y",
    ]
    found = await crm().look_up(odd, ASK)
    assert [one.email for one in found.people] == ["o'neil@acme.com"]


async def test_a_field_that_the_org_does_not_have_costs_no_look_up(org, crm):
    """It is described once, and not asked for again."""
    org.post("/seed", {"leads": [{"LastName": "x", "Company": "A", "Email": "x@acme.com", "City": "Kiel"}]})
    destination = crm(map={"Nope__c": "company", "Neither__c": "title", "City": "city", "LastName": "last_name"})
    found = await destination.look_up(["x@acme.com"], ASK)
    assert [dict(one.values) for one in found.people] == [{"Fairturn_Id__c": None, "City": "Kiel", "LastName": "x"}]
    assert (await destination.look_up(["x@acme.com"], ASK)).calls == 1


async def test_our_key_is_told_where_a_record_bears_it(org, crm):
    org.post("/seed", {"leads": [{"LastName": "x", "Company": "A", "Email": "x@acme.com", "Fairturn_Id__c": "ft-7"}]})
    (one,) = (await crm().look_up(["x@acme.com"], ASK)).people
    assert one.key == one.values["Fairturn_Id__c"] == "ft-7"


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "unavailable"},
        {"kind": "bad_gateway"},
        {"kind": "reset_after"},
        {"kind": "broken"},
        {"kind": "silent"},
        {"kind": "daily_limit"},
        {"kind": "expired_session"},
    ],
)
async def test_no_answer_is_never_nobody(org, crm, fault):
    org.post("/seed", {"leads": [{"LastName": "x", "Company": "A", "Email": "x@acme.com"}]})
    org.faults(fault | {"on": "data"})
    with pytest.raises(DestinationError):
        await crm().look_up(["x@acme.com"], ASK)


async def test_a_session_that_expired_is_renewed_once(org, crm):
    org.post("/seed", {"leads": [{"LastName": "x", "Company": "A", "Email": "x@acme.com"}]})
    destination = crm()
    await destination.look_up(["x@acme.com"], ASK)
    org.post("/revoke", {})
    assert len((await destination.look_up(["x@acme.com"], ASK)).people) == 1


async def test_without_contacts_leads_are_told_and_it_is_said_once(org, crm):
    """The integration user may not see Contacts."""
    org.post("/seed", {"leads": [{"LastName": "x", "Company": "A", "Email": "x@acme.com"}]})
    destination = crm()
    refusal = [{"errorCode": "INVALID_TYPE", "message": "sObject type 'Contact' is not supported."}]
    org.faults({"kind": "status", "status": 400, "body": refusal, "on": "part", "nth": [2]})
    with structlog.testing.capture_logs() as said:
        found = await destination.look_up(["x@acme.com"], ASK)
    assert [one.object_type for one in found.people] == ["Lead"]
    assert [line["event"] for line in said] == ["salesforce.no_contacts"]
    before = len(questions(org))
    await destination.look_up(["x@acme.com"], ASK)
    assert len(questions(org)) == before + 1


async def test_nobody_is_asked_for_without_an_address(org, crm):
    found = await crm().look_up(["", "  "], ASK)
    assert (found.people, found.calls) == ((), 0)


async def test_a_rep_whom_the_settings_name_is_known_as_an_owner(org, crm):
    org.post("/seed", {"leads": [{"LastName": "A", "Company": "A", "Email": "a@acme.com", "Owner": "ann@crm.test"}]})
    destination = crm(reps={"ann": Rep(name="Ann", email="ann@crm.test")})
    await destination.org()
    found = await destination.look_up(["a@acme.com"], ASK)
    assert found.calls == 1
    [person] = found.people
    assert person.owner is not None
    assert (person.owner.name, person.owner.active) == ("Ann", True)


async def test_whether_a_company_is_an_account_is_asked_once(org, crm):
    """Each part of a Composite takes its time in the org."""
    destination = crm(account_lookup="Account__r.Fairturn_Key__c")
    for emails in (["a@acme.com", "b@nowhere.com"], ["c@acme.com", "d@nowhere.com"], ["e@acme.com", "f@elsewhere.com"]):
        await destination.look_up(emails, ASK)
    calls = questions(org)
    assert [len(call["parts"]) for call in calls] == [3, 2, 3]


async def test_accounts_are_no_people(org, crm):
    found = await crm(object="Account", external_id="Fairturn_Key__c", map={"Name": "company"}).look_up(["a@b.co"], ASK)
    assert (found.people, found.calls) == ((), 0)


# ---- who is who ---------------------------------------------------------------------------------------------------


async def test_reps_with_ids_need_no_question(org, crm):
    await crm(reps={"ann": Rep(name="Ann", ids={"crm": org.users["ann"]})}).org()
    assert questions(org) == []


async def test_names_of_the_settings_are_found_with_one_call(org, crm):
    org.post("/seed", {"record_types": [{"object": "Lead", "name": "Inbound"}]})
    reps = {rep: Rep(name=rep, email=f"{rep.upper()}@crm.test") for rep in ("ann", "bob")}
    await crm(reps=reps, map={"RecordTypeId": {"record_type": "Inbound"}}, owners=["Held"]).org()
    assert len(questions(org)) == 1


# ---- questions ----------------------------------------------------------------------------------------------------


def test_a_string_ends_where_we_end_it():
    assert literal("o'neil\\") == "'o\\'neil\\\\'"
    assert literal("a\nb\u2028c") == "'a b c'"


def test_chunks_are_short_whole_and_in_order():
    values = [f"{'é' * 50}{n}" for n in range(300)]
    parts = list(chunks(values))
    assert [value for part in parts for value in part] == values
    assert all(sum(len(value) * 6 for value in part) < LONGEST + 400 for part in parts)
    assert list(chunks(["a", "a"])) == [["a"]]
    assert list(chunks([])) == []


def test_what_is_no_name_is_not_asked_for():
    assert (
        select(("Id", "Account__r.Name", "x; DROP", "City"), "Lead", "Id = ''")
        == "SELECT Id, City FROM Lead WHERE Id = ''"
    )


def test_missing_column():
    assert missing_column("\nSELECT X\nERROR at Row:1\nNo such column 'X' on entity 'Lead'. If you") == "X"
    assert missing_column("something else") is None


@pytest.mark.parametrize("text", ["2026-03-02T10:00:00.000+0000", "2026-03-02T10:00:00.000Z"])
def test_times(text):
    found = moment(text)
    assert found is not None
    assert found.isoformat() == "2026-03-02T10:00:00+00:00"


@pytest.mark.parametrize("text", [None, "", "yesterday", 7])
def test_what_is_no_time(text):
    assert moment(text) is None
