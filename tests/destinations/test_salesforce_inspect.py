"""What a simulated org has, asked for by our keys, by addresses and by ids."""

import pytest

from fairturn.destinations.salesforce.inspect import open_inspect


@pytest.fixture
async def crm(org):
    made = []

    def make(**changes):
        settings = org.settings(**changes)
        made.append(open_inspect("crm", settings, client_id="crmsim-client", client_secret="crmsim-secret"))
        return made[-1]

    yield make
    for one in made:
        await one.close()


async def test_a_leads_record_may_be_a_contact(org, crm):
    """Taken over as one, or converted since; a converted Lead is no second record of its person."""
    made = org.post(
        "/seed",
        {
            "leads": [{"LastName": "W", "Company": "A", "Email": "w@acme.com", "Owner": "Ann", "converted": True}],
            "contacts": [
                {"LastName": "K", "Email": "k@acme.com", "Owner": "Bob", "Fairturn_Id__c": "ft-2"},
                {"LastName": "Z", "Email": "z@acme.com", "Owner": "Bob"},
            ],
        },
    )
    asked = crm()
    found = await asked.find(["ft-2"], ["w@acme.com", "k@acme.com", "z@acme.com"])
    assert [(one.key, one.record_id, one.owner_name) for one in found] == [("ft-2", made["contacts"][0], "Bob")]
    found = await asked.find([], [], [made["contacts"][1], made["leads"][0]])
    assert {one.record_id: one.owner_email for one in found} == {
        made["contacts"][1]: "bob@crm.test",
        made["leads"][0]: "ann@crm.test",
    }


async def test_contacts_that_may_not_be_seen_are_none_of_ours(org, crm):
    org.post("/seed", {"leads": [{"LastName": "W", "Company": "A", "Email": "w@acme.com", "Fairturn_Id__c": "ft-1"}]})
    org.post("/switches", {"invisible": ["Contact.Fairturn_Id__c"]})
    found = await crm().find(["ft-1"], ["w@acme.com"])
    assert [one.key for one in found] == ["ft-1"]
