"""What the org checks of a row: fields, lengths, e-mail, owners, converted leads, references, rules of the org."""

import pytest


def refusal(rows, position=0):
    return rows[position]["errors"][0]


@pytest.mark.parametrize(
    ("fields", "code", "message"),
    [
        ({"Email": "not-an-email"}, "INVALID_EMAIL_ADDRESS", "Email: invalid email address: not-an-email"),
        ({"Email": "a@b"}, "INVALID_EMAIL_ADDRESS", "Email: invalid email address: a@b"),
        ({"FirstName": "x" * 41}, "STRING_TOO_LONG", f"First Name: data value too large: {'x' * 41} (max length=40)"),
        ({"Shoe__c": "9"}, "INVALID_FIELD", "No such column 'Shoe__c' on sobject of type Lead"),
        ({"LastName": ""}, "REQUIRED_FIELD_MISSING", "Required fields are missing: [LastName]"),
        ({"OwnerId": "12"}, "MALFORMED_ID", "Owner ID: id value of incorrect type: 12"),
        ({"OwnerId": "005xx0000000001"}, "INVALID_CROSS_REFERENCE_KEY", "invalid cross reference id"),
        ({"OwnerId": None}, "INVALID_CROSS_REFERENCE_KEY", "Owner ID: owner cannot be blank"),
        ({"Segment__c": "Huge"}, "INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST", "restricted picklist field: Huge"),
        ({"IsConverted": True}, "INVALID_FIELD_FOR_INSERT_UPDATE", "Unable to create/update fields: IsConverted."),
    ],
)
def test_a_bad_field_is_refused_in_the_crms_words(crm, person, fields, code, message):
    """Case 97 among them."""
    found = refusal(crm.rows(person("a", **fields)))
    assert (found["statusCode"], message in found["message"]) == (code, True)
    assert crm.sim("/summary")["records"]["Lead"] == 0


def test_an_inactive_owner_fails_its_row_alone(crm, person):
    """Case 96."""
    owners = [crm.ids[name] for name in ("Ann", "Bob", "Gone", "Inbound", "Ann")]
    rows = crm.rows(*(person(f"k{n}", OwnerId=owner) for n, owner in enumerate(owners)))

    assert [row["success"] for row in rows] == [True, True, False, True, True]
    assert refusal(rows, 2)["statusCode"] == "INACTIVE_OWNER_OR_USER"
    gone = crm.ids["Gone"]
    assert refusal(rows, 2)["message"] == f"operation performed with inactive user [{gone}] as owner of lead"


def test_a_queue_may_own_a_lead_but_no_contact(crm, person):
    queue = crm.ids["Inbound"]
    assert crm.rows(person("a", OwnerId=queue))[0]["success"]
    contact = {"Fairturn_Id__c": "c", "LastName": "C", "OwnerId": queue}
    assert refusal(crm.rows(contact, object="Contact"))["statusCode"] == "MALFORMED_ID"


def test_an_owner_by_the_short_form_is_kept_in_the_long_one(crm, person):
    crm.rows(person("a", OwnerId=crm.ids["Ann"][:15]))
    assert crm.record()["OwnerId"] == crm.ids["Ann"]


def test_a_converted_lead_is_frozen(crm, person):
    """Case 93."""
    crm.rows(person("a"))
    crm.sim("/edit", {"key": {"field": "Fairturn_Id__c", "value": "a"}, "fields": {"IsConverted": True}})
    found = refusal(crm.rows(person("a", Title="CEO")))
    assert found == {
        "statusCode": "CANNOT_UPDATE_CONVERTED_LEAD",
        "message": "cannot reference converted lead",
        "fields": [],
    }


def test_a_deleted_record_frees_its_key(crm, person):
    [row] = crm.rows(person("a"))
    assert crm.call("DELETE", f"sobjects/Lead/{row['id']}").status_code == 204
    assert crm.call("GET", f"sobjects/Lead/{row['id']}").status_code == 404
    [again] = crm.rows(person("a"))
    assert again["created"]
    assert again["id"] != row["id"]
    assert refusal(crm.rows({"Id": row["id"], "Title": "x"}, key="Id"))["statusCode"] == "ENTITY_IS_DELETED"


def test_lengths_count_utf16_units_unless_switched(crm, person):
    """Case 97: forty emoji in a field of forty."""
    emoji = person("a", FirstName="\U0001f600" * 40)
    assert refusal(crm.rows(emoji))["statusCode"] == "STRING_TOO_LONG"
    crm.sim("/switches", {"length_unit": "codepoints"})
    assert crm.rows(emoji)[0]["success"]


def test_an_account_named_by_its_external_id(crm, person):
    rows = crm.rows(
        person("a", Account__r={"Fairturn_Key__c": "acme.test"}),
        person("b", Account__r={"Fairturn_Key__c": "nowhere.test"}),
        person("c", Account__c=crm.ids["Globex"]),
    )
    assert crm.record(position=0)["Account__c"] == crm.ids["Acme"]
    assert refusal(rows, 1) == {
        "statusCode": "INVALID_FIELD",
        "message": "Foreign key external ID: nowhere.test not found for field Fairturn_Key__c in entity Account",
        "fields": [],
    }
    assert rows[2]["success"]


def test_an_unknown_account_is_made_if_the_switch_says_so(crm, person):
    crm.sim("/switches", {"auto_create_accounts": True})
    same = {"Account__r": {"Fairturn_Key__c": "new.test"}}
    assert all(row["success"] for row in crm.rows(person("a", **same), person("b", **same)))
    accounts = crm.sim("/records/Account")["records"]
    assert [row["Name"] for row in accounts] == ["Acme", "Globex", "new.test"]


def test_a_plain_lead_knows_no_account(crm, person):
    crm.sim("/switches", {"lead_account": False})
    found = refusal(crm.rows(person("a", Account__r={"Fairturn_Key__c": "acme.test"})))
    assert found["message"] == "No such column 'Account__r' on sobject of type Lead"
    contact = {"Fairturn_Id__c": "c", "LastName": "C", "Account": {"Fairturn_Key__c": "acme.test"}}
    assert crm.rows(contact, object="Contact")[0]["success"]


@pytest.mark.parametrize("header", [None, "TRUE", "FALSE"])
def test_without_the_header_the_assignment_rule_takes_the_lead(crm, person, header):
    ann = crm.ids["Ann"]
    crm.headers.pop("Sforce-Auto-Assign")
    headers = {"Sforce-Auto-Assign": header} if header else {}
    crm.rows(person("a", OwnerId=ann), headers=headers)

    assert (crm.record()["OwnerId"] == ann) == (header == "FALSE")
    assert crm.last()["headers"].get("sforce-auto-assign") == header
    if header != "FALSE":
        queue = crm.sim("/records/Group")["records"][0]
        assert (queue["Id"], queue["Name"]) == (crm.record()["OwnerId"], "Assignment Rule Queue")


def test_the_rule_runs_on_updates_too(crm, person):
    crm.rows(person("a", OwnerId=crm.ids["Ann"]))
    crm.rows(person("a", Title="CEO"), headers={"Sforce-Auto-Assign": "TRUE"})
    assert crm.record()["OwnerId"].startswith("00G")


def test_the_duplicate_rule(crm, person):
    """Case 95."""
    crm.rows(person("a", Email="jane@acme.test"))
    crm.sim("/switches", {"duplicate_rule": "alert"})
    double = person("b", Email="JANE@acme.test")
    assert refusal(crm.rows(double))["statusCode"] == "DUPLICATES_DETECTED"

    single = crm.call("POST", "sobjects/Lead", json=double)
    assert single.status_code == 400
    assert single.json()[0]["duplicateResut"]["matchResults"][0]["size"] == 1

    allow = {"Sforce-Duplicate-Rule-Header": "allowSave=true; includeRecordDetails=false"}
    crm.sim("/switches", {"duplicate_rule": "block"})
    assert not crm.rows(double, headers=allow)[0]["success"]
    crm.sim("/switches", {"duplicate_rule": "alert"})
    assert crm.rows(double, headers=allow)[0]["created"]
    assert crm.sim("/people")["duplicated"] == 1


def test_fields_of_the_seed(crm, person):
    crm.sim("/seed", {"fields": [{"object": "Lead", "name": "Utm__c", "length": 5}]})
    rows = crm.rows(person("a", Utm__c="short"), person("b", utm__C="longer"))
    assert refusal(rows, 1)["statusCode"] == "STRING_TOO_LONG"
    assert crm.record()["Utm__c"] == "short"
