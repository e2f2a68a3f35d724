"""Writes to an org that is not empty: records known before, gone, converted, owned by others, and fields it refuses."""

from collections import Counter
from dataclasses import replace

import pytest

from fairturn.model import Batch, Later, Refused, Unknown, Written
from tests.destinations.simulated import MAP
from tests.destinations.test_salesforce import NOW, outgoing

STAGES = ["Open - Not Contacted", "Working - Contacted"]
ASSIGNED = {"id": "inbound#7", "rule": "emea", "pool": "inbound", "reason": "her turn", "received_at":
            "2026-03-02T09:59:58Z", "assigned_at": "2026-03-02T10:00:00Z"}  # fmt: skip


@pytest.fixture
async def crm(org):
    made = []

    def make(**changes):
        made.append(org.destination(**changes))
        return made[-1]

    yield make
    for destination in made:
        await destination.close()


async def write(destination, *records):
    return await destination.write(Batch(1, "crm", records, NOW))


def seed(org, *leads, **more):
    entries = [{"LastName": "There", "Company": "Acme", "Owner": "bob@crm.test", **lead} for lead in leads]
    return org.post("/seed", {"leads": entries, **more})


def records(org, name="Lead"):
    return {row["Id"]: row for row in org.get(f"/records/{name}")["records"]}


def adopted(number, record_id, found, known, **changes):
    return outgoing(number, record_id=record_id, found=found, owner_known=known, **changes)


def calls(org):
    return [row for row in org.get("/requests")["requests"] if row["kind"] in ("read", "write")]


# ---- one call -----------------------------------------------------------------------------------------------------


async def test_known_and_new_ones_and_contacts_travel_in_one_call(org, crm):
    made = seed(
        org, {"Email": "lead1@acme.com"}, contacts=[{"LastName": "Kim", "Email": "lead2@acme.com", "Owner": "Bob"}]
    )
    destination = crm(map=MAP | {"Rating": {"value": "Hot", "mode": "always"}})
    known = adopted(1, made["leads"][0], {}, org.users["bob"], owner=None)
    contact = adopted(2, made["contacts"][0], {"Email": "lead2@acme.com"}, org.users["bob"], owner=None)
    answer = await write(destination, known, replace(contact, object_type="Contact"), outgoing(3))
    assert answer.calls == 1
    (request,) = calls(org)
    assert request["path"].endswith("/composite")
    assert [part["path"].partition("/composite/sobjects")[2] for part in request["parts"]] == ["", "/Lead/Id"]
    lead, kim, new = answer.outcomes
    assert lead == Written("ft-1", made["leads"][0], created=False)
    assert kim == Written("ft-2", made["contacts"][0], created=False, object_type="Contact")
    assert isinstance(new, Written)
    assert new.created
    assert {load.object_type: load.records for load in answer.loads} == {"Lead": 2, "Contact": 1}
    leads, contacts = records(org), records(org, "Contact")
    assert leads[made["leads"][0]]["Rating"] == "Hot"
    assert leads[made["leads"][0]]["OwnerId"] == org.users["bob"]
    assert contacts[made["contacts"][0]]["Fairturn_Id__c"] == "ft-2"
    assert "Rating" not in answer.records["ft-2"]
    assert leads[new.record_id]["OwnerId"] == org.users["ann"]  # no assignment rule ran, in no part
    assert leads[made["leads"][0]]["Fairturn_Id__c"] == "ft-1"


async def test_known_and_new_ones_are_one_transaction_of_the_org(org, crm):
    """Its triggers run once for both: two parts would take their time one after the other."""
    (there,) = seed(org, {"Email": "lead1@acme.com"})["leads"]
    destination = crm()
    answer = await write(destination, adopted(1, there, {}, org.users["bob"], owner=None), outgoing(2), outgoing(3))
    assert [outcome.created for outcome in answer.outcomes] == [False, True, True]
    assert org.get("/summary")["work"]["transactions"] == answer.calls == 1
    assert {load.object_type: load.records for load in answer.loads} == {"Lead": 3}
    leads = records(org)
    assert {leads[one.record_id]["Fairturn_Id__c"] for one in answer.outcomes} == {"ft-1", "ft-2", "ft-3"}
    assert leads[there]["OwnerId"] == org.users["bob"]


@pytest.mark.parametrize("tried", [{"attempt": 2}, {"reread": True}, {"confirmed": {"City": "Kiel"}}])
async def test_a_new_one_that_an_earlier_request_may_have_made_goes_by_our_key(org, crm, tried):
    made = seed(org, {"Email": "lead1@acme.com"}, {"Email": "lead2@acme.com", "Fairturn_Id__c": "ft-2"})["leads"]
    known = adopted(1, made[0], {}, org.users["bob"], owner=None)
    answer = await write(crm(), known, outgoing(3), replace(outgoing(2), **tried))
    assert [outcome.record_id for outcome in answer.outcomes if not outcome.created] == made
    assert org.get("/summary")["records"]["Lead"] == 3


async def test_a_new_one_that_is_there_after_all_is_found_by_the_next_attempt(org, crm):
    made = seed(org, {"Email": "lead1@acme.com"}, {"Email": "lead2@acme.com", "Fairturn_Id__c": "ft-2"})["leads"]
    destination, known = crm(), adopted(1, made[0], {}, org.users["bob"], owner=None)
    one, two = (await write(destination, known, outgoing(2))).outcomes
    assert isinstance(one, Written)
    assert isinstance(two, Later)
    (again,) = (await write(destination, replace(outgoing(2), attempt=2))).outcomes
    assert again.record_id == made[1]
    assert org.get("/summary")["records"]["Lead"] == 2


@pytest.mark.parametrize("status", [400, 404])
async def test_an_org_that_takes_no_upsert_by_the_record_id_gets_them_apart(org, crm, status):
    (there,) = seed(org, {"Email": "lead1@acme.com"})["leads"]
    destination, known = crm(), adopted(1, there, {}, org.users["bob"], owner=None)
    error = [{"errorCode": "NOT_FOUND" if status == 404 else "INVALID_FIELD", "message": "Id is no external id"}]
    refusal = {"kind": "status", "status": status, "body": error, "on": "write", "path": "/Lead/Id"}
    org.post("/faults", {"faults": [refusal]})
    answer = await write(destination, known, outgoing(2))
    assert [outcome.created for outcome in answer.outcomes] == [False, True]
    answer = await write(destination, replace(known, version=2), outgoing(3))
    assert all(isinstance(outcome, Written) for outcome in answer.outcomes)
    asked = [request["path"] for request in calls(org)]
    assert sum(path.endswith("/Lead/Id") for path in asked) == 1, "it is not tried again for a while"


async def test_a_text_that_reads_as_a_reference_of_a_composite_travels_outside_of_one(org, crm):
    """`@{part.field}` in a lead's own words would halt the part that holds it, with everybody in it."""
    (there,) = seed(org, {"Email": "lead1@acme.com"})["leads"]
    destination = crm(map=MAP | {"Description": {"field": "message", "mode": "always"}})
    known = adopted(1, there, {}, org.users["bob"], owner=None)
    stranger = outgoing(2)
    stranger = replace(stranger, fields=stranger.fields | {"message": "ask @{update.id} about @{x}"})
    answer = await write(destination, known, stranger)
    assert all(isinstance(outcome, Written) for outcome in answer.outcomes)
    assert records(org)[answer.outcomes[1].record_id]["Description"] == "ask @{update.id} about @{x}"
    assert not any(request["path"].endswith("/composite") for request in calls(org))


async def test_our_key_is_put_on_a_record_once(org, crm):
    (there,) = seed(org, {"Email": "lead1@acme.com"})["leads"]
    destination = crm()
    await write(destination, adopted(1, there, None, org.users["bob"], owner=None))
    assert records(org)[there]["Fairturn_Id__c"] == "ft-1"
    org.post("/edit", {"object": "Lead", "id": there, "fields": {"Fairturn_Id__c": "somebody's"}})
    await write(destination, outgoing(1, record_id=there, confirmed={"City": "Kiel"}, owner=None))
    assert records(org)[there]["Fairturn_Id__c"] == "somebody's"


async def test_what_people_wrote_there_stays_and_what_is_empty_is_filled(org, crm):
    (there,) = seed(org, {"Email": "lead1@acme.com", "City": "Bonn"})["leads"]
    destination = crm(
        map=MAP
        | {
            "Fairturn_Pool__c": {"assignment": "pool"},
            "Status": {"value": "Working - Contacted", "mode": "forward", "order": STAGES},
        }
    )  # fmt: skip
    (person,) = (await destination.look_up(["lead1@acme.com"], 5)).people
    mine = adopted(1, there, person.values, org.users["bob"], assignment=ASSIGNED)
    mine = replace(mine, fields=mine.fields | {"city": "Kiel", "title": "CEO", "company": "Other"})
    answer = await write(destination, mine)
    assert answer.records["ft-1"] == {
        "Title": "CEO",
        "Fairturn_Pool__c": "inbound",
        "Status": "Working - Contacted",
        "OwnerId": org.users["ann"],
    }
    row = records(org)[there]
    assert (row["City"], row["Title"], row["Company"], row["LastName"]) == ("Bonn", "CEO", "Acme", "There")
    assert answer.owners == {"ft-1": org.users["ann"]}


async def test_a_record_that_has_all_it_may_have_costs_no_request(org, crm):
    (there,) = seed(org, {"Email": "lead1@acme.com", "Fairturn_Id__c": "ft-1"})["leads"]
    destination = crm(map={"LastName": "last_name"})
    (person,) = (await destination.look_up(["lead1@acme.com"], 5)).people
    before = len(calls(org))
    answer = await write(destination, adopted(1, there, person.values, org.users["bob"], owner=None))
    assert answer.outcomes == (Written("ft-1", there, created=False),)
    assert len(calls(org)) == before
    assert answer.calls == 0


async def test_one_unreadable_record_spoils_no_other_part(org, crm):
    (there,) = seed(org, {"Email": "lead1@acme.com"})["leads"]
    known = adopted(1, there, {}, org.users["bob"], owner=None)
    broken = outgoing(2, fields={"last_name": 5, "company": "Y"})
    answer = await write(crm(), known, broken, outgoing(3))
    assert [type(one) for one in answer.outcomes] == [Written, Refused, Written]


# ---- owners -------------------------------------------------------------------------------------------------------


async def test_an_owner_who_was_changed_since_stands_and_others_are_written_with_one_read(org, crm):
    made = seed(org, *({"Email": f"lead{n}@acme.com", "City": "Bonn"} for n in range(3)))["leads"]
    org.post("/owner", {"object": "Lead", "id": made[1], "owner": "Gone", "by": "Zoe"})
    org.post("/edit", {"object": "Lead", "id": made[2], "fields": {"City": "Köln"}})
    stale = [
        adopted(n, there, {"City": "Bonn"}, org.users["bob"], reread=True, confirmed={"City": "Bonn"})
        for n, there in enumerate(made)
    ]
    stale = [replace(one, fields=one.fields | {"city": "Kiel"}) for one in stale]
    answer = await write(crm(), *stale)
    assert [one.owner_stands for one in answer.outcomes] == [None, org.users["gone"], None]
    assert answer.calls == 2
    rows = records(org)
    assert [rows[one]["OwnerId"] for one in made] == [org.users["ann"], org.users["gone"], org.users["ann"]]
    assert [rows[one]["City"] for one in made] == ["Kiel", "Kiel", "Köln"]  # a person's own word stays
    assert answer.owners == {"ft-0": org.users["ann"], "ft-1": org.users["gone"], "ft-2": org.users["ann"]}
    assert answer.found["ft-2"]["City"] == "Köln"
    assert "OwnerId" not in answer.records["ft-1"]


async def test_a_record_that_may_have_been_made_is_read_by_our_key(org, crm):
    """The first answer got lost, and that was long ago: somebody has given the lead to somebody else since."""
    destination = crm()
    org.faults({"kind": "reset_after", "on": "write", "nth": [1]})
    first = await write(destination, outgoing(1), outgoing(2))
    assert all(isinstance(one, Unknown) for one in first.outcomes)
    org.post("/owner", {"object": "Lead", "email": "lead1@acme.com", "owner": "bob@crm.test", "by": "Zoe"})
    again = [outgoing(n, attempt=2, reread=True) for n in (1, 2, 3)]
    answer = await write(destination, *again)
    assert [one.owner_stands for one in answer.outcomes] == [org.users["bob"], None, None]
    assert [one.created for one in answer.outcomes] == [False, False, True]
    assert len(records(org)) == 3
    assert answer.calls == 2


async def test_nothing_goes_back_on_a_record_whose_making_was_not_answered(org, crm):
    """The lead says other things since. An opt-out stays, a stage stays, a person's words stay; ours follow."""
    stages = {"field": "stage", "mode": "forward", "order": STAGES}
    modes = {"HasOptedOutOfEmail": {"field": "opt_out", "mode": "never_unset"}, "Status": stages}
    destination = crm(map=MAP | modes)
    org.faults({"kind": "reset_after", "on": "write", "nth": [1]})
    told = {"email": "lead1@acme.com", "last_name": "Li", "city": "Bonn", "title": "CEO"}
    out = outgoing(1, fields={**told, "opt_out": True, "stage": STAGES[1]})
    first = await write(destination, out)
    org.post("/edit", {"object": "Lead", "email": "lead1@acme.com", "fields": {"City": "Ulm"}, "by": "Zoe"})
    newer = {**told, "city": "Kiel", "title": "CTO", "opt_out": False, "stage": STAGES[0]}
    answer = await write(
        destination, replace(out, fields=newer, attempt=2, reread=True, confirmed=first.records["ft-1"])
    )
    (row,) = records(org).values()
    assert (row["City"], row["HasOptedOutOfEmail"], row["Status"], row["Title"]) == ("Ulm", True, STAGES[1], "CTO")
    assert isinstance(answer.outcomes[0], Written)


async def test_whom_we_had_sent_in_a_lost_write_is_no_stranger(org, crm):
    """Two leads that went to other reps since. One was taken by a person meanwhile."""
    destination = crm()
    org.faults({"kind": "reset_after", "on": "write", "nth": [1]})
    first = await write(destination, outgoing(1), outgoing(2))
    org.post("/owner", {"object": "Lead", "email": "lead2@acme.com", "owner": "gone@crm.test", "by": "Zoe"})
    again = [outgoing(n, owner="bob", attempt=2, reread=True, confirmed=first.records[f"ft-{n}"]) for n in (1, 2)]
    answer = await write(destination, *again)
    assert [one.owner_stands for one in answer.outcomes] == [None, org.users["gone"]]
    assert {row["Email"]: row["OwnerId"] for row in records(org).values()} == {
        "lead1@acme.com": org.users["bob"],
        "lead2@acme.com": org.users["gone"],
    }


async def test_what_we_own_ourselves_is_given_to_the_rep(org, crm):
    """Records that the integration made otherwise are its own user's."""
    (there,) = org.post("/seed", {"leads": [{"LastName": "x", "Company": "y", "Email": "lead1@acme.com"}]})["leads"]
    answer = await write(crm(), outgoing(1, record_id=there, reread=True))
    assert answer.outcomes[0].owner_stands is None
    assert records(org)[there]["OwnerId"] == org.users["ann"]


@pytest.mark.parametrize(
    ("lead", "stands"),
    [
        ({"Owner": "Bob"}, True),
        ({"Owner": "Gone"}, False),  # inactive
        ({"Owner": "Held"}, False),  # a queue
        ({"Owner": "Zoe"}, False),  # parked
        ({"Owner": "Bob", "Status": "Closed - Not Converted"}, False),  # recycled
    ],
)
async def test_a_record_that_the_event_named_is_free_where_a_look_up_would_say_so(org, crm, lead, stands):
    """Nobody was asked who has it. What we wrote ourselves, or knew an owner of, is another matter."""
    org.post("/seed", {"users": [{"name": "Zoe", "email": "zoe@crm.test"}]})
    made = seed(org, *({"Email": f"lead{n}@acme.com", **lead} for n in range(3)))["leads"]
    had = {row["OwnerId"] for row in records(org).values()}
    destination = crm(parked_owners=["zoe@crm.test"], recycle_statuses=["closed - not converted"])
    named = outgoing(0, record_id=made[0], reread=True)
    wrote = outgoing(1, record_id=made[1], reread=True, owner_known=org.users["ann"], owner="bob")
    kept = outgoing(2, record_id=made[2], reread=True, owner=None)
    answer = await write(destination, named, wrote, kept)
    rows = records(org)
    assert (answer.outcomes[0].owner_stands is not None) == stands
    assert (rows[made[0]]["OwnerId"] == org.users["ann"]) != stands
    assert {rows[made[1]]["OwnerId"]} == had  # somebody took it since, whoever that is
    assert {rows[made[2]]["OwnerId"]} == had


# ---- gone and converted -------------------------------------------------------------------------------------------


async def test_a_deleted_record_is_not_made_again_case_28(org, crm):
    made = seed(org, {"Email": "lead1@acme.com"}, {"Email": "lead2@acme.com"})["leads"]
    org.post("/edit", {"object": "Lead", "id": made[0], "fields": {"IsDeleted": True}})
    answer = await write(crm(), *(adopted(n, one, {}, org.users["bob"]) for n, one in enumerate(made, 1)))
    gone, there = answer.outcomes
    assert isinstance(gone, Refused)
    assert (gone.code, gone.owner_fault) == ("ENTITY_IS_DELETED", False)
    assert "Restore it from the recycle bin" in gone.message
    assert isinstance(there, Written)
    assert answer.calls == 2
    assert len(records(org)) == 2


@pytest.mark.parametrize("by", ["key", "address"])
async def test_a_record_that_was_merged_away_is_written_where_it_went(org, crm, by):
    mark = {"Fairturn_Id__c": "ft-1", "Email": "other@acme.com"} if by == "key" else {"Email": "LEAD1@acme.com"}
    stays, gone = seed(org, mark | {"City": "Bonn"}, {"Email": "lead1@acme.com"})["leads"]
    org.post("/edit", {"object": "Lead", "id": gone, "fields": {"IsDeleted": True}})
    mine = adopted(1, gone, {"City": "Kiel"}, org.users["gone"], confirmed={"City": "Kiel"})
    answer = await write(crm(), replace(mine, fields=mine.fields | {"city": "Kiel", "title": "CEO"}))
    assert answer.outcomes == (Written("ft-1", stays, created=False, owner_stands=org.users["bob"]),)
    row = records(org)[stays]
    assert (row["City"], row["Title"], row["OwnerId"]) == ("Bonn", "CEO", org.users["bob"])
    assert row["Fairturn_Id__c"] == "ft-1"
    assert answer.calls == 3


async def test_a_converted_lead_is_written_to_its_contact_and_keeps_its_owner_case_93(org, crm):
    (there,) = seed(org, {"Email": "lead1@acme.com", "converted": True})["leads"]
    (contact,) = records(org, "Contact")
    mine = outgoing(1, record_id=there, confirmed={"City": "Bonn"}, assignment=ASSIGNED, owner_known=org.users["bob"])
    answer = await write(crm(), replace(mine, fields=mine.fields | {"city": "Kiel", "title": "CEO"}))
    (outcome,) = answer.outcomes
    assert outcome == Written("ft-1", contact, created=False, object_type="Contact", owner_stands=org.users["bob"])
    row = records(org, "Contact")[contact]
    assert (row["MailingCity"], row["Title"], row["OwnerId"]) == ("Kiel", "CEO", org.users["bob"])
    assert row["Fairturn_Id__c"] == "ft-1"


async def test_an_assignment_made_after_the_conversion_gives_the_contact_to_its_rep(org, crm):
    (there,) = seed(org, {"Email": "lead1@acme.com", "converted": True})["leads"]
    later = ASSIGNED | {"assigned_at": "2099-01-01T00:00:00Z"}
    answer = await write(crm(), outgoing(1, record_id=there, assignment=later, owner_known=org.users["bob"]))
    assert answer.outcomes[0].owner_stands is None
    (contact,) = records(org, "Contact").values()
    assert contact["OwnerId"] == org.users["ann"]


async def test_a_key_that_another_record_bears_leads_to_that_record(org, crm):
    """A first answer got lost, then the person was found as another record: the one with our key is the lead's."""
    ours, other = seed(org, {"Email": "a@acme.com", "Fairturn_Id__c": "ft-1"}, {"Email": "lead1@acme.com"})["leads"]
    answer = await write(crm(), adopted(1, other, {}, org.users["bob"], owner=None))
    assert answer.outcomes == (Written("ft-1", ours, created=False),)
    assert "Fairturn_Id__c" not in records(org)[other]


async def test_an_owner_id_that_is_nobodys_is_the_owners_fault_on_a_known_record_too(org, crm):
    """Salesforce says of neither id which one it means: the record is looked for, and is there."""
    (there,) = seed(org, {"Email": "lead1@acme.com"})["leads"]
    org.users["nobody"] = "005000000000001"
    answer = await write(crm(), adopted(1, there, {}, org.users["bob"], owner="nobody"))
    (outcome,) = answer.outcomes
    assert isinstance(outcome, Refused)
    assert (outcome.code, outcome.owner_fault) == ("INVALID_CROSS_REFERENCE_KEY", True)
    assert answer.calls == 2


async def test_two_leads_of_one_record_take_turns(org, crm):
    (there,) = seed(org, {"Email": "lead1@acme.com"})["leads"]
    first, second = (await write(crm(), *(adopted(n, there, {}, org.users["bob"]) for n in (1, 2)))).outcomes
    assert isinstance(first, Written)
    assert isinstance(second, Later)
    assert (second.scope, second.code) == ("record", "SAME_RECORD")


# ---- fields -------------------------------------------------------------------------------------------------------


async def test_fifty_records_of_which_one_has_a_bad_address_are_one_request(org, crm):
    rows = [outgoing(n) for n in range(50)]
    rows[17] = outgoing(17, fields={"last_name": "x", "company": "y", "email": "not-an-email"})
    answer = await write(crm(), *rows)
    assert Counter(type(one) for one in answer.outcomes) == {Written: 49, Refused: 1}
    assert "Email: invalid email address: not-an-email" in answer.outcomes[17].message
    assert answer.calls == 1


async def test_fifty_records_with_a_bad_picklist_value_are_written_in_two_requests(org, crm):
    destination = crm(map=MAP | {"Segment__c": "language"})
    rows = [outgoing(n, fields=outgoing(n).fields | {"language": f"Huge{n}"}) for n in range(50)]
    answer = await write(destination, *rows)
    assert all(isinstance(one, Written) for one in answer.outcomes)
    assert answer.calls == 2
    assert {field for one in answer.outcomes for field in one.without} == {"Segment__c"}
    assert "bad value for restricted picklist field: Huge7" in answer.outcomes[7].without["Segment__c"]
    assert answer.refused["ft-7"] == {"Segment__c": "Huge7"}
    assert "Segment__c" not in answer.records["ft-7"]
    assert len(records(org)) == 50
    again = [
        replace(row, record_id=one.record_id, confirmed=answer.records[row.key], refused=answer.refused[row.key],
                fields=row.fields | {"city": "Kiel"}, owner=None)
        for row, one in zip(rows, answer.outcomes, strict=True)
    ]  # fmt: skip
    answer = await write(destination, *again)
    assert answer.calls == 1
    assert not any(one.without or "Segment__c" in answer.records[one.key] for one in answer.outcomes)  # not tried again
    mended = [replace(row, fields=row.fields | {"language": "SMB"}) for row in again]
    answer = await write(destination, *mended)
    assert not any(one.without for one in answer.outcomes)
    assert {row["Segment__c"] for row in records(org).values()} == {"SMB"}


async def test_fifty_records_with_an_unknown_state_are_written_and_the_country_goes_by_its_code(org, crm):
    org.post("/switches", {"state_picklists": True})
    destination = crm(map=MAP | {"State": "state", "Country": "country"})
    await destination.org()
    rows = [
        outgoing(n, fields=outgoing(n).fields | {"state": "Ilinois" if n else "Illinois", "country": "United States"})
        for n in range(50)
    ]
    answer = await write(destination, *rows)
    assert all(isinstance(one, Written) for one in answer.outcomes)
    assert answer.calls == 2
    assert [set(one.without) for one in answer.outcomes] == [set(), *([{"State"}] * 49)]
    leads = org.leads()
    assert (leads["ft-0"]["StateCode"], leads["ft-0"]["CountryCode"]) == ("IL", "US")
    assert {row["Country"] for row in leads.values()} == {"United States"}
    assert answer.records["ft-0"]["CountryCode"] == "US"


async def test_a_country_that_the_org_does_not_have_takes_its_state_with_it(org, crm):
    org.post("/switches", {"state_picklists": True})
    fields = outgoing(1).fields | {"state": "Illinois", "country": "Atlantis"}
    answer = await write(crm(map=MAP | {"State": "state", "Country": "country"}), outgoing(1, fields=fields))
    assert isinstance(answer.outcomes[0], Written)
    assert "Country" in answer.outcomes[0].without


@pytest.mark.parametrize("switch", [{}, {"unwritable": ["Lead.Industry"]}, {"invisible": ["Lead.Industry"]}])
async def test_a_field_that_is_not_there_or_not_ours_to_write_is_found_out_once(org, crm, switch):
    name = "Industry" if switch else "Nope__c"
    org.post("/switches", switch)
    destination = crm(map=MAP | {name: "title"})
    rows = [outgoing(n, fields=outgoing(n).fields | {"title": "CEO"}) for n in range(4)]
    answer = await write(destination, *rows[:2])
    assert [set(one.without) for one in answer.outcomes] == [{name}, {name}]
    assert answer.calls == 2
    answer = await write(destination, *rows[2:])
    assert [set(one.without) for one in answer.outcomes] == [{name}, {name}]
    assert name in answer.outcomes[0].without[name]
    assert answer.refused["ft-2"] == {name: "CEO"}
    assert answer.calls == 1
    assert name not in destination.draft(rows)["ft-0"]


async def test_a_text_is_cut_to_what_the_orgs_own_field_holds(org, crm):
    org.post("/seed", {"fields": [{"object": "Lead", "name": "Short__c", "kind": "string", "length": 5}]})
    destination = crm(map=MAP | {"Short__c": "title"})
    rows = [outgoing(n, fields=outgoing(n).fields | {"title": "Managing"}) for n in range(2)]
    answer = await write(destination, rows[0])
    assert not answer.outcomes[0].without
    assert answer.calls == 2
    assert (await write(destination, rows[1])).calls == 1
    assert {row["Short__c"] for row in org.leads().values()} == {"Manag"}


async def test_several_bad_fields_of_one_record_cost_one_request_each(org, crm):
    destination = crm(map=MAP | {"Segment__c": "language", "Nope__c": "title"})
    answer = await write(destination, outgoing(1, fields=outgoing(1).fields | {"language": "Huge", "title": "CEO"}))
    assert set(answer.outcomes[0].without) == {"Segment__c", "Nope__c"}
    assert answer.calls <= 3


async def test_what_makes_it_this_lead_is_never_left_out(org, crm):
    answer = await write(crm(map={"LastName": "last_name", "Company": "company", "Email": "email"}),
                         outgoing(1, fields={"last_name": "x", "company": None, "email": "x@acme.com"}))  # fmt: skip
    (outcome,) = answer.outcomes
    assert isinstance(outcome, Refused)
    assert outcome.code == "REQUIRED_FIELD_MISSING"
    assert answer.calls == 1


# ---- automation ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["cpu", "soql", "retries", "flow"])
async def test_automation_that_breaks_above_twenty_records_fails_none(org, crm, words):
    org.post("/switches", {"automation_records": 20, "automation_error": words})
    answer = await write(crm(), *(outgoing(n) for n in range(50)))
    assert all(isinstance(one, Written) for one in answer.outcomes)
    assert len(records(org)) == 50
    assert answer.calls <= 6
    broken = [load.records for load in answer.loads if load.overloaded]
    assert broken == [50, 25]
    assert all(load.records <= 20 for load in answer.loads if not load.overloaded)


async def test_what_the_automation_does_not_swallow_in_the_time_left_waits(org, crm):
    """Sixty calls a write: the sizes are learnt, and the rest goes in smaller requests."""
    org.post("/switches", {"automation_records": 1})
    answer = await write(crm(), *(outgoing(n) for n in range(100)))
    kinds = Counter(type(one) for one in answer.outcomes)
    assert set(kinds) == {Written, Later}
    assert kinds[Written] > 40
    assert answer.calls <= 61
    assert {one.scope for one in answer.outcomes if isinstance(one, Later)} == {"record"}


# ---- rules of the org ---------------------------------------------------------------------------------------------


async def test_a_duplicate_rule_that_only_warns_lets_it_pass_since_we_looked_before(org, crm):
    seed(org, {"Email": "lead1@acme.com"})
    org.post("/switches", {"duplicate_rule": "alert"})
    assert isinstance((await write(crm(), outgoing(1))).outcomes[0], Written)
    unasked = await write(crm(existing="ignore"), outgoing(2, fields=outgoing(1).fields))
    assert isinstance(unasked.outcomes[0], Refused)


async def test_a_duplicate_rule_that_blocks_is_told_with_what_to_do_case_95(org, crm):
    seed(org, {"Email": "lead1@acme.com"})
    org.post("/switches", {"duplicate_rule": "block"})
    (outcome,) = (await write(crm(), outgoing(1))).outcomes
    assert isinstance(outcome, Refused)
    assert outcome.code == "DUPLICATES_DETECTED"
    assert "duplicate rule" in outcome.message


@pytest.mark.parametrize("code", ["INSUFFICIENT_ACCESS_ON_CROSS_REFERENCE_ENTITY", "INSUFFICIENT_ACCESS_OR_READONLY"])
async def test_a_record_that_we_may_not_see_any_more_says_which_right_is_missing(org, crm, code):
    (there,) = seed(org, {"Email": "lead1@acme.com"})["leads"]
    org.post("/switches", {"sharing": "private", "sharing_error": code})
    (outcome,) = (await write(crm(), adopted(1, there, {}, org.users["bob"]))).outcomes
    assert isinstance(outcome, Refused)
    assert "View All and Modify All" in outcome.message
    assert not outcome.owner_fault


async def test_a_new_contact_is_made_under_its_account_alone(org, crm):
    mapping = {"LastName": {"field": "last_name", "default": "Unknown"}, "Email": "email"}
    destination = crm(object="Contact", map=mapping, account_lookup="Account.Fairturn_Key__c")
    answer = await write(
        destination,
        outgoing(1, account=1, account_key="domain:acme.com"),
        outgoing(2),
        outgoing(3, account=3, account_key="domain:nobody.com"),
    )
    made, without, unknown = answer.outcomes
    assert isinstance(made, Written)
    assert isinstance(without, Refused)
    assert without.code == "CONTACT_WITHOUT_ACCOUNT"
    assert isinstance(unknown, Refused)
    assert list(records(org, "Contact")) == [made.record_id]
    assert records(org, "Contact")[made.record_id]["AccountId"] is not None


async def test_an_account_that_somebody_chose_is_left(org, crm):
    globex = next(key for key, row in records(org, "Account").items() if row["Name"] == "Globex")
    (there,) = seed(org, {"Email": "lead1@acme.com", "Account__c": globex})["leads"]
    destination = crm(account_lookup="Account__r.Fairturn_Key__c")
    (person,) = (await destination.look_up(["lead1@acme.com"], 5)).people
    mine = adopted(1, there, person.values, org.users["bob"], account=1, account_key="domain:acme.com")
    await write(destination, mine)
    assert records(org)[there]["Account__c"] == globex
