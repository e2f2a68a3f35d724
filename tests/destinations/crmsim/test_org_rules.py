"""What orgs differ in: picklists, addresses, field-level security, record types, validation rules, keys."""

import pytest


def refusal(rows, position=0):
    [error] = rows[position]["errors"]
    return error["statusCode"], error["message"], error["fields"]


def write(crm, person, **fields):
    return crm.rows(person("a", **fields))


def test_a_picklist_refuses_only_where_it_is_restricted(crm, person):
    """Standard picklists take any value over the API until an administrator restricts them."""
    assert write(crm, person, Rating="Lukewarm")[0]["success"]
    crm.sim("/switches", {"restricted_picklists": ["Lead.Rating"]})
    assert refusal(write(crm, person, Rating="Lukewarm")) == (
        "INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST",
        "Rating: bad value for restricted picklist field: Lukewarm",
        ["Rating"],
    )
    assert write(crm, person, Rating="Hot")[0]["success"]


PROBLEM = (
    "There's a problem with this {0}, even though it may appear correct. "
    "Please select a {1} from the list of valid {2}.: "
)


@pytest.mark.parametrize(
    ("fields", "message", "field"),
    [
        ({"Country": "Atlantis"}, PROBLEM.format("country", "country/territory", "countries") + "Country", "Country"),
        (
            {"Country": "United States", "State": "Bavaria"},
            PROBLEM.format("state", "state", "states") + "State/Province",
            "State",
        ),
        (
            {"State": "Texas"},
            "A country/territory must be specified before specifying a state value for field: State/Province",
            "State",
        ),
    ],
)
def test_states_and_countries_of_a_list(crm, person, fields, message, field):
    """Case 97."""
    crm.sim("/switches", {"state_picklists": True})
    assert refusal(write(crm, person, **fields)) == ("FIELD_INTEGRITY_EXCEPTION", message, [field])


def test_a_state_by_its_name_or_its_code_fills_the_other(crm, person):
    assert "No such column" in refusal(write(crm, person, StateCode="TX"))[1]
    crm.sim("/switches", {"state_picklists": True})
    write(crm, person, StateCode="TX", CountryCode="US")
    assert (crm.record()["State"], crm.record()["Country"]) == ("Texas", "United States")
    write(crm, person, State="new york")
    assert (crm.record()["State"], crm.record()["StateCode"]) == ("New York", "NY")
    assert refusal(write(crm, person, CountryCode="XX"))[0] == "INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST"
    write(crm, person, Country=None, State=None)
    assert [crm.record()[name] for name in ("State", "StateCode", "Country", "CountryCode")] == [None] * 4


def test_addresses_of_contacts_have_their_own_names(crm):
    crm.sim("/switches", {"state_picklists": True})
    contact = {"Fairturn_Id__c": "c", "LastName": "C", "MailingCountry": "Canada", "MailingState": "Texas"}
    code, message, fields = refusal(crm.rows(contact, object="Contact"))
    assert (code, fields) == ("FIELD_INTEGRITY_EXCEPTION", ["MailingState"])
    assert message.endswith(": Mailing State/Province")


def test_field_level_security(crm, person):
    crm.sim("/switches", {"unwritable": ["Lead.Industry"], "invisible": ["Lead.Title"]})
    code, message, fields = refusal(write(crm, person, Industry="Banking"))
    assert (code, fields) == ("INVALID_FIELD_FOR_INSERT_UPDATE", ["Industry"])
    assert message.startswith("Unable to create/update fields: Industry. Please check the security settings")
    assert refusal(write(crm, person, Title="CEO"))[1] == "No such column 'Title' on sobject of type Lead"
    wrong = crm.http.post("/__sim__/switches", json={"unwritable": ["Lead.Shoe__c"]})
    assert (wrong.status_code, "Lead.Shoe__c" in wrong.text) == (400, True)
    assert crm.sim("/switches")["unwritable"] == ["Lead.Industry"]


def test_the_key_may_be_not_unique_or_not_there(crm, person):
    crm.sim("/switches", {"key_field": "not_unique"})
    for _ in range(2):
        assert crm.call("POST", "sobjects/Lead", json=person("a")).status_code == 201
    assert refusal(write(crm, person, Title="CEO"))[0] == "DUPLICATE_EXTERNAL_ID"
    crm.sim("/switches", {"key_field": "absent"})
    assert crm.upsert(person("a")).json()[0]["errorCode"] == "INVALID_FIELD"
    crm.sim("/switches", {"key_field": "unique"})
    assert crm.sim("/records/Lead")["total"] == 2
    assert refusal(write(crm, person, Title="CEO"))[0] == "DUPLICATE_EXTERNAL_ID"


def test_a_record_type_must_be_the_objects_and_active(crm, person):
    made = crm.sim(
        "/seed",
        {
            "record_types": [
                {"object": "Lead", "name": "Inbound", "default": True},
                {"object": "Lead", "name": "Old", "active": False},
                {"object": "Account", "name": "Partner"},
            ]
        },
    )
    inbound, old, partner = (row["id"] for row in made["record_types"])
    write(crm, person)
    assert crm.record()["RecordTypeId"] == inbound
    for wrong in (old, partner):
        assert refusal(write(crm, person, RecordTypeId=wrong)) == (
            "INVALID_CROSS_REFERENCE_KEY",
            f"Record Type ID: this ID value isn't valid for the user: {wrong}",
            ["RecordTypeId"],
        )


def test_validation_rules_look_at_the_record_as_it_would_be(crm, person):
    rules = [
        {"object": "Lead", "name": "Phone", "when": "Rating = 'Hot' AND Phone = null", "message": "Hot needs a phone.",
         "field": "Phone"},
        {"object": "Lead", "name": "Top", "when": "Title = 'God'", "message": "No gods."},
        {"object": "Lead", "name": "Off", "when": "Title != null", "message": "never", "active": False},
    ]  # fmt: skip
    crm.sim("/seed", {"validation_rules": rules})
    crm.rows(person("a", Rating="Hot", Phone="1"))
    code = "FIELD_CUSTOM_VALIDATION_EXCEPTION"
    assert refusal(write(crm, person, Phone=None)) == (code, "Hot needs a phone.", ["Phone"])
    assert refusal(write(crm, person, Title="God")) == (code, "No gods.", [])
    text = "SELECT ValidationName, Active, ErrorMessage FROM ValidationRule WHERE Active = true"
    where = " AND EntityDefinition.QualifiedApiName = 'Lead'"
    found = crm.call("GET", "tooling/query", params={"q": text + where}).json()["records"]
    assert [row["ValidationName"] for row in found] == ["Phone", "Top"]
    assert crm.call("GET", "query", params={"q": text}).json()[0]["errorCode"] == "INVALID_TYPE"


def test_texts_lose_the_white_space_around_them(crm, person):
    assert refusal(write(crm, person, LastName="  "))[0] == "REQUIRED_FIELD_MISSING"
    write(crm, person, Title=" CEO\n")
    assert crm.record()["Title"] == "CEO"
    crm.sim("/switches", {"trim_text": False})
    write(crm, person, Title=" CEO")
    assert crm.record()["Title"] == " CEO"


def test_a_key_is_trimmed_like_any_text(crm, person):
    crm.rows(person("a"))
    assert crm.rows(person(" a "))[0]["created"] is False
    assert crm.sim("/records/Lead")["total"] == 1


def test_a_number_that_is_no_int(crm, person):
    answer = crm.upsert(person("a", NumberOfEmployees=3_000_000_000))
    assert (answer.status_code, answer.json()[0]["errorCode"]) == (400, "JSON_PARSER_ERROR")


@pytest.mark.parametrize(
    ("seed", "words"),
    [
        ({"users": [{}]}, "users[0]: needs a name"),
        ({"queues": [{"name": "Q", "objects": "Lead"}]}, "queues[0]: objects is a list"),
        ({"validation_rules": [{"name": "a", "when": "Phone = null"}]}, "needs message"),
        ({"validation_rules": [{"name": "a", "when": "Shoe = 1", "message": "m"}]}, "No such column 'Shoe'"),
        ({"record_types": [{"object": "User", "name": "x"}]}, "object 'User' has none"),
    ],
)
def test_a_seed_that_cannot_be_says_where(crm, seed, words):
    answer = crm.http.post("/__sim__/seed", json=seed)
    assert (answer.status_code, words in answer.json()["error"]) == (400, True)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("2026-03-01T10:00:00+02:00", "2026-03-01T08:00:00.000+0000"),
        ("2026-03-01T10:00:00.123Z", "2026-03-01T10:00:00.000+0000"),
        ("2026-03-01", "2026-03-01T00:00:00.000+0000"),
    ],
)
def test_moments_are_kept_in_utc(crm, person, sent, kept):
    write(crm, person, Fairturn_Assigned_At__c=sent)
    assert crm.record()["Fairturn_Assigned_At__c"] == kept


def test_a_date_that_is_none_is_the_requests_fault(crm, person):
    answer = crm.upsert(person("a", Renewal__c="tomorrow"), person("b"))
    assert (answer.status_code, answer.json()[0]["errorCode"]) == (400, "JSON_PARSER_ERROR")
    crm.sim("/switches", {"type_error": "row"})
    rows = crm.rows(person("a", Renewal__c="tomorrow"), person("b", Renewal__c="2026-03-01"))
    assert [row["success"] for row in rows] == [False, True]


def test_a_queue_owns_only_its_objects(crm, person):
    made = crm.sim("/seed", {"queues": [{"name": "Cases", "objects": ["Case"]}]})
    found = refusal(write(crm, person, OwnerId=made["queues"][0]["id"]))
    assert found == ("INVALID_OPERATION", "Queue not associated with this SObject type", [])


def test_a_record_of_a_user_who_left(crm, person):
    """Case 96: whether it can be edited without a new owner is a permission of the API user."""
    crm.sim("/seed", {"leads": [{"LastName": "L", "Company": "C", "Fairturn_Id__c": "a", "Owner": "Gone"}]})
    assert write(crm, person, Title="CEO")[0]["success"]
    crm.sim("/switches", {"inactive_owner_updates": False})
    assert refusal(write(crm, person, Title="CTO"))[0] == "INACTIVE_OWNER_OR_USER"
    assert write(crm, person, OwnerId=crm.ids["Ann"])[0]["success"]


def test_duplicate_rules_look_at_leads_and_contacts(crm, person):
    """Case 95: a Contact with the e-mail is a duplicate of a new Lead; a converted Lead is none."""
    crm.sim("/seed", {"leads": [{"LastName": "L", "Company": "C", "Email": "was@x.test", "converted": True}]})
    crm.sim("/switches", {"duplicate_rule": "alert"})
    assert refusal(write(crm, person, Email="WAS@x.test"))[0] == "DUPLICATES_DETECTED"
    single = crm.call("POST", "sobjects/Lead", json=person("a", Email="was@x.test")).json()[0]
    [match] = single["duplicateResut"]["matchResults"]
    assert (match["entityType"], match["size"]) == ("Contact", 1)
    contact = crm.call("POST", "sobjects/Contact", json={"LastName": "L", "Email": "was@x.test"}).json()[0]
    assert contact["duplicateResut"]["duplicateRule"] == "Standard_Contact_Duplicate_Rule"
    rules = crm.call(
        "GET", "query", params={"q": "SELECT DeveloperName FROM DuplicateRule WHERE IsActive = true"}
    ).json()
    assert rules["totalSize"] == 2
