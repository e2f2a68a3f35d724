"""Limits that are the org's own: automation, sharing, long requests, storage, and what they cost."""

import pytest


def refusal(rows, position=0):
    [error] = rows[position]["errors"]
    return error["statusCode"], error["message"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("cpu", "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", "System.LimitException: Apex CPU time limit exceeded"),
        ("soql", "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", "System.LimitException: Too many SOQL queries: 101"),
        ("retries", "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", "Too many batch retries in the presence of Apex triggers"),
        ("flow", "CANNOT_EXECUTE_FLOW_TRIGGER", "We can't save this record because the “Lead Intake” process failed."),
    ],
)
def test_automation_fails_all_records_of_a_transaction_above_its_limit(crm, person, words, code, message):
    crm.sim("/switches", {"automation_records": 2, "automation_error": words})
    rows = crm.rows(*(person(f"k{n}") for n in range(3)), person("bad", Email="x"))
    assert [refusal(rows, n)[0] for n in range(3)] == [code] * 3
    assert message in refusal(rows)[1]
    assert refusal(rows, 3)[0] == "INVALID_EMAIL_ADDRESS"
    assert all(row["success"] for row in crm.rows(*(person(f"k{n}") for n in range(2))))
    assert crm.rows({"Fairturn_Key__c": "a", "Name": "A"}, object="Account", key="Fairturn_Key__c")[0]["success"]


def test_automation_takes_its_time_with_the_locks_held(crm, person):
    crm.sim("/switches", {"automation_seconds": 3, "lock_timeout": 2})
    [row] = crm.rows(person("a"))
    slow = crm.later(crm.rows, *(person(key, Title="x") for key in ("a", "b", "c")))
    crm.wait(locks_held=1)
    code, message = refusal(crm.rows(person("a", Title="y")))
    assert (code, row["id"] in message) == ("UNABLE_TO_LOCK_ROW", True)
    assert all(row["success"] for row in slow.result())


def test_a_lock_wrapped_by_a_trigger(crm, person):
    crm.sim("/switches", {"lock_wrapped": True})
    crm.fault("lock", on="write")
    code, message = refusal(crm.rows(person("a")))
    assert code == "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY"
    assert "LeadTrigger: execution of AfterInsert" in message
    assert "first error: UNABLE_TO_LOCK_ROW, unable to obtain exclusive access to this record" in message
    single = crm.call("POST", "sobjects/Lead", json=person("b"))
    assert (single.status_code, single.json()[0]["errorCode"]) == (400, code)


def test_what_is_given_away_cannot_be_seen_any_more(crm, person):
    """The API user without View All: it may create for another, and then never sees the record again."""
    crm.sim("/switches", {"sharing": "private"})
    [given, own] = crm.rows(person("a", OwnerId=crm.ids["Ann"], Email="a@x.test"), person("b", Email="b@x.test"))
    query = {"q": "SELECT Id FROM Lead WHERE Email IN ('a@x.test', 'b@x.test')"}
    assert [row["Id"] for row in crm.call("GET", "query", params=query).json()["records"]] == [own["id"]]
    assert refusal(crm.rows(person("a", Title="x"))) == (
        "DUPLICATE_VALUE",
        "duplicate value found: <unknown> duplicates value on record with id: <unknown>",
    )
    code, message = refusal(crm.rows({"Id": given["id"], "Title": "x"}, key="Id"))
    assert code == "INSUFFICIENT_ACCESS_ON_CROSS_REFERENCE_ENTITY"
    assert message == f"insufficient access rights on cross-reference id: {given['id'][:15]}"
    assert crm.call("GET", f"sobjects/Lead/{given['id']}").status_code == 404
    crm.sim("/switches", {"sharing_error": "ENTITY_IS_DELETED"})
    single = crm.call("PATCH", f"sobjects/Lead/{given['id']}", json={"Title": "x"})
    assert (single.status_code, single.json()[0]["errorCode"]) == (404, "ENTITY_IS_DELETED")
    crm.sim("/switches", {"sharing": "view_all"})
    assert crm.rows(person("a", Title="x"))[0]["success"]


def test_what_may_be_seen_but_not_edited(crm, person):
    crm.sim("/switches", {"sharing": "read_only"})
    crm.rows(person("a", OwnerId=crm.ids["Ann"]))
    assert refusal(crm.rows(person("a", Title="x"))) == (
        "INSUFFICIENT_ACCESS_OR_READONLY",
        "insufficient access rights on object id",
    )


def test_what_the_api_user_has_no_right_to(crm, person):
    [row] = crm.rows(person("a"))
    crm.sim("/switches", {"hidden_objects": ["Contact"], "may_transfer": False, "may_delete": False})
    asked = crm.call("GET", "query", params={"q": "SELECT Id FROM Contact"})
    assert (asked.status_code, asked.json()[0]["errorCode"]) == (400, "INVALID_TYPE")
    assert crm.call("GET", "sobjects/Contact/describe").status_code == 404
    assert refusal(crm.rows(person("a", OwnerId=crm.ids["Ann"])))[0] == "INSUFFICIENT_ACCESS_OR_READONLY"
    gone = crm.call("DELETE", f"sobjects/Lead/{row['id']}").json()
    assert gone[0]["errorCode"] == "INSUFFICIENT_ACCESS_OR_READONLY"
    assert crm.sim("/records/Contact")["total"] == 0


def test_requests_that_run_long_fill_the_slots(crm, person):
    """Only those of 20 seconds and more are counted."""
    crm.sim("/switches", {"concurrent_limit": 1, "long_request": 0.5})
    crm.fault("hang", nth=[1], seconds=600)
    slow = crm.later(crm.upsert, person("a"))
    crm.wait(resting=1)
    while (answer := crm.upsert(person("b"))).status_code == 200:
        pass
    assert answer.status_code == 403
    message = "ConcurrentRequests (Concurrent API Requests) Limit exceeded."
    assert answer.json() == [{"message": message, "errorCode": "REQUEST_LIMIT_EXCEEDED"}]
    crm.sim("/release", {})
    assert slow.result().status_code == 200
    assert crm.upsert(person("c")).status_code == 200


def test_storage_full(crm, person):
    crm.rows(person("a"))
    crm.sim("/switches", {"storage_full": True})
    rows = crm.rows(person("a", Title="x"), person("b"))
    assert (rows[0]["success"], refusal(rows, 1)) == (True, ("STORAGE_LIMIT_EXCEEDED", "storage limit exceeded"))
    limits = crm.call("GET", "limits").json()
    assert limits["DataStorageMB"]["Remaining"] == 0
    assert limits["DailyApiRequests"]["Remaining"] < limits["DailyApiRequests"]["Max"]
    assert crm.last()["calls"] == 1
