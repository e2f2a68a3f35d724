"""Single records by id and by external id."""

import pytest

PATH = "sobjects/Lead/Fairturn_Id__c"


def test_created_then_updated_by_external_id(crm, person):
    fields = person("a b/c")
    fields.pop("Fairturn_Id__c")
    born = crm.call("PATCH", f"{PATH}/a%20b%2Fc", json=fields)
    again = crm.call("PATCH", f"{PATH}/a%20b%2Fc", json={"Title": "CEO"})

    assert (born.status_code, born.json()["created"]) == (201, True)
    assert (again.status_code, again.json()["created"]) == (200, False)
    found = crm.call("GET", f"{PATH}/a%20b%2Fc").json()
    assert (found["Id"], found["Title"], found["Fairturn_Id__c"]) == (born.json()["id"], "CEO", "a b/c")
    assert set(crm.call("GET", f"{PATH}/a%20b%2Fc", params={"fields": "Id,title"}).json()) == {
        "attributes",
        "Id",
        "Title",
    }


def test_create_get_update_by_id(crm, person):
    born = crm.call("POST", "sobjects/Lead/", json=person("a"))
    assert (born.status_code, set(born.json())) == (201, {"id", "success", "errors"})
    path = f"sobjects/Lead/{born.json()['id']}"
    assert born.headers["location"].endswith(path)
    changed = crm.call("PATCH", path, json={"Title": "CEO"})
    assert (changed.status_code, changed.content) == (204, b"")
    assert crm.call("GET", path[:-3]).json()["Title"] == "CEO"


def test_several_matches_are_three_hundred_with_their_urls(crm):
    """Case 92 for one record: HTTP 300 is an error with a list of paths, no redirect."""
    ids = crm.sim("/seed", {"leads": [{"LastName": "A", "Company": "A", "Email": "j@a.test"}] * 2})["leads"]
    for method, given in (("GET", {}), ("PATCH", {"json": {"Title": "CEO"}})):
        answer = crm.call(method, "sobjects/Lead/Email/J@a.test", **given)
        assert answer.status_code == 300
        assert answer.json() == [f"/services/data/v60.0/sobjects/Lead/{one}" for one in ids]
    assert crm.sim("/summary")["rows"]["updated"] == 0


@pytest.mark.parametrize(
    ("path", "body", "status", "code", "said"),
    [
        (
            "sobjects/Lead/Foo__c/1",
            {},
            404,
            "NOT_FOUND",
            "Provided external ID field does not exist or is not accessible",
        ),
        (
            f"{PATH}/1",
            {"Fairturn_Id__c": "1"},
            400,
            "INVALID_FIELD",
            "The Fairturn_Id__c field should not be specified",
        ),
        (f"{PATH}/1", {"Id": "1"}, 400, "INVALID_FIELD", "The Id field should not be specified in the sobject data."),
        (f"{PATH}/", {}, 405, "METHOD_NOT_ALLOWED", "HTTP Method 'PATCH' not allowed. Allowed are HEAD,GET,POST"),
        (f"{PATH}/1", {"LastName": "x"}, 400, "REQUIRED_FIELD_MISSING", "Required fields are missing: [Company]"),
        ("sobjects/Lead/00Qxx0000000001", {"Title": "x"}, 404, "NOT_FOUND", "The requested resource does not exist"),
    ],
)
def test_refusals_say_error_code(crm, path, body, status, code, said):
    answer = crm.call("PATCH", path, json=body)
    assert (answer.status_code, answer.json()[0]["errorCode"]) == (status, code)
    assert said in answer.json()[0]["message"]


def test_storage_full_on_a_single_record(crm, person):
    crm.fault("storage_full")
    answer = crm.call("POST", "sobjects/Lead", json=person("a"))
    assert (answer.status_code, answer.json()[0]["errorCode"]) == (400, "STORAGE_LIMIT_EXCEEDED")


def test_describe_tells_what_a_mapping_needs(crm):
    fields = {field["name"]: field for field in crm.call("GET", "sobjects/Lead/describe").json()["fields"]}
    assert (fields["LastName"]["nillable"], fields["LastName"]["length"]) == (False, 80)
    assert fields["Email"]["idLookup"]
    assert fields["Fairturn_Id__c"]["externalId"]
    assert fields["OwnerId"]["referenceTo"] == ["Group", "User"]
    assert fields["Account__c"]["relationshipName"] == "Account__r"
    assert "AccountId" not in fields
