"""HubSpot over real HTTP: what is sent, and what becomes of the records."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from fairturn.model import Batch, Later, Outgoing, Refused, Unknown, Written
from tests.destinations.hubspot_simulated import MAP

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)


@pytest.fixture
async def crm(hub):
    made = []

    async def make(*args, **changes):
        made.append(hub.destination(*args, **changes))
        await made[-1].org()
        return made[-1]

    yield make
    for destination in made:
        await destination.close()


def outgoing(number, owner="ann", record_id=None, **changes):
    fields = {"last_name": f"Lead {number}", "company": "Acme", "email": f"lead{number}@acme.test"}
    fields |= changes.pop("fields", {})
    base = Outgoing(number, 1, 1, f"ft-{number}", record_id, fields, owner, "rep", None, None, NOW, None)
    return replace(base, **changes)


def batch(*records):
    return Batch(1, "hub", records, NOW)


async def write(destination, *records):
    return (await destination.write(batch(*records))).outcomes


# ---- what is sent -----------------------------------------------------------------------------------------------


async def test_new_contacts_are_upserted_on_our_key_and_matched_in_any_order(hub, crm):
    """Cases 86 and 87."""
    destination = await crm()
    answer = await destination.write(batch(*(outgoing(n) for n in range(30))))
    assert all(isinstance(one, Written) and one.created for one in answer.outcomes)
    assert [one.key for one in answer.outcomes] == [f"ft-{n}" for n in range(30)]
    there = hub.contacts()
    assert {one.record_id for one in answer.outcomes} == {row["id"] for row in there.values()}
    for one in answer.outcomes:
        row = there[f"lead{one.key[3:]}@acme.test"]
        assert (row["id"], row["fairturn_id"], row["hubspot_owner_id"]) == (one.record_id, one.key, hub.owners["ann"])
    assert answer.calls == 1
    assert answer.owners["ft-3"] == hub.owners["ann"]
    assert hub.calls() == ["owners", "owners", "upsert"]


async def test_results_without_trace_ids_are_matched_by_key(hub, crm):
    hub.switch(result_trace=False)
    destination = await crm()
    outcomes = await write(destination, *(outgoing(n) for n in range(9)))
    there = hub.contacts()
    assert {one.key: one.record_id for one in outcomes} == {row["fairturn_id"]: row["id"] for row in there.values()}
    again = [outgoing(n, None, outcomes[n].record_id, fields={"city": "Kiel"}, confirmed={}) for n in range(9)]
    assert [type(one) for one in await write(destination, *again)] == [Written] * 9


async def test_a_known_contact_is_updated_by_its_id_with_what_is_new_alone(hub, crm):
    destination = await crm()
    [first] = await write(destination, outgoing(1))
    confirmed = {"email": "lead1@acme.test", "lastname": "Lead 1", "company": "Acme", "fairturn_id": "ft-1"}
    known = outgoing(1, None, first.record_id, confirmed=confirmed, fields={"city": "Kiel"})
    answer = await destination.write(batch(known))
    assert answer.records["ft-1"] == {"city": "Kiel"}
    [again] = answer.outcomes
    assert again == Written("ft-1", first.record_id, created=False)
    assert hub.calls()[-1] == "update"
    assert hub.contacts()["lead1@acme.test"]["city"] == "Kiel"


async def test_known_and_new_ones_are_two_requests(hub, crm):
    destination = await crm()
    [first] = await write(destination, outgoing(1))
    known = outgoing(1, None, first.record_id, confirmed={"lastname": "Lead 1"}, fields={"city": "Kiel"})
    answer = await destination.write(batch(known, *(outgoing(n) for n in range(2, 6))))
    assert all(isinstance(one, Written) for one in answer.outcomes)
    assert answer.calls == 2
    assert [load.records for load in answer.loads] == [1, 4]


async def test_more_than_a_hundred_and_twins_travel_apart(hub, crm):
    """HubSpot refuses 101 inputs, and any request that names one id twice; one address twice is one contact."""
    destination = await crm()
    records = [outgoing(n) for n in range(101)]
    records.append(outgoing(500, fields={"email": "LEAD7@acme.test"}))
    outcomes = await write(destination, *records)
    assert all(isinstance(one, Written) for one in outcomes)
    assert outcomes[101].record_id == outcomes[7].record_id
    assert len(hub.contacts()) == 101


async def test_the_answer_tells_of_limits(hub, crm):
    hub.post("/limits", {"burst": 77, "daily": 5000})
    answer = await (await crm()).write(batch(outgoing(1)))
    assert answer.rate is not None
    assert (answer.rate.most, answer.rate.seconds) == (77, 10.0)
    assert answer.rate.left is not None
    assert answer.rate.left < 77
    assert answer.quota_max == 5000
    assert answer.quota_used is not None
    assert answer.quota_used >= 1


# ---- people who are there already --------------------------------------------------------------------------------


async def test_look_up_tells_owners_states_and_further_addresses_in_one_call(hub, crm):
    """Case 73: a second address leads to its contact."""
    owned = hub.contact(
        email="Ann.One@acme.test", owner="Ann Able", hs_lead_status="OPEN", city="Kiel", created="2026-01-03"
    )
    second = hub.contact(email="first@acme.test", additional_emails=["second@acme.test"], owner="Gone Girl")
    free = hub.contact(email="free@acme.test")
    destination = await crm()
    before = len(hub.requests())
    said = await destination.look_up(
        ["ann.one@acme.test", "second@acme.test", "free@acme.test", "nobody@acme.test", "no address at all"], 5.0
    )
    assert len(hub.requests()) == before + 1
    assert said.calls == 1
    by = {one.email: one for one in said.people}
    assert {email: one.record_id for email, one in by.items()} == {
        "ann.one@acme.test": owned, "second@acme.test": second, "free@acme.test": free,
    }  # fmt: skip
    ann = by["ann.one@acme.test"]
    assert ann.owner is not None
    assert (ann.owner.id, ann.owner.active, ann.owner.name) == (hub.owners["ann"], True, "Ann Able")
    assert (ann.status, ann.object_type, ann.values["city"]) == ("OPEN", "contacts", "Kiel")
    assert ann.created_at == datetime(2026, 1, 3, tzinfo=UTC)
    gone = by["second@acme.test"].owner
    assert gone is not None
    assert (gone.active, gone.name) == (False, "Gone Girl")
    assert by["free@acme.test"].owner is None


@pytest.mark.parametrize("secondary", ["keep", "swap"])
async def test_somebody_who_turns_out_to_be_there_keeps_their_owner(hub, crm, secondary):
    """Case 109, and 73: the upsert meets an existing contact, which is updated by its id in the same write."""
    hub.switch(secondary_email=secondary)
    there = hub.contact(email="lead1@acme.test", owner="Bob Baker", city="Bonn", hs_lead_status="OPEN")
    second = hub.contact(email="first@acme.test", additional_emails=["lead2@acme.test"])
    answer = await (await crm()).write(batch(outgoing(1, fields={"city": "Kiel"}), outgoing(2), outgoing(3)))
    one, two, three = answer.outcomes
    assert one == Written("ft-1", there, created=False, owner_stands=hub.owners["bob"])
    assert two == Written("ft-2", second, created=False)
    assert isinstance(three, Written)
    contacts = hub.contacts()
    assert len(contacts) == 3
    kept = contacts["lead1@acme.test"]
    assert (kept["hubspot_owner_id"], kept["city"], kept["hs_lead_status"]) == (hub.owners["bob"], "Bonn", "OPEN")
    assert (kept["fairturn_id"], kept["company"]) == ("ft-1", "Acme")
    assert contacts["first@acme.test"]["hubspot_owner_id"] == hub.owners["ann"]
    assert answer.owners == {"ft-1": hub.owners["bob"], "ft-2": hub.owners["ann"], "ft-3": hub.owners["ann"]}
    assert answer.found["ft-1"]["city"] == "Bonn"


async def test_an_archived_owner_and_a_recycled_status_leave_the_contact_free(hub, crm):
    hub.contact(email="lead1@acme.test", owner="Gone Girl")
    hub.contact(email="lead2@acme.test", owner="Bob Baker", hs_lead_status="UNQUALIFIED")
    outcomes = await write(await crm(recycle_statuses=["unqualified"]), outgoing(1), outgoing(2))
    assert [one.owner_stands for one in outcomes] == [None, None]
    assert {row["hubspot_owner_id"] for row in hub.contacts().values()} == {hub.owners["ann"]}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("together", [True, False])
async def test_two_leads_of_one_contact_do_not_take_turns_with_its_owner(hub, crm, known, together):
    """Case 73: found by the look-up of two addresses, or met by the write; in one request's time, or in two."""
    there = hub.contact(email="one@acme.test", additional_emails=["two@acme.test"])
    destination = await crm()
    leads = [
        outgoing(n, rep, fields={"email": mail})
        for n, rep, mail in ((1, "ann", "one@acme.test"), (2, "bob", "two@acme.test"))
    ]
    if known:
        people = (await destination.look_up(["one@acme.test", "two@acme.test"], 5.0)).people
        found = {one.email: one.values for one in people}
        leads = [replace(one, record_id=there, found=found[one.fields["email"]]) for one in leads]
    parts = [leads] if together else [leads[:1], leads[1:]]
    one, two = [outcome for part in parts for outcome in await write(destination, *part)]
    assert one == Written("ft-1", there, created=False)
    assert two == Written("ft-2", there, created=False, owner_stands=hub.owners["ann"])
    row = hub.contacts()["one@acme.test"]
    assert (row["hubspot_owner_id"], row["fairturn_id"]) == (hub.owners["ann"], "ft-1")


async def test_a_conflict_that_names_nobody_is_looked_up_by_address(hub, crm):
    """Case 90."""
    hub.switch(conflict_id=False)
    ids = [hub.contact(email=f"lead{n}@acme.test") for n in range(3)]
    outcomes = await write(await crm(), *(outgoing(n) for n in range(10)))
    assert [one.record_id for one in outcomes[:3]] == ids
    assert [one.created for one in outcomes[3:]] == [True] * 7
    assert len(hub.contacts()) == 10


async def test_what_is_known_too_long_is_read_before(hub, crm):
    """Owner once: somebody moved the contact since, so theirs stands; what they typed stands too."""
    destination = await crm()
    ids = [one.record_id for one in await write(destination, outgoing(1), outgoing(2))]
    hub.post("/owner", {"object": "contacts", "id": ids[0], "owner": "Bob Baker", "by": "Gone Girl"})
    hub.post("/edit", {"object": "contacts", "id": ids[0], "fields": {"city": "Bonn"}, "by": "Bob Baker"})
    stale = [
        outgoing(
            n, "ann", ids[n - 1], reread=True, confirmed={"lastname": f"Lead {n}", "city": "Rom"},
            found={}, owner_known=hub.owners["ann"], fields={"city": "Kiel"}, attempt=2,
        )
        for n in (1, 2)
    ]  # fmt: skip
    before = hub.calls()
    answer = await destination.write(batch(*stale))
    assert [one.owner_stands for one in answer.outcomes] == [hub.owners["bob"], None]
    assert hub.contacts()["lead1@acme.test"]["hubspot_owner_id"] == hub.owners["bob"]
    assert hub.contacts()["lead1@acme.test"]["city"] == "Bonn"
    assert hub.contacts()["lead2@acme.test"]["city"] == "Kiel"
    assert hub.calls()[len(before) :] == ["read", "update"]


async def test_a_new_one_that_an_earlier_try_made_is_found_by_its_key(hub, crm):
    destination = await crm()
    [first] = await write(destination, outgoing(1))
    hub.post("/owner", {"object": "contacts", "id": first.record_id, "owner": "Bob Baker", "by": "Bob Baker"})
    [again] = await write(destination, outgoing(1, attempt=2, reread=True))
    assert again == Written("ft-1", first.record_id, created=False, owner_stands=hub.owners["bob"])


async def test_nothing_goes_back_on_a_contact_whose_making_was_not_answered(hub, crm):
    """The lead says other things since. An opt-out stays, a person's words stay; ours follow."""
    options = [{"label": "Yes", "value": "true"}, {"label": "No", "value": "false"}]
    no_mail = {"object": "contacts", "name": "no_mail", "type": "bool", "fieldType": "booleancheckbox"}
    hub.seed(properties=[no_mail | {"options": options}])
    destination = await crm(map=MAP | {"no_mail": {"field": "opt_out", "mode": "never_unset"}})
    hub.faults({"kind": "reset_after", "path": "/batch/upsert", "nth": [1]})
    told = {"email": "lead1@acme.test", "city": "Bonn", "industry": "Banking", "opt_out": True}
    answer = await destination.write(batch(outgoing(1, fields=told)))
    assert isinstance(answer.outcomes[0], Unknown)
    hub.post("/edit", {"object": "contacts", "email": "lead1@acme.test", "fields": {"city": "Ulm"}})
    newer = {**told, "city": "Kiel", "industry": "Retail", "opt_out": False}
    again = outgoing(1, fields=newer, attempt=2, reread=True, confirmed=answer.records["ft-1"])
    [one] = await write(destination, again)
    assert isinstance(one, Written)
    contact = hub.contacts()["lead1@acme.test"]
    assert (contact["city"], contact["industry"], contact["no_mail"]) == ("Ulm", "Retail", "true")


async def test_whom_we_had_sent_in_a_lost_write_is_no_stranger(hub, crm):
    """The lead went to another rep since."""
    destination = await crm()
    hub.faults({"kind": "reset_after", "path": "/batch/upsert", "nth": [1]})
    answer = await destination.write(batch(outgoing(1, "ann")))
    again = outgoing(1, "bob", attempt=2, reread=True, confirmed=answer.records["ft-1"])
    [one] = await write(destination, again)
    assert one.owner_stands is None
    assert hub.contacts()["lead1@acme.test"]["hubspot_owner_id"] == hub.owners["bob"]


async def test_a_record_id_that_the_lead_came_with_is_read_first(hub, crm):
    """A source that names the contact skips the question; nothing is known of it yet."""
    there = hub.contact(email="lead1@acme.test", owner="Bob Baker", city="Bonn")
    [one] = await write(await crm(), outgoing(1, record_id=there, fields={"city": "Kiel"}))
    assert one == Written("ft-1", there, created=False, owner_stands=hub.owners["bob"])
    assert hub.contacts()["lead1@acme.test"]["city"] == "Bonn"
    assert hub.contacts()["lead1@acme.test"]["fairturn_id"] == "ft-1"


async def test_a_contact_that_was_deleted_is_not_made_again(hub, crm):
    destination = await crm()
    [first] = await write(destination, outgoing(1))
    hub.post("/archive", {"object": "contacts", "id": first.record_id, "by": "Ann Able"})
    known = outgoing(1, None, first.record_id, confirmed={"lastname": "Lead 1"}, fields={"city": "Kiel"})
    [one, two] = await write(destination, known, outgoing(2))
    assert isinstance(one, Refused)
    assert one.code == "RECORD_GONE"
    assert "Restore it" in one.message
    assert isinstance(two, Written)
    assert len(hub.contacts()) == 1


@pytest.mark.parametrize(("merged_write", "new_id"), [("survivor", False), ("left_out", False), ("survivor", True)])
async def test_a_contact_that_was_merged_is_written_where_it_went(hub, crm, merged_write, new_id):
    hub.switch(merged_write=merged_write, merge_new_id=new_id)
    destination = await crm()
    one, two = await write(destination, outgoing(1), outgoing(2))
    merged = hub.post(
        "/merge", {"primary": {"email": "lead2@acme.test"}, "other": {"email": "lead1@acme.test"}, "by": "Ann Able"}
    )
    known = outgoing(1, None, one.record_id, confirmed={"lastname": "Lead 1"}, fields={"city": "Kiel"}, attempt=2)
    [again, other] = await write(destination, known, outgoing(3))
    assert isinstance(other, Written)
    assert isinstance(again, Written)
    assert again.record_id == merged["id"]
    assert two.record_id == merged["id"] or new_id
    assert len(hub.contacts()) == 2
    assert hub.contacts()[merged["email"]]["city"] == "Kiel"


async def test_the_address_as_key_never_writes_over_somebody_who_is_there(hub, crm):
    """external_id = "email": the full set goes to new ones, and nothing of it over a person who was there."""
    hub.switch(partial_upsert="clear")
    there = hub.contact(email="lead1@acme.test", owner="Bob Baker", hs_lead_status="OPEN", phone="+49 1")
    answer = await (await crm(external_id="email")).write(batch(outgoing(1), outgoing(2)))
    assert answer.outcomes[0] == Written("ft-1", there, created=False, owner_stands=hub.owners["bob"])
    assert isinstance(answer.outcomes[1], Written)
    assert answer.calls == 3
    contacts = hub.contacts()
    assert (contacts["lead1@acme.test"]["phone"], contacts["lead1@acme.test"]["hs_lead_status"]) == ("+49 1", "OPEN")
    assert contacts["lead2@acme.test"]["hubspot_owner_id"] == hub.owners["ann"]


# ---- bad records and bad fields ----------------------------------------------------------------------------------


async def test_one_malformed_address_of_fifty_costs_one_record_and_no_request(hub, crm):
    """Case 89."""
    records = [outgoing(n) for n in range(50)]
    records[17] = outgoing(17, fields={"email": "lead17@acme.lcom"})
    answer = await (await crm()).write(batch(*records))
    assert [type(one) for one in answer.outcomes].count(Written) == 49
    bad = answer.outcomes[17]
    assert isinstance(bad, Refused)
    assert bad.code == "INVALID_EMAIL"
    assert "Email address lead17@acme.lcom is invalid" in bad.message
    assert not bad.owner_fault
    assert answer.calls == 1


async def test_a_bad_option_costs_the_field(hub, crm):
    records = [outgoing(n, fields={"industry": "NO_SUCH"}) for n in range(50)]
    answer = await (await crm(map=MAP_WITH_STATUS)).write(batch(*records))
    assert all(isinstance(one, Written) and list(one.without) == ["hs_lead_status"] for one in answer.outcomes)
    assert "was not one of the allowed options" in answer.outcomes[0].without["hs_lead_status"]
    assert answer.refused["ft-7"] == {"hs_lead_status": "NO_SUCH"}
    assert "hs_lead_status" not in answer.records["ft-7"]
    assert answer.calls == 2
    assert len(hub.contacts()) == 50


async def test_a_property_that_does_not_exist_is_left_out_beforehand_the_next_time(hub, crm):
    destination = await crm(map=MAP_WITH_STATUS | {"no_such_property": "city"})
    first = await destination.write(batch(*(outgoing(n, fields={"city": "Kiel"}) for n in range(5))))
    assert first.calls == 2
    second = await destination.write(batch(outgoing(9, fields={"city": "Kiel"})))
    assert second.calls == 1
    for answer in (first, second):
        assert all(isinstance(one, Written) and "no_such_property" in one.without for one in answer.outcomes)


@pytest.mark.parametrize("traced", [False, True])
async def test_bad_rows_among_updates_are_found_by_their_values(hub, crm, traced):
    """batch/update is refused as a whole for a bad value, and names it without its record; or row by row."""
    hub.switch(update_trace=traced)
    destination = await crm(map=MAP_WITH_STATUS)
    made = await write(destination, *(outgoing(n) for n in range(40)))
    values = {3: "BOGUS", 8: "ODD", 21: "BOGUS"}
    known = [
        outgoing(n, None, made[n].record_id, confirmed={"city": "x"}, fields={"industry": values.get(n, "OPEN")})
        for n in range(40)
    ]
    answer = await destination.write(batch(*known))
    assert all(isinstance(one, Written) for one in answer.outcomes)
    assert {int(one.key[3:]) for one in answer.outcomes if one.without} == {3, 8, 21}
    assert answer.calls <= 3


async def test_an_update_that_nobody_can_attribute_is_halved(hub, crm):
    """A rule of the account's own words the refusal: it names no property and no value."""
    destination = await crm()
    made = await write(destination, *(outgoing(n) for n in range(16)))
    # The address belongs to another contact: 409 for the whole batch, and no word which input it is of.
    hub.contact(email="taken@acme.test")
    known = [
        outgoing(n, None, made[n].record_id, confirmed={"email": f"lead{n}@acme.test"}, fields={"city": "Kiel"})
        for n in range(16)
    ]
    known[5] = replace(known[5], fields={**known[5].fields, "email": "taken@acme.test"})
    answer = await destination.write(batch(*known))
    assert [type(one) for one in answer.outcomes].count(Written) == 15
    assert isinstance(answer.outcomes[5], Refused)
    assert answer.calls <= 10
    assert all(
        row["city"] == "Kiel"
        for mail, row in hub.contacts().items()
        if mail not in ("taken@acme.test", "lead5@acme.test")
    )


async def test_an_archived_owner_is_the_reps_fault_and_costs_nobody_else(hub, crm):
    """Case 96."""
    answer = await (await crm()).write(
        batch(outgoing(1), outgoing(2, "gone"), outgoing(3, "idless"), outgoing(4, "who"))
    )
    one, two, three, four = answer.outcomes
    assert isinstance(one, Written)
    assert isinstance(two, Refused)
    assert two.owner_fault
    assert isinstance(three, Refused)
    assert (three.code, three.owner_fault) == ("OWNER_WITHOUT_ID", False)
    assert isinstance(four, Refused)
    assert (four.code, four.owner_fault) == ("OWNER_GONE", True)


@pytest.mark.parametrize(
    ("code", "words"), [("INVALID_OWNER_ID", "{value} is not a valid owner id"), ("INVALID_OPTION", "owner {value}?")]
)
async def test_an_owner_archived_a_moment_ago_is_refused_by_hubspot(hub, crm, code, words):
    """In words that no public source tells."""
    hub.switch(owner_code=code, owner_text=words)
    destination = await crm()
    hub.post("/person", {"owner": "Ann Able", "archived": True})
    one, two = await write(destination, outgoing(1), outgoing(2, "bob"))
    assert isinstance(one, Refused)
    assert one.owner_fault
    assert "owner" in one.message
    assert isinstance(two, Written)


async def test_without_the_unique_property_nothing_fails_and_a_person_is_told(hub, crm):
    destination = await crm(external_id="no_such_key")
    [one] = await write(destination, outgoing(1))
    assert isinstance(one, Later)
    assert (one.scope, one.code, one.after) == ("destination", "NO_UNIQUE_PROPERTY", 300.0)
    assert "no_such_key" in one.message


async def test_a_stage_that_would_go_back_is_left_and_listed(hub, crm):
    """Case 74."""
    stages = MAP_WITH_STATUS | {"lifecyclestage": {"value": "lead"}}
    there = hub.contact(email="lead1@acme.test", lifecyclestage="customer")
    destination = await crm(map=stages)
    said = (await destination.look_up(["lead1@acme.test"], 5.0)).people[0]
    [one] = await write(destination, outgoing(1, record_id=there, found=said.values))
    assert isinstance(one, Written)
    assert hub.contacts()["lead1@acme.test"]["lifecyclestage"] == "customer"
    assert "lifecyclestage" not in one.without  # never sent


# ---- companies ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", ["number", "string"])
async def test_a_known_company_is_associated_once(hub, crm, ids):
    hub.switch(association_ids=ids)
    company = hub.companies[0]
    destination = await crm()
    fields = {"crm_account_id": company}
    answer = await destination.write(batch(outgoing(1, fields=fields), outgoing(2)))
    assert all(isinstance(one, Written) and not one.without for one in answer.outcomes)
    assert answer.calls == 2
    assert hub.contacts()["lead1@acme.test"]["associatedcompanyid"] == company
    known = outgoing(
        1, None, answer.outcomes[0].record_id, fields=fields | {"city": "Kiel"}, confirmed=answer.records["ft-1"]
    )
    assert (await destination.write(batch(known))).calls == 1


async def test_a_company_that_is_not_there_never_costs_the_lead(hub, crm):
    records = [outgoing(1, fields={"crm_account_id": hub.companies[0]}), outgoing(2, fields={"crm_account_id": "999"})]
    answer = await (await crm()).write(batch(*records))
    one, two = answer.outcomes
    assert isinstance(one, Written)
    assert isinstance(two, Written)
    assert list(two.without) == ["associatedcompanyid"]
    assert not one.without
    assert hub.contacts()["lead1@acme.test"]["associatedcompanyid"] == hub.companies[0]
    hub.faults({"kind": "bad_gateway", "path": "/associations/"})
    [three] = await write(await crm(), outgoing(3, fields={"crm_account_id": hub.companies[0]}))
    assert isinstance(three, Written)
    assert list(three.without) == ["associatedcompanyid"]


# ---- what the wire does ------------------------------------------------------------------------------------------


async def test_an_answer_lost_after_the_commit_is_unknown_and_mended_by_the_same_write(hub, crm):
    """Case 91."""
    destination = await crm()
    hub.faults({"kind": "reset_after", "path": "/batch/upsert", "times": 1})
    outcomes = await write(destination, *(outgoing(n) for n in range(5)))
    assert [type(one) for one in outcomes] == [Unknown] * 5
    again = await write(destination, *(outgoing(n, attempt=2) for n in range(5)))
    assert [one.created for one in again] == [False] * 5
    assert len(hub.contacts()) == 5


@pytest.mark.parametrize("rows", [0, 3])
async def test_silence_is_never_success(hub, crm, rows):
    hub.faults({"kind": "silent", "path": "/batch/upsert", "rows": rows, "commit": True, "times": 1})
    outcomes = await write(await crm(), *(outgoing(n) for n in range(5)))
    assert [type(one) for one in outcomes].count(Unknown) == 5 - rows


async def test_a_limit_in_the_middle_stops_what_is_left(hub, crm):
    destination = await crm()
    [first] = await write(destination, outgoing(1))
    hub.faults({"kind": "burst_limit", "path": "/batch/update", "times": 1})
    known = outgoing(1, None, first.record_id, confirmed={"city": "x"}, fields={"city": "Kiel"})
    before = len(hub.requests())
    outcomes = await write(destination, known, outgoing(2))
    assert [(type(one), one.scope, one.after) for one in outcomes] == [(Later, "destination", 10.0)] * 2
    assert len(hub.requests()) == before + 1


async def test_what_cannot_be_read_is_not_written(hub, crm):
    destination = await crm()
    [first] = await write(destination, outgoing(1))
    hub.faults({"kind": "locked", "path": "/batch/read", "times": 1})
    stale = outgoing(1, "ann", first.record_id, reread=True, confirmed={"city": "x"}, fields={"city": "Kiel"})
    [one] = await write(destination, stale)
    assert isinstance(one, Later)
    assert one.after == 2.0
    assert hub.contacts()["lead1@acme.test"].get("city") is None


async def test_hubspot_tells_what_it_has(hub, crm):
    """For reconcile."""
    await write(await crm(), outgoing(1), outgoing(2))
    other = hub.contact(email="third@acme.test", additional_emails=["also@acme.test"])
    asked = hub.inspect()
    try:
        found = await asked.find(["ft-1", "ft-9"], ["lead1@acme.test", "also@acme.test", "nobody@acme.test"])
    finally:
        await asked.close()
    assert {(one.record_id, one.key, one.email) for one in found} == {
        (hub.contacts()["lead1@acme.test"]["id"], "ft-1", "lead1@acme.test"),
        (other, None, "third@acme.test"),
    }
    assert {one.owner for one in found} == {hub.owners["ann"], None}


MAP_WITH_STATUS = {
    "email": "email",
    "lastname": "last_name",
    "hs_lead_status": {"field": "industry", "mode": "always"},
}
