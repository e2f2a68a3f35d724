"""What the org says of itself, and the rest of the records' verbs."""

import pytest


def fields_of(crm, name: str) -> dict:
    return {item["name"]: item for item in crm.call("GET", f"sobjects/{name}/describe").json()["fields"]}


def test_describe_tells_what_a_mapping_and_a_check_need(crm):
    crm.sim("/switches", {"unwritable": ["Lead.Industry"], "invisible": ["Lead.Title"]})
    crm.sim("/seed", {"fields": [{"object": "Lead", "name": "Agreed__c", "kind": "boolean"}]})
    fields = fields_of(crm, "Lead")
    last, owner, status, industry = (fields[name] for name in ("LastName", "OwnerId", "Status", "Industry"))
    assert (last["nillable"], last["defaultedOnCreate"], last["length"], last["type"]) == (False, False, 80, "string")
    assert (owner["referenceTo"], owner["defaultedOnCreate"]) == (["Group", "User"], True)
    assert status["picklistValues"][0] == {
        "active": True,
        "defaultValue": True,
        "label": "Open - Not Contacted",
        "validFor": None,
        "value": "Open - Not Contacted",
    }
    assert (industry["createable"], industry["updateable"]) == (False, False)
    assert "Title" not in fields
    assert fields["Segment__c"]["restrictedPicklist"] is True
    assert fields["Email"]["idLookup"] is True
    assert (fields["Fairturn_Id__c"]["externalId"], fields["Fairturn_Id__c"]["unique"]) == (True, True)
    needed = [
        name
        for name, item in fields.items()
        if item["createable"] and not item["nillable"] and not item["defaultedOnCreate"]
    ]
    assert sorted(needed) == ["Company", "LastName"]


def test_describe_names_the_record_types(crm):
    crm.sim("/seed", {"record_types": [{"object": "Lead", "name": "Inbound"}, {"object": "Contact", "name": "Other"}]})
    infos = crm.call("GET", "sobjects/Lead/describe").json()["recordTypeInfos"]
    assert [(info["name"], info["master"]) for info in infos] == [("Inbound", False), ("Master", True)]


def test_the_lists_of_objects_and_resources(crm):
    listed = crm.call("GET", "sobjects/").json()["sobjects"]
    assert {"Lead", "Contact", "Account", "User", "Group"} <= {item["name"] for item in listed}
    assert "ValidationRule" not in {item["name"] for item in listed}, "the Tooling API has it"
    assert crm.call("GET", "sobjects/Lead").json()["objectDescribe"]["keyPrefix"] == "00Q"
    assert crm.call("GET", "").json()["query"] == "/services/data/v60.0/query"
    assert set(crm.call("GET", "composite").json()) == {"batch", "graph", "sobjects"}


def test_versions_have_names_and_no_limit_header(crm):
    answer = crm.http.get("/services/data/")
    assert answer.json()[0] == {"label": "Winter '11", "url": "/services/data/v20.0", "version": "20.0"}
    assert answer.json()[-1]["version"] == "67.0"
    assert "sforce-limit-info" not in answer.headers
    assert crm.sim("/limits")["used"] == 0


# --- one record


def test_a_create_by_the_upsert_resource(crm, person):
    answer = crm.call("POST", "sobjects/Lead/Id", json=person("a"))
    assert answer.status_code == 201
    assert crm.call("POST", f"sobjects/Lead/{answer.json()['id']}", json={}).status_code == 405


def test_a_delete_by_external_id(crm, person):
    crm.rows(person("a"))
    assert crm.call("DELETE", "sobjects/Lead/Fairturn_Id__c/a").status_code == 204
    assert crm.call("DELETE", "sobjects/Lead/Fairturn_Id__c/a").status_code == 404
    assert crm.sim("/requests", kind="write")["requests"][-2]["rows"][0]["outcome"] == "deleted"
    crm.sim("/seed", {"leads": [{"LastName": "A", "Company": "A", "Email": "j@a.test"}] * 2})
    assert crm.call("DELETE", "sobjects/Lead/Email/j@a.test").status_code == 300


def test_update_only_inserts_nothing(crm):
    new = {"LastName": "Doe", "Company": "Acme"}
    path = "/services/data/v61.0/sobjects/Lead/Fairturn_Id__c/a?updateOnly=true"
    assert crm.http.patch(path, json=new, headers=crm.headers).status_code == 404
    assert crm.call("PATCH", "sobjects/Lead/Fairturn_Id__c/a", json=new).headers["location"]
    assert crm.http.patch(path, json={"Title": "CEO"}, headers=crm.headers).status_code == 200


def test_a_delete_waits_for_the_record(crm, person):
    [row] = crm.rows(person("a"))
    crm.sim("/faults", {"faults": [{"kind": "slow", "on": "write", "seconds": 3600, "nth": [1]}]})
    busy = crm.later(crm.call, "PATCH", f"sobjects/Lead/{row['id']}", json={"Title": "CEO"})
    crm.wait(resting=1)
    refused = crm.call("DELETE", f"sobjects/Lead/{row['id']}")
    assert (refused.status_code, refused.json()[0]["errorCode"]) == (500, "UNABLE_TO_LOCK_ROW")
    crm.sim("/release", {})
    assert busy.result().status_code == 204
    assert crm.call("DELETE", f"sobjects/Lead/{row['id']}").status_code == 204


# --- many records


def delete(crm, *ids: str, **query: str):
    return crm.call("DELETE", "composite/sobjects", params={"ids": ",".join(ids), **query})


def test_a_collection_is_deleted_row_by_row(crm, person):
    first, second = (row["id"] for row in crm.rows(person("a"), person("b")))
    delete(crm, first)
    rows = delete(crm, first, "00Q000000000001", "nonsense", second).json()
    assert [row["success"] for row in rows] == [False, False, False, True]
    assert rows[0]["errors"] == [{"statusCode": "ENTITY_IS_DELETED", "message": "entity is deleted", "fields": []}]
    assert rows[2]["errors"][0]["statusCode"] == "MALFORMED_ID"
    assert rows[3] == {"id": second, "success": True, "errors": []}
    assert crm.sim("/summary")["records"]["Lead"] == 0


def test_all_or_none_of_a_delete_is_in_the_query(crm, person):
    [row] = crm.rows(person("a"))
    rows = delete(crm, row["id"], "00Q000000000001", allOrNone="true").json()
    assert rows[0]["errors"][0]["statusCode"] == "ALL_OR_NONE_OPERATION_ROLLED_BACK"
    assert crm.sim("/summary")["records"]["Lead"] == 1


def test_a_converted_lead_can_be_deleted_and_its_key_is_free(crm, person):
    [row] = crm.rows(person("a"))
    crm.sim("/edit", {"id": row["id"], "fields": {"IsConverted": True}})
    assert delete(crm, row["id"]).json()[0]["success"] is True
    assert crm.rows(person("a"))[0]["created"] is True


@pytest.mark.parametrize(
    ("ids", "code"), [([], "REQUIRED_FIELD_MISSING"), ([f"00Q{n:012}" for n in range(201)], "EXCEEDED_ID_LIMIT")]
)
def test_no_ids_and_too_many(crm, ids, code):
    answer = delete(crm, *ids)
    assert (answer.status_code, answer.json()[0]["errorCode"]) == (400, code)


def test_an_unknown_type_spoils_the_request(crm):
    answer = crm.call("POST", "composite/sobjects", json={"records": [{"attributes": {"type": "Shoe"}}]})
    assert (answer.status_code, answer.json()[0]["errorCode"]) == (400, "INVALID_TYPE")


def test_retrieve_takes_lists(crm, person):
    [row] = crm.rows(person("a"))
    path = "composite/sobjects/Lead"
    found = crm.call("POST", path, json={"ids": [row["id"], "00Q000000000001"], "fields": ["Company"]}).json()
    assert (found[0]["Company"], found[1]) == ("Acme", None)
    for body in ({"ids": [], "fields": ["Company"]}, {"ids": row["id"], "fields": ["Company"]}, {"ids": [row["id"]]}):
        assert crm.call("POST", path, json=body).status_code == 400
    assert crm.last()["kind"] == "read"
