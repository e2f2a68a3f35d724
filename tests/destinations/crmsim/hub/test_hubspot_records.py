"""Contacts and companies: statuses, the matrix of a batch with a bad record, and what a value becomes."""

import json

import pytest

CONTACTS = "/crm/v3/objects/contacts"


def row(email, trace=None, **properties):
    found = {"id": email, "idProperty": "email", "properties": {"email": email, **properties}}
    return found | ({"objectWriteTraceId": trace} if trace else {})


def new(email, trace=None, **properties):
    return {"properties": {"email": email, **properties}} | ({"objectWriteTraceId": trace} if trace else {})


def inside(message):
    """The JSON inside a refusal's sentence."""
    return json.loads(message.removeprefix("Property values were not valid: "))


def test_a_create_without_trace_ids_is_all_or_nothing(hub):
    answer = hub.batch("create", new("a@x.co"), new("bad@x.con"), new("c@x.co", shoe_size="4"))
    assert answer.status_code == 400
    body = answer.json()
    assert body["category"] == "VALIDATION_ERROR"
    assert inside(body["message"]) == [
        {"isValid": False, "message": "Email address bad@x.con is invalid", "error": "INVALID_EMAIL", "name": "email"},
        {"isValid": False, "message": 'Property "shoe_size" does not exist', "error": "PROPERTY_DOESNT_EXIST",
         "name": "shoe_size"},
    ]  # fmt: skip
    assert body["errors"][1]["context"] == {"propertyName": ["shoe_size"]}
    assert answer.headers["x-hubspot-correlation-id"] == body["correlationId"]
    assert hub.sim("/summary")["records"]["contacts"] == 0


def test_a_create_with_trace_ids_writes_the_good_ones(hub):
    old = hub.contact(email="old@x.co")["id"]
    answer = hub.batch("create", new("a@x.co", "t0"), new("OLD@x.co", "t1"), new("bad", "t2"))
    assert answer.status_code == 207
    body = answer.json()
    assert [item["properties"]["email"] for item in body["results"]] == ["a@x.co"]
    assert body["numErrors"] == 2
    assert body["errors"][0] == {
        "status": "error", "category": "CONFLICT", "message": f"Contact already exists. Existing ID: {old}",
        "context": {"objectWriteTraceId": ["t1"], "existingId": [old]},
    }  # fmt: skip
    assert body["errors"][1]["context"] == {"objectWriteTraceId": ["t2"]}
    assert "correlationId" not in body["errors"][1]


def test_a_taken_email_without_trace_ids_is_409_for_the_whole_batch(hub):
    old = hub.contact(email="old@x.co")["id"]
    answer = hub.batch("create", new("a@x.co"), new("old@x.co"))
    assert (answer.status_code, answer.json()["category"]) == (409, "CONFLICT")
    assert answer.json()["message"] == f"Contact already exists. Existing ID: {old}"
    hub.sim("/switches", {"conflict_id": False})
    assert hub.post(CONTACTS, {"properties": {"email": "old@x.co"}}).json()["message"] == "Contact already exists"


def test_trace_ids_must_be_one_for_each(hub):
    assert hub.batch("upsert", row("a@x.co", "same"), row("bad", "same")).status_code == 400
    assert hub.batch("upsert", row("a@x.co", "1"), row("bad")).status_code == 400
    assert hub.sim("/summary")["records"]["contacts"] == 0


def test_an_upsert_tells_new_from_old_in_any_order(hub):
    hub.contact(email="a3@x.co")
    answer = hub.batch("upsert", *(row(f"A{n}@x.co", f"t{n}", firstname="F") for n in range(20)))
    assert answer.status_code == 200
    results = answer.json()["results"]
    assert [item["properties"]["email"] for item in results] != [f"a{n}@x.co" for n in range(20)], "shuffled"
    assert {item["properties"]["email"] for item in results} == {f"a{n}@x.co" for n in range(20)}, "lower-cased"
    assert [item["properties"]["email"] for item in results if not item["new"]] == ["a3@x.co"]
    assert {item["objectWriteTraceId"] for item in results} == {f"t{n}" for n in range(20)}


def test_duplicate_ids_spoil_a_batch_even_with_trace_ids(hub):
    for inputs in ([row("a@x.co", "1"), row("A@x.co", "2")], [row("a@x.co"), row("a@x.co")]):
        answer = hub.batch("upsert", *inputs)
        assert answer.status_code == 400
        twice = inputs[1]["id"]
        assert answer.json()["message"] == f"Duplicate IDs found in batch input: [{twice}]. IDs must be unique"
        assert answer.json()["context"] == {"ids": [twice]}
    known = hub.contact(email="b@x.co")["id"]
    assert hub.batch("update", *[{"id": known, "properties": {"phone": "1"}}] * 2).status_code == 400
    assert hub.batch("read", {"id": known}, {"id": known}).status_code == 400
    hub.sim("/switches", {"fold_duplicates": False})
    assert hub.batch("upsert", row("a@x.co"), row("A@x.co")).status_code == 409, "each means to be the first"


def test_one_new_email_twice_in_a_create(hub):
    assert hub.batch("create", new("a@x.co", "1"), new("a@x.co", "2")).status_code == 400
    hub.sim("/switches", {"create_twins": "conflict"})
    answer = hub.batch("create", new("a@x.co", "1"), new("a@x.co", "2"))
    assert answer.status_code == 207
    assert [error["context"]["objectWriteTraceId"] for error in answer.json()["errors"]] == [["2"]]


def test_an_update_tells_which_ids_it_did_not_find(hub):
    known = hub.contact(email="a@x.co")["id"]
    inputs = [{"id": one, "properties": {"phone": "1"}} for one in (known, "11", "12")]
    answer = hub.batch("update", *inputs)
    assert answer.status_code == 207
    [error] = answer.json()["errors"]
    assert (answer.json()["numErrors"], error["category"], error["context"]) == (
        1, "OBJECT_NOT_FOUND", {"ids": ["11", "12"]},
    )  # fmt: skip
    traced = hub.batch("update", *(item | {"objectWriteTraceId": item["id"]} for item in inputs)).json()
    assert [error["context"] for error in traced["errors"]] == [
        {"objectWriteTraceId": ["11"], "ids": ["11"]}, {"objectWriteTraceId": ["12"], "ids": ["12"]},
    ]  # fmt: skip
    assert set(traced["results"][0]["properties"]) == {"phone", "createdate", "hs_object_id", "lastmodifieddate"}


def test_a_bad_value_spoils_an_update_unless_told_otherwise(hub):
    known = [hub.contact(email=f"{name}@x.co")["id"] for name in "ab"]
    inputs = [
        {"id": known[0], "properties": {"phone": "1"}, "objectWriteTraceId": "1"},
        {"id": known[1], "properties": {"hs_lead_status": "WARM"}, "objectWriteTraceId": "2"},
    ]
    assert hub.batch("update", *inputs).status_code == 400
    assert hub.read("a@x.co", "phone")["phone"] is None
    hub.sim("/switches", {"update_trace": True})
    assert hub.batch("update", *inputs).status_code == 207


def test_an_update_goes_by_record_id_or_a_unique_property(hub):
    hub.contact(email="a@x.co", fairturn_id="k1")
    by_email = hub.batch("update", {"id": "a@x.co", "idProperty": "email", "properties": {"phone": "1"}})
    assert by_email.status_code == 400
    assert by_email.json()["message"] == "Unable to perform update/upsert by non-unique 0-1 property email"
    by_key = hub.batch("update", {"id": "k1", "idProperty": "fairturn_id", "properties": {"phone": "1"}})
    assert by_key.status_code == 200
    by_name = hub.batch("upsert", {"id": "x", "idProperty": "firstname", "properties": {"phone": "1"}})
    assert by_name.status_code == 400


def test_companies_go_by_a_unique_property_of_the_account_never_by_domain(hub):
    one = {"id": "acme.test", "idProperty": "domain", "properties": {"name": "Acme"}}
    answer = hub.batch("upsert", one, object="companies")
    assert answer.status_code == 400
    assert answer.json()["message"] == "Unable to perform update/upsert by non-unique 0-2 property domain"
    by_key = {"id": "k1", "idProperty": "fairturn_key", "properties": {"name": "Acme 2", "domain": "acme.test"}}
    assert hub.batch("upsert", by_key, object="0-2").json()["results"][0]["new"] is True
    assert hub.batch("upsert", by_key, object="COMPANY").json()["results"][0]["new"] is False
    body = {"filterGroups": [{"filters": [{"propertyName": "domain", "operator": "EQ", "value": "acme.test"}]}]}
    assert hub.post("/crm/v3/objects/companies/search", body).json()["total"] == 2
    read = hub.batch("read", {"id": "k1"}, object="companies", idProperty="fairturn_key", properties=["name"])
    assert read.json()["results"][0]["properties"]["name"] == "Acme 2"


def test_a_read_takes_emails_in_any_case_and_second_ones(hub):
    made = hub.sim("/seed", {"contacts": [{"email": "first@x.co", "additional_emails": ["Second@x.co"]}]})
    answer = hub.batch("read", {"id": "SECOND@x.co"}, {"id": "none@x.co"}, idProperty="email")
    assert answer.status_code == 207
    [found] = answer.json()["results"]
    assert (found["id"], found["properties"]["email"]) == (made["contacts"][0], "first@x.co")
    assert answer.json()["errors"][0]["context"]["ids"] == ["none@x.co"]
    assert hub.batch("read", {"id": "second@x.co"}, idProperty="email").status_code == 200
    again = hub.batch("upsert", row("second@x.co", phone="1")).json()["results"][0]
    assert (again["id"], again["new"]) == (made["contacts"][0], False)
    assert hub.read("first@x.co")["email"] == "first@x.co", "the first one stays"
    assert hub.post(CONTACTS, {"properties": {"email": "second@x.co"}}).status_code == 409


def test_a_second_email_may_change_places(hub):
    hub.sim("/seed", {"contacts": [{"email": "first@x.co", "additional_emails": ["second@x.co"]}]})
    hub.sim("/switches", {"secondary_email": "swap"})
    hub.batch("upsert", row("second@x.co"))
    assert hub.read("first@x.co", "email", "hs_additional_emails")["hs_additional_emails"] == "first@x.co"


def test_more_than_a_hundred_inputs_are_refused(hub):
    answer = hub.batch("upsert", *(row(f"a{n}@x.co") for n in range(101)))
    assert answer.status_code == 400
    assert answer.json()["message"] == (
        "The maximum number of inputs supported in a batch is 100. Please reduce the number of items and try again"
    )
    assert hub.batch("upsert", *(row(f"a{n}@x.co") for n in range(100))).status_code == 200


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("email", "jane", "INVALID_EMAIL"),
        ("email", "jane@x", "INVALID_EMAIL"),
        ("email", "jane@x.lcom", "INVALID_EMAIL"),
        ("email", "ja ne@x.co", "INVALID_EMAIL"),
        ("hs_lead_status", "WARM", "INVALID_OPTION"),
        ("segment", "tiny", "INVALID_OPTION"),
        ("hs_email_optout", "maybe", "INVALID_OPTION"),
        ("score", "1/1/1", "INVALID_LONG"),
        ("createdate", "2026-01-01", "READ_ONLY_VALUE"),
        ("hs_object_id", "7", "READ_ONLY_VALUE"),
        ("nothing", "7", "PROPERTY_DOESNT_EXIST"),
        ("hubspot_owner_id", "4", "INVALID_OWNER_ID"),
    ],
)
def test_a_value_that_is_refused(hub, name, value, code):
    answer = hub.post(CONTACTS, {"properties": {"firstname": "J", name: value}})
    assert (answer.status_code, answer.json()["category"]) == (400, "VALIDATION_ERROR")
    assert answer.json()["errors"][0]["code"] == code
    assert inside(answer.json()["message"])[0]["name"] == name


def test_a_refused_option_names_all_of_them_in_a_protobufs_words(hub):
    message = hub.post(CONTACTS, {"properties": {"firstname": "J", "segment": "tiny"}}).json()["errors"][0]["message"]
    assert message.startswith(
        'tiny was not one of the allowed options: [label: "SMB"\nvalue: "smb"\ndisplay_order: 0\n'
    )


def test_values_are_text(hub):
    made = hub.contact(email=" Jane@X.co ", score=7, hs_email_optout=False, phone="")
    assert made["properties"]["email"] == "jane@x.co"
    assert (made["properties"]["score"], made["properties"]["hs_email_optout"]) == ("7", "false")
    assert "phone" not in made["properties"]
    assert hub.post(CONTACTS, {"properties": {"email": ["a"]}}).json()["message"].startswith("Invalid input JSON on")
    cleared = hub.call("PATCH", f"{CONTACTS}/{made['id']}", json={"properties": {"score": ""}})
    assert cleared.json()["properties"]["score"] is None
    broken = hub.call("POST", CONTACTS, content=b'{"properties": {', headers={"Content-Type": "application/json"})
    assert broken.status_code == 400
    assert "category" not in broken.json()


def test_a_contact_needs_a_name_or_an_address(hub):
    assert hub.post(CONTACTS, {"properties": {"phone": "1"}}).status_code == 400
    assert hub.post(CONTACTS, {"properties": {"lastname": "Doe"}}).status_code == 201
    assert hub.batch("upsert", {"id": "k", "idProperty": "fairturn_id", "properties": {}}).status_code == 400


def test_the_lifecycle_goes_forward_only(hub):
    made = hub.contact(email="a@x.co")
    assert made["properties"]["lifecyclestage"] == "lead"
    path = f"{CONTACTS}/{made['id']}"

    def stage(value):
        hub.call("PATCH", path, json={"properties": {"lifecyclestage": value}})
        return hub.read("a@x.co", "lifecyclestage")["lifecyclestage"]

    assert stage("customer") == "customer"
    assert stage("lead") == "customer", "not backwards"
    assert stage("") is None
    assert stage("subscriber") == "subscriber"
    hub.sim("/switches", {"lifecycle_backward": "error"})
    stage("opportunity")
    assert hub.call("PATCH", path, json={"properties": {"lifecyclestage": "lead"}}).status_code == 400


def test_an_owner_must_exist_and_be_there(hub):
    made = hub.contact(email="a@x.co", hubspot_owner_id=hub.ids["Ann"])
    assert made["properties"]["hubspot_owner_assigneddate"]
    path = f"{CONTACTS}/{made['id']}"
    gone = hub.call("PATCH", path, json={"properties": {"hubspot_owner_id": hub.ids["Gone"]}})
    assert gone.status_code == 400
    user = hub.sim("/records/owners")["records"][1]["user"]
    assert hub.call("PATCH", path, json={"properties": {"hubspot_owner_id": str(user)}}).status_code == 400, "no userId"
    hub.sim("/switches", {"owner_check": "unknown", "owner_text": "nobody has the id {value}"})
    assert hub.call("PATCH", path, json={"properties": {"hubspot_owner_id": hub.ids["Gone"]}}).status_code == 200
    answer = hub.call("PATCH", path, json={"properties": {"hubspot_owner_id": "4"}})
    assert answer.json()["errors"][0]["message"] == "nobody has the id 4"
    hub.sim("/person", {"owner": "ann@seller.test", "archived": True})
    assert hub.call("GET", f"/crm/v3/owners/{hub.ids['Ann']}").status_code == 404
    assert hub.call("GET", f"/crm/v3/owners/{hub.ids['Ann']}?archived=true").json()["userId"] is None


def test_an_upsert_by_email_keeps_or_clears_what_it_does_not_name(hub):
    hub.contact(email="a@x.co", phone="1", hubspot_owner_id=hub.ids["Ann"])
    hub.batch("upsert", row("a@x.co", firstname="A"))
    assert hub.read("a@x.co", "phone")["phone"] == "1"
    hub.sim("/switches", {"partial_upsert": "clear"})
    hub.batch("upsert", row("a@x.co", firstname="B"))
    found = hub.read("a@x.co", "phone", "hubspot_owner_id", "firstname", "createdate")
    assert (found["phone"], found["hubspot_owner_id"], found["firstname"]) == (None, None, "B")
    assert found["createdate"]


def test_what_is_not_there(hub):
    missing = hub.call("GET", f"{CONTACTS}/123")
    assert (missing.status_code, missing.json()["message"]) == (404, "resource not found")
    assert "category" not in missing.json()
    odd = hub.call("GET", f"{CONTACTS}/jane@x.co")
    assert (odd.json()["message"], odd.json()["category"]) == (
        "Object not found.  objectId are usually numeric.", "OBJECT_NOT_FOUND",
    )  # fmt: skip
    kind = hub.call("GET", "/crm/v3/objects/butterflies")
    assert (kind.status_code, kind.json()["message"]) == (400, "Unable to infer object type from: butterflies")
    assert hub.call("DELETE", f"{CONTACTS}/123").status_code == 204
    assert hub.call("GET", "/crm/v3/nothing").status_code == 404


def test_an_archived_contact_frees_its_email(hub):
    first = hub.contact(email="a@x.co")["id"]
    assert hub.call("DELETE", f"{CONTACTS}/{first}").status_code == 204
    assert hub.call("GET", f"{CONTACTS}/{first}").status_code == 404
    assert hub.call("GET", f"{CONTACTS}/{first}?archived=true").json()["archived"] is True
    assert hub.contact(email="a@x.co")["id"] != first


@pytest.mark.parametrize("new_id", [False, True])
def test_a_merged_id_is_its_survivor(hub, new_id):
    hub.sim("/switches", {"merge_new_id": new_id})
    one, two = hub.contact(email="a@x.co", phone="1"), hub.contact(email="b@x.co", phone="2", city="Rome")
    merged = hub.post(f"{CONTACTS}/merge", {"primaryObjectId": one["id"], "objectIdToMerge": two["id"]}).json()
    assert (merged["id"] == one["id"]) is not new_id
    for old in (one["id"], two["id"]):
        assert hub.call("GET", f"{CONTACTS}/{old}").json()["id"] == merged["id"]
    found = hub.read("b@x.co", "email", "phone", "city", "hs_merged_object_ids")
    assert (found["email"], found["phone"], found["city"]) == ("a@x.co", "1", "Rome")
    assert two["id"] in found["hs_merged_object_ids"].split(";")
    answer = hub.batch("update", {"id": two["id"], "properties": {"phone": "3"}}).json()
    assert [item["id"] for item in answer["results"]] == [merged["id"]]
    hub.sim("/switches", {"merged_write": "left_out"})
    left = hub.batch("update", {"id": two["id"], "properties": {"phone": "4"}})
    assert (left.status_code, left.json()["results"]) == (200, [])
    assert "errors" not in left.json()
    assert hub.read("a@x.co", "phone")["phone"] == "3"


def test_fifty_of_which_one_is_bad_need_one_request(hub):
    inputs = [row(f"a{n}@x.co" if n != 17 else "a17", f"t{n}") for n in range(50)]
    answer = hub.batch("upsert", *inputs)
    assert (answer.status_code, len(answer.json()["results"]), answer.json()["numErrors"]) == (207, 49, 1)
    assert answer.json()["errors"][0]["context"]["objectWriteTraceId"] == ["t17"]


def test_associations_speak_of_both_ends(hub):
    made = hub.contact(email="a@x.co")
    pair = {"from": {"id": made["id"]}, "to": {"id": hub.ids["Acme"]}}
    base = "/crm/v4/associations/contacts/companies/batch"
    default = hub.post(f"{base}/associate/default", {"inputs": [pair]})
    assert default.status_code == 200
    assert default.json()["results"][0]["associationSpec"]["associationTypeId"] == 279
    created = hub.post(f"{base}/create", {"inputs": [
        pair | {"types": [{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 279}]},
        {"from": {"id": "x"}, "to": {"id": "1"}, "types": []},
        {"from": {"id": made["id"]}, "to": {"id": "77"}, "types": []},
    ]})  # fmt: skip
    assert created.status_code == 207
    assert created.json()["results"][0] == {
        "fromObjectTypeId": "0-1", "fromObjectId": int(made["id"]), "toObjectTypeId": "0-2",
        "toObjectId": int(hub.ids["Acme"]), "labels": [],
    }  # fmt: skip
    assert created.json()["errors"][0]["message"] == "x is not a valid ID"
    back = hub.call("GET", f"/crm/v4/objects/companies/{hub.ids['Acme']}/associations/contacts").json()["results"]
    assert back[0]["toObjectId"] == int(made["id"])
    astray = pair | {"types": [{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 280}]}
    assert hub.post(f"{base}/create", {"inputs": [astray]}).json()["message"] == (
        "invalid from object type 0-1 for associations to be created. expected: 0-2"
    )
    read = hub.post(f"{base}/read", {"inputs": [{"id": made["id"]}, {"id": "5"}]})
    assert (read.status_code, read.json()["errors"][0]["subCategory"]) == (
        207, "crm.associations.NO_ASSOCIATIONS_FOUND",
    )  # fmt: skip
    hub.post(f"{base}/archive", {"inputs": [{"from": {"id": made["id"]}, "to": [{"id": hub.ids["Acme"]}]}]})
    assert hub.read("a@x.co", "associatedcompanyid")["associatedcompanyid"] is None


def test_a_contact_is_born_with_its_company(hub):
    wish = {
        "to": {"id": hub.ids["Acme"]},
        "types": [{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 1}],
    }
    made = hub.post(CONTACTS, {"properties": {"email": "a@x.co"}, "associations": [wish]})
    assert made.status_code == 201
    assert hub.read("a@x.co", "associatedcompanyid")["associatedcompanyid"] == hub.ids["Acme"]
    bad = wish | {"to": {"id": "7"}}
    assert hub.post(CONTACTS, {"properties": {"email": "b@x.co"}, "associations": [bad]}).status_code == 400


def test_a_dated_path_means_the_same(hub):
    hub.contact(email="a@x.co")
    answer = hub.post("/crm/objects/2026-03/contacts/batch/read", {"idProperty": "email", "inputs": [{"id": "a@x.co"}]})
    assert answer.status_code == 200
    assert hub.call("GET", "/account-info/2026-03/details").json()["accountType"] == "DEVELOPER_TEST"
