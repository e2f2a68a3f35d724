"""Users, queues and record types are named by people; ids are the CRM's."""

import pytest

from fairturn.config import Rep
from fairturn.destinations.salesforce.directory import MISSED, Named
from fairturn.model import Batch, Refused, Written
from tests.destinations.simulated import MAP
from tests.destinations.test_salesforce import NOW, outgoing


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


def rep(**changes):
    return {"ann": Rep.model_validate({"name": "Ann"} | changes)}


@pytest.mark.parametrize(
    "named",
    [
        {"email": "ANN@crm.test"},
        {"ids": {"crm": "ann@crm.test"}},
        {"ids": {"crm": "Ann"}},
        {"email": "other@crm.test", "ids": {"crm": "ann@crm.test"}},
    ],
)
async def test_a_rep_is_found_by_what_the_settings_say(org, crm, named):
    destination = crm(reps=rep(**named))
    await destination.org()
    answer = await write(destination, outgoing(1))
    assert isinstance(answer.outcomes[0], Written)
    assert org.leads()["ft-1"]["OwnerId"] == org.users["ann"]
    assert answer.calls == 1  # found with the org, before
    assert destination.draft([outgoing(2)])["ft-2"]["OwnerId"] == org.users["ann"]


async def test_a_sandboxs_users_have_other_addresses(org, crm):
    made = org.post("/seed", {"users": [{"name": "Sandy", "email": "sandy@crm.test.invalid"}]})
    await write(crm(reps=rep(email="sandy@crm.test")), outgoing(1))
    assert org.leads()["ft-1"]["OwnerId"] == made["users"][0]["id"]


async def test_of_two_users_with_one_address_the_active_one_is_meant(org, crm):
    org.post("/seed", {"users": [{"name": "Old Ann", "email": "ann@crm.test", "active": False}]})
    await write(crm(reps=rep(email="ann@crm.test")), outgoing(1))
    assert org.leads()["ft-1"]["OwnerId"] == org.users["ann"]


async def test_two_active_ones_are_told_with_their_ids(org, crm):
    made = org.post("/seed", {"users": [{"name": "Ann Too", "email": "ann@crm.test"}]})
    (outcome,) = (await write(crm(reps=rep(email="ann@crm.test")), outgoing(1))).outcomes
    assert isinstance(outcome, Refused)
    assert (outcome.code, outcome.owner_fault) == ("OWNER_AMBIGUOUS", False)
    assert f"Ann Too ({made['users'][0]['id']})" in outcome.message
    assert "reps.ann.ids.crm" in outcome.message
    assert org.leads() == {}


async def test_one_whom_nobody_knows_is_told_with_the_remedy_and_others_are_written(org, crm):
    reps = rep(email="nobody@crm.test") | {"bob": Rep(name="Bob", email="bob@crm.test")}
    unknown, known = (await write(crm(reps=reps), outgoing(1), outgoing(2, owner="bob"))).outcomes
    assert isinstance(unknown, Refused)
    assert unknown.code == "OWNER_WITHOUT_ID"
    assert "reps.ann.email" in unknown.message
    assert "'nobody@crm.test'" in unknown.message
    assert isinstance(known, Written)


async def test_one_who_was_made_since_is_found_after_a_minute(org, crm, monkeypatch):
    destination = crm(reps=rep(email="new@crm.test"))
    await destination.org()
    assert isinstance(destination.draft([outgoing(1)])["ft-1"], Refused)
    org.post("/seed", {"users": [{"name": "New", "email": "new@crm.test"}]})
    assert isinstance((await write(destination, outgoing(1))).outcomes[0], Refused)
    assert MISSED == 60
    for known in destination._directory._known.values():
        object.__setattr__(known, "until", 0.0)  # a minute has passed
    assert destination.draft([outgoing(1)])["ft-1"]["OwnerId"] == "new@crm.test"  # write will ask
    assert isinstance((await write(destination, outgoing(1))).outcomes[0], Written)


async def test_queues_are_named_too(org, crm):
    destination = crm(owners=["Held"])
    await destination.org()
    answer = await write(destination, outgoing(1, owner="Held", owner_kind="raw"))
    assert answer.calls == 1
    assert org.leads()["ft-1"]["OwnerId"] == org.queue
    (outcome,) = (await write(destination, outgoing(2, owner="Hold", owner_kind="raw"))).outcomes
    assert isinstance(outcome, Refused)
    assert "no queue or user 'Hold'" in outcome.message


async def test_ids_need_no_question(org, crm):
    destination = crm()
    await destination.org()
    answer = await write(destination, outgoing(1), outgoing(2, owner=org.queue[:15], owner_kind="raw"))
    assert answer.calls == 1
    assert org.leads()["ft-2"]["OwnerId"] == org.queue
    assert {row["kind"] for row in org.get("/requests")["requests"]} == {"token", "write"}


async def test_three_hundred_reps_are_found(org, crm):
    made = org.post("/seed", {"users": [{"name": f"U{n}", "email": f"rep.number.{n}@seller.test"} for n in range(300)]})
    reps = {f"r{n}": Rep(name=f"U{n}", email=f"rep.number.{n}@seller.test") for n in range(300)}
    destination = crm(reps=reps)
    await destination.org()
    assert destination.draft([outgoing(1, owner="r299")])["ft-1"]["OwnerId"] == made["users"][299]["id"]
    assert all(destination._directory.known(Named("user", str(one.email))).users for one in reps.values())


@pytest.mark.parametrize("name", ["inbound web", "Inbound_Web"])
async def test_record_types_are_named(org, crm, name):
    made = org.post("/seed", {"record_types": [{"object": "Lead", "name": "Inbound Web"}]})
    destination = crm(map=MAP | {"RecordTypeId": {"record_type": name}})
    await destination.org()
    answer = await write(destination, outgoing(1))
    assert org.leads()["ft-1"]["RecordTypeId"] == made["record_types"][0]["id"]
    assert answer.outcomes[0].without == {}


async def test_a_record_type_that_nobody_has_costs_the_field_alone(org, crm):
    destination = crm(map=MAP | {"RecordTypeId": {"record_type": "Nope"}})
    await destination.org()
    (outcome,) = (await write(destination, outgoing(1))).outcomes
    assert isinstance(outcome, Written)
    assert outcome.without == {"RecordTypeId": "Salesforce has no record type 'Nope' of Lead"}
