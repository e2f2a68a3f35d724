"""sObject Collections upsert, update, create, read: rows, limits, keys, roll-back."""

import pytest


def errors(rows):
    return [row["errors"][0]["statusCode"] if row["errors"] else None for row in rows]


def test_created_then_updated_in_the_order_of_the_request(crm, person):
    first = crm.rows(person("a"), person("b"))
    again = crm.rows(person("c"), person("b", Title="CEO"))

    assert [row["created"] for row in first + again] == [True, True, True, False]
    assert all(set(row) == {"id", "success", "errors", "created"} for row in first)
    assert again[1]["id"] == first[1]["id"]
    assert first[0]["id"].startswith("00Q")
    assert len(first[0]["id"]) == 18


def test_a_refused_row_has_no_id_and_says_status_code_and_the_others_are_saved(crm, person):
    rows = crm.rows(person("a"), {"Fairturn_Id__c": "b", "LastName": "B"}, person("c"))

    assert rows[1] == {
        "success": False,
        "errors": [
            {
                "statusCode": "REQUIRED_FIELD_MISSING",
                "message": "Required fields are missing: [Company]",
                "fields": ["Company"],
            }
        ],
    }
    assert [row["success"] for row in rows] == [True, False, True]
    assert crm.sim("/summary")["records"]["Lead"] == 2


def test_the_same_key_twice_refuses_every_row_of_that_key(crm, person):
    """Case 83; keys compare without regard to case."""
    crm.rows(person("x"))
    rows = crm.rows(person("x"), person("y"), person("X", Title="CEO"))

    assert errors(rows) == ["DUPLICATE_VALUE", None, "DUPLICATE_VALUE"]
    assert rows[0]["errors"][0]["message"] == "Duplicate external id specified: x"
    assert rows[0]["errors"][0]["fields"] == ["Fairturn_Id__c"]
    assert crm.record(position=0).get("Title") is None


def test_a_key_that_matches_two_records_writes_neither(crm, person):
    """Case 92 in a collection."""
    made = crm.sim("/seed", {"leads": [{"LastName": "A", "Company": "A", "Legacy_Id__c": "7"}] * 2})["leads"]
    row = {"Legacy_Id__c": "7", "LastName": "B", "Company": "B"}
    rows = crm.rows(row, row | {"Legacy_Id__c": "8"}, key="Legacy_Id__c")

    assert errors(rows) == ["DUPLICATE_EXTERNAL_ID", None]
    assert all(one in rows[0]["errors"][0]["message"] for one in made)
    assert crm.sim("/summary")["records"]["Lead"] == 3


@pytest.mark.parametrize("size", [200, 201])
def test_two_hundred_records_and_no_more(crm, person, size):
    answer = crm.upsert(*(person(f"k{n}") for n in range(size)))

    assert answer.status_code == (200 if size == 200 else 400)
    if size == 200:
        assert len({row["id"] for row in answer.json()}) == 200
    else:
        assert answer.json()[0]["errorCode"] == "EXCEEDED_ID_LIMIT"
        assert crm.sim("/summary")["records"]["Lead"] == 0


def test_nothing_sent_is_refused(crm):
    answer = crm.upsert()
    assert answer.status_code == 400
    assert answer.json() == [{"message": "At least 1 record is required", "errorCode": "REQUIRED_FIELD_MISSING"}]


def test_all_or_none_takes_everything_back(crm, person):
    crm.rows(person("old", Title="CTO"))
    before = crm.sim("/summary")
    rows = crm.rows(person("old", Title="CEO"), person("new"), {"Fairturn_Id__c": "bad"}, body={"allOrNone": True})

    assert errors(rows) == [
        "ALL_OR_NONE_OPERATION_ROLLED_BACK",
        "ALL_OR_NONE_OPERATION_ROLLED_BACK",
        "REQUIRED_FIELD_MISSING",
    ]
    assert crm.record()["Title"] == "CTO"
    after = crm.sim("/summary")
    assert (after["records"], after["versions"]) == (before["records"], before["versions"])
    assert crm.rows(person("new"))[0]["created"], "a key taken back must be free again"


def test_a_row_without_its_key(crm):
    rows = crm.rows({"LastName": "A", "Company": "A"}, {"Fairturn_Id__c": None, "LastName": "B", "Company": "B"})
    assert errors(rows) == ["MISSING_ARGUMENT", "MISSING_ARGUMENT"]


def test_upsert_by_id_updates_what_it_names_and_creates_for_null(crm, person):
    [row] = crm.rows(person("a"))
    short = {"Id": row["id"][:15], "Title": "CEO"}
    rows = crm.rows(
        short,
        {"Id": None, "LastName": "N", "Company": "N"},
        {"Id": "00Qxx0000000001", "Title": "x"},
        {"Id": "no"},
        key="Id",
    )

    assert [one.get("created") for one in rows] == [False, True, None, None]
    assert rows[0]["id"] == row["id"]
    assert errors(rows)[2:] == ["INVALID_CROSS_REFERENCE_KEY", "MALFORMED_ID"]


def test_the_same_record_twice_by_both_forms_of_its_id(crm, person):
    """Case 99: 15 and 18 characters are one record."""
    [row] = crm.rows(person("a"))
    rows = crm.rows({"Id": row["id"], "Title": "A"}, {"Id": row["id"][:15], "Title": "B"}, key="Id")
    assert errors(rows) == ["DUPLICATE_VALUE", "DUPLICATE_VALUE"]


def test_an_id_in_a_record_upserted_by_external_id_is_refused(crm, person):
    [row] = crm.rows(person("a"))
    assert errors(crm.rows(person("a", Id=row["id"]))) == ["INVALID_FIELD"]


def test_a_field_that_is_no_key(crm, person):
    answer = crm.upsert(person("a"), key="Title")
    assert answer.status_code == 400
    assert "Title does not match an External ID, Salesforce Id, or indexed field for Lead" in answer.text


def test_one_type_per_upsert_and_attributes_in_each_record(crm, person):
    """Case 85."""
    mixed = {"records": [{"attributes": {"type": "Contact"}, **person("a")}]}
    bare = {"records": [person("a")]}
    assert crm.upsert(body=mixed).status_code == 400
    assert crm.upsert(body=bare).status_code == 400


def test_update_and_create_take_ten_chunks(crm, person):
    """Case 85: 22 alternating records are 22 chunks."""
    lead, contact = {"LastName": "L", "Company": "C"}, {"LastName": "C"}
    kinds = [("Lead", lead), ("Contact", contact)] * 11
    alternating = [{"attributes": {"type": kind}, **row} for kind, row in kinds]

    refused = crm.call("POST", "composite/sobjects", json={"records": alternating})
    assert refused.status_code == 400
    assert "Cannot have more than 10 chunks" in refused.text
    ordered = sorted(alternating, key=str)
    made = crm.call("POST", "composite/sobjects", json={"records": ordered}).json()
    assert all(row["success"] and "created" not in row for row in made)

    changed = [{"attributes": {"type": "Contact"}, "id": made[0]["id"], "Title": "CEO"}]
    changed.append({"attributes": {"type": "Contact"}, "Title": "CEO"})
    rows = crm.call("PATCH", "composite/sobjects", json={"records": changed}).json()
    assert errors(rows) == [None, "MISSING_ARGUMENT"]
    assert rows[0] == {"id": made[0]["id"], "success": True, "errors": []}


def test_read_by_ids_keeps_order_and_gives_null_for_what_is_not_there(crm, person):
    a, b = (row["id"] for row in crm.rows(person("a"), person("b")))
    wanted = {"ids": [b, "00Qxx0000000001", a[:15]], "fields": ["Fairturn_Id__c"]}
    found = crm.call("POST", "composite/sobjects/Lead", json=wanted).json()
    assert [row and row["Fairturn_Id__c"] for row in found] == ["b", None, "a"]
    assert found[0]["attributes"]["url"] == f"/services/data/v60.0/sobjects/Lead/{b}"


def test_a_body_that_is_no_json_and_a_body_of_another_type(crm):
    path = "composite/sobjects/Lead/Fairturn_Id__c"
    broken = crm.call("PATCH", path, content=b'{"records":[', headers={"Content-Type": "application/json"})
    assert (broken.status_code, broken.json()[0]["errorCode"]) == (400, "JSON_PARSER_ERROR")
    text = crm.call("PATCH", path, content=b"{}", headers={"Content-Type": "text/plain"})
    assert (text.status_code, text.json()[0]["errorCode"]) == (415, "UNSUPPORTED_MEDIA_TYPE")


def test_a_wrong_json_type_spoils_the_request_or_by_switch_the_row(crm, person):
    rows = [person("a"), person("b", Title=5)]
    answer = crm.upsert(*rows)
    assert (answer.status_code, answer.json()[0]["errorCode"]) == (400, "JSON_PARSER_ERROR")
    assert crm.sim("/summary")["records"]["Lead"] == 0
    crm.sim("/switches", {"type_error": "row"})
    assert errors(crm.rows(*rows)) == [None, "JSON_PARSER_ERROR"]
