"""Tokens, versions, sessions, the limit, methods: what comes before any handler, and the shapes of the errors."""

import pytest


def token(crm, auth=("crmsim-client", "crmsim-secret"), **form):
    return crm.http.post("/services/oauth2/token", data={"grant_type": "client_credentials"} | form, auth=auth)


def test_a_token_by_client_credentials_in_basic_or_in_the_form(crm):
    basic = token(crm)
    form = token(crm, auth=None, client_id="crmsim-client", client_secret="crmsim-secret")
    for answer in (basic, form):
        body = answer.json()
        assert answer.status_code == 200
        assert body["instance_url"] == crm.ready["salesforce"]
        assert body["token_type"] == "Bearer"
        assert isinstance(body["issued_at"], str)
        assert "expires_in" not in body
        org = crm.sim("/summary")["org"]
        assert f"/id/{org}/005" in body["id"]
        assert body["access_token"].startswith(org[:15] + "!")
    assert basic.json()["access_token"] != form.json()["access_token"]


@pytest.mark.parametrize(
    ("auth", "form", "error"),
    [
        (("nobody", "x"), {}, {"error": "invalid_client_id", "error_description": "client identifier invalid"}),
        (
            ("crmsim-client", "x"),
            {},
            {"error": "invalid_client", "error_description": "invalid client credentials"},
        ),
        (
            None,
            {"grant_type": "device"},
            {"error": "unsupported_grant_type", "error_description": "grant type not supported"},
        ),
    ],
)
def test_token_errors_are_objects(crm, auth, form, error):
    answer = token(crm, auth=auth, **form)
    assert (answer.status_code, answer.json()) == (400, error)
    assert answer.headers["cache-control"] == "no-store"
    assert "sforce-limit-info" not in answer.headers


def test_no_run_as_user(crm):
    crm.sim("/switches", {"client_credentials_user": False})
    assert token(crm).json() == {"error": "invalid_grant", "error_description": "no client credentials user enabled"}


@pytest.mark.parametrize("way", ["control", "client", "age", "absent"])
def test_a_dead_token(crm, way):
    live = crm.headers["Authorization"].partition(" ")[2]
    headers = {}
    if way == "control":
        assert crm.sim("/revoke", {})["revoked"] >= 1
    elif way == "client":
        assert crm.http.post("/services/oauth2/revoke", data={"token": live}).status_code == 200
    elif way == "age":
        crm.sim("/switches", {"session_seconds": 0.0})
    else:
        headers = {"Authorization": ""}
    answer = crm.call("GET", "limits", headers=headers)
    assert answer.status_code == 401
    assert answer.json() == [{"message": "Session expired or invalid", "errorCode": "INVALID_SESSION_ID"}]
    assert crm.sim("/limits")["used"] == 0


def test_the_limit_is_told_in_every_data_answer_and_refuses_when_used_up(crm, person):
    crm.sim("/limits", {"max": 3})
    assert crm.upsert(person("a")).headers["sforce-limit-info"] == "api-usage=1/3"
    missing = crm.call("GET", "sobjects/Lead/00Qxx0000000001")
    assert (missing.status_code, missing.headers["sforce-limit-info"]) == (404, "api-usage=2/3")
    assert crm.call("GET", "limits").json()["DailyApiRequests"] == {"Max": 3, "Remaining": 0}
    refused = crm.upsert(person("b"))
    assert refused.status_code == 403
    assert refused.json() == [{"message": "TotalRequests Limit exceeded.", "errorCode": "REQUEST_LIMIT_EXCEEDED"}]
    assert crm.sim("/summary")["records"]["Lead"] == 1


def test_versions(crm):
    listed = crm.http.get("/services/data/")
    assert listed.status_code == 200
    assert "sforce-limit-info" not in listed.headers
    numbers = [entry["version"] for entry in listed.json()]
    assert numbers == sorted(numbers, key=float)
    assert "60.0" in numbers
    for version, status in (("v25.0", 410), ("v31.0", 200), ("v999.0", 404), ("v60", 404)):
        answer = crm.http.get(f"/services/data/{version}/limits/", headers=crm.headers)
        assert answer.status_code == status, version


def test_collections_upsert_came_with_v46(crm, person):
    body = {"records": [{"attributes": {"type": "Lead"}, **person("a")}]}
    path = "composite/sobjects/Lead/Fairturn_Id__c"
    for version, status in (("v45.0", 404), ("v46.0", 200)):
        answer = crm.http.patch(f"/services/data/{version}/{path}", json=body, headers=crm.headers)
        assert answer.status_code == status


def test_what_is_not_there(crm):
    unknown = crm.call("GET", "nothing")
    assert unknown.json() == [{"message": "The requested resource does not exist", "errorCode": "NOT_FOUND"}]
    assert crm.call("GET", "sobjects/Shoe/00Qxx0000000001").status_code == 404
    wrong = crm.call("PUT", "composite/sobjects", json={})
    assert (wrong.status_code, wrong.json()[0]["errorCode"]) == (405, "METHOD_NOT_ALLOWED")
    long = crm.call("GET", "query", params={"q": "SELECT Id FROM Lead WHERE Email = '" + "x" * 17000 + "'"})
    assert long.status_code == 414
