"""Tokens, scopes, limits and their headers, search and its lag."""

import pytest

from tests.destinations.crmsim.hub.conftest import OAUTH, TOKEN

CONTACTS = "/crm/v3/objects/contacts"
OWNERS = "/crm/v3/owners/"
PREFIX = "x-hubspot-ratelimit-"


def limits_of(answer):
    return {name.removeprefix(PREFIX): value for name, value in answer.headers.items() if name.startswith(PREFIX)}


def oauth(hub, **more):
    answer = hub.http.post("/oauth/v1/token", data={"grant_type": "refresh_token"} | OAUTH | more)
    if answer.status_code == 200:
        hub.headers = {"Authorization": f"Bearer {answer.json()['access_token']}"}
    return answer


def test_without_credentials(hub):
    for headers in ({}, {"Authorization": "Bearer nobody"}, {"Authorization": "Basic eDp5"}):
        answer = hub.http.get(OWNERS, headers=headers)
        assert (answer.status_code, answer.json()["category"]) == (401, "INVALID_AUTHENTICATION")
        assert answer.json()["message"].startswith("Authentication credentials not found. This API supports OAuth 2.0")
        assert not limits_of(answer)


def test_an_oauth_token_lives_for_its_time(hub):
    hub.sim("/switches", {"token_seconds": 0})
    assert oauth(hub).json()["expires_in"] == 0
    late = hub.call("GET", OWNERS)
    assert (late.status_code, late.json()["category"]) == (401, "EXPIRED_AUTHENTICATION")
    assert late.json()["message"].startswith("The OAuth token used to make this call expired ")
    assert late.json()["context"]["expire time"][0].endswith("Z")
    hub.sim("/switches", {"token_seconds": 1800})
    assert oauth(hub).json()["hub_id"] == 62515
    assert hub.call("GET", OWNERS).status_code == 200


def test_tokens_can_be_killed(hub):
    oauth(hub)
    assert hub.sim("/revoke", {}) == {"revoked": 1}
    assert hub.call("GET", OWNERS).status_code == 401
    assert oauth(hub).status_code == 200, "the refresh token is as good as it was"
    hub.sim("/revoke", {"token": "crmsim-refresh"})
    refused = oauth(hub)
    assert (refused.status_code, refused.json()["status"]) == (400, "BAD_REFRESH_TOKEN")
    assert oauth(hub, client_secret="wrong").json()["status"] == "BAD_CLIENT_SECRET"


@pytest.mark.parametrize("shape", ["granular", "errors"])
def test_a_scope_that_was_not_granted(hub, shape):
    hub.sim("/switches", {"missing_scopes": "crm.objects.contacts.write", "scope_error": shape})
    answer = hub.post(CONTACTS, {"properties": {"email": "a@x.co"}})
    assert (answer.status_code, answer.json()["category"]) == (403, "MISSING_SCOPES")
    name = "requiredGranularScopes" if shape == "granular" else "requiredScopes"
    assert answer.json()["errors"][0]["context"][name] == ["crm.objects.contacts.write"]
    assert hub.call("GET", CONTACTS).status_code == 200


INFO = "/oauth/v2/private-apps/get/access-token-info"


def test_a_private_app_is_told_its_scopes_and_held_to_them(hub):
    some = ["crm.objects.contacts.read", "crm.objects.owners.read"]
    [app] = hub.sim("/seed", {"apps": [{"token": "pat-na1-other", "name": "other", "scopes": some}]})["apps"]
    answer = hub.http.post(INFO, json={"tokenKey": "pat-na1-other"})
    assert (answer.status_code, answer.json()) == (
        200, {"userId": 1, "hubId": 62515, "appId": app["id"], "scopes": some},
    )  # fmt: skip
    every = hub.post(INFO, {"tokenKey": TOKEN}).json()["scopes"]
    assert {*some, "crm.objects.contacts.write", "crm.schemas.contacts.read"} < set(every)
    hub.headers = {"Authorization": "Bearer pat-na1-other"}
    assert hub.call("GET", CONTACTS).status_code == 200
    refused = hub.post(CONTACTS, {"properties": {"email": "a@x.co"}})
    assert (refused.status_code, refused.json()["category"]) == (403, "MISSING_SCOPES")
    [same] = hub.sim("/seed", {"apps": [{"token": "pat-na1-other", "name": "again"}]})["apps"]
    assert same["id"] == app["id"]
    assert hub.post(CONTACTS, {"properties": {"email": "a@x.co"}}).status_code == 201


@pytest.mark.parametrize(
    ("token", "header", "status"),
    [("pat-na1-none", None, 404), (TOKEN, "Bearer wrong", 401), ("pat-eu1-x", None, 401), (7, None, 404)],
)
def test_token_info_of_what_is_none(hub, token, header, status):
    hub.sim("/seed", {"apps": [{"token": "pat-eu1-x", "name": "in Europe"}]})
    headers = {} if header is None else {"Authorization": header}
    assert hub.http.post(INFO, json={"tokenKey": token}, headers=headers).status_code == status


@pytest.mark.parametrize("entry", [{"name": "x"}, {"token": "pat-x"}, {"token": "pat-x", "name": "x", "scopes": "all"}])
def test_an_app_that_cannot_be_seeded(hub, entry):
    answer = hub.http.post("/__sim__/seed", json={"apps": [entry]})
    assert answer.status_code == 400
    assert "apps[0]" in answer.text


def test_the_account_says_what_it_is(hub):
    details = hub.call("GET", "/account-info/v3/details").json()
    assert (details["portalId"], details["accountType"], details["timeZone"]) == (62515, "DEVELOPER_TEST", "UTC")
    [usage] = hub.call("GET", "/account-info/v3/api-usage/daily/private-apps").json()["results"]
    assert (usage["currentUsage"], usage["usageLimit"], usage["name"]) == (2, 625_000, "private-apps-api-calls-daily")


def test_headers_of_a_private_app(hub):
    found = limits_of(hub.call("GET", OWNERS))
    assert found == {
        "daily": "625000", "daily-remaining": "624999", "interval-milliseconds": "10000", "max": "190",
        "remaining": "189", "secondly": "19", "secondly-remaining": "18",
    }  # fmt: skip
    assert set(limits_of(hub.post(f"{CONTACTS}/search", {}))) == {"daily", "daily-remaining"}
    hub.sim("/switches", {"secondly_headers": False})
    assert "secondly" not in limits_of(hub.call("GET", OWNERS))


def test_headers_of_an_oauth_app_leave_the_day_out(hub):
    oauth(hub)
    found = limits_of(hub.call("GET", OWNERS))
    assert (found["max"], "daily" in found) == ("110", False)
    assert limits_of(hub.post(f"{CONTACTS}/search", {})) == {}


def test_the_burst_is_each_apps_own(hub):
    hub.sim("/seed", {"apps": [{"name": "second", "token": "pat-two"}]})
    hub.sim("/limits", {"burst": 3})
    answers = [hub.call("GET", OWNERS) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    body = answers[-1].json()
    assert body["message"] == "You have reached your ten_secondly_rolling limit."
    assert (body["policyName"], body["errorType"]) == ("TEN_SECONDLY_ROLLING", "RATE_LIMIT")
    assert body["groupName"].startswith("publicapi:private_app-api-calls-ten-secondly:62515:")
    assert limits_of(answers[-1])["remaining"] == "0"
    assert "retry-after" not in answers[-1].headers
    assert hub.call("GET", OWNERS, headers={"Authorization": "Bearer pat-two"}).status_code == 200
    assert hub.post(f"{CONTACTS}/search", {}).status_code == 200, "search has a limit of its own"
    assert hub.sim("/summary")["refusals"]["burst"] == 1
    hub.sim("/switches", {"retry_after": True})
    assert hub.call("GET", OWNERS).headers["retry-after"] == "10"


def test_the_day_is_the_accounts(hub):
    hub.sim("/limits", {"daily": 10, "used": 9})
    assert hub.call("GET", OWNERS).status_code == 200
    refused = hub.call("GET", OWNERS)
    assert (refused.status_code, refused.json()["policyName"]) == (429, "DAILY")
    assert refused.json()["message"] == "You have reached your daily limit."
    oauth(hub)
    assert hub.call("GET", OWNERS).status_code == 429, "every app's"
    assert hub.sim("/limits")["used"] == 10, "refused calls are not counted"


def test_searches_are_five_a_second_for_the_account(hub):
    hub.sim("/limits", {"search": 0})
    answer = hub.post(f"{CONTACTS}/search", {})
    assert answer.status_code == 429
    body = answer.json()
    assert (body["message"], body["category"]) == ("You have reached your secondly limit.", "RATE_LIMITS")
    assert not {"policyName", "errorType"} & set(body)
    assert set(limits_of(answer)) == {"daily", "daily-remaining"}
    assert hub.sim("/limits")["search"] == 0


def test_search_sees_a_change_late(hub):
    hub.sim("/switches", {"index_lag_least": 1000, "index_lag_most": 1000})
    made = hub.contact(email="a@x.co")
    assert hub.search("email", "a@x.co") == {"total": 0, "results": []}
    hub.sim("/switches", {"index_lag_least": 0, "index_lag_most": 0})
    hub.contact(email="b@x.co", phone="1")
    assert hub.search("email", "B@X.co")["total"] == 1
    hub.sim("/switches", {"index_lag_least": 1000, "index_lag_most": 1000})
    gone = hub.search("email", "b@x.co")["results"][0]["id"]
    hub.call("DELETE", f"{CONTACTS}/{gone}")
    assert hub.search("email", "b@x.co") == {"total": 1, "results": []}, "the quirk of what was just archived"
    hub.sim("/switches", {"archived_quirk": False})
    assert hub.search("email", "b@x.co")["total"] == 0
    assert made["id"] not in str(hub.search("firstname", "x", "NOT_HAS_PROPERTY"))


def test_search_reads_its_filters(hub):
    for email, score, status in (("a@x.co", 1, "NEW"), ("b@x.co", 5, "OPEN"), ("c@y.co", 10, "OPEN")):
        hub.contact(email=email, score=score, hs_lead_status=status)

    def found(*groups, **more):
        body = {"filterGroups": [{"filters": list(group)} for group in groups], "sorts": ["email"], **more}
        return [row["properties"]["email"][0] for row in hub.post(f"{CONTACTS}/search", body).json()["results"]]

    def item(name, operator, value=None, **more):
        return {"propertyName": name, "operator": operator, "value": value, **more}

    assert found([item("score", "GTE", "5")]) == ["b", "c"], "numbers as numbers"
    assert found([item("score", "BETWEEN", "2", highValue="9")]) == ["b"]
    assert found([item("hs_lead_status", "EQ", "OPEN"), item("score", "LT", "9")]) == ["b"]
    assert found([item("email", "EQ", "a@x.co")], [item("score", "EQ", "10")]) == ["a", "c"]
    assert found([item("email", "IN", values=["a@x.co", "c@y.co"])]) == ["a", "c"]
    assert found([item("hs_lead_status", "NEQ", "OPEN")]) == ["a"]
    assert found([item("city", "HAS_PROPERTY")]) == []
    assert found([item("email", "CONTAINS_TOKEN", "*@x.co")]) == ["a", "b"]
    assert found(query="y.co") == ["c"]
    assert found(sorts=[{"propertyName": "score", "direction": "DESCENDING"}]) == ["c", "b", "a"]


@pytest.mark.parametrize(
    "body",
    [
        {"limit": 201},
        {"limit": 100, "after": 9_950},
        {"query": "x" * 3_000},
        {"filterGroups": [{"filters": [{"propertyName": "nothing", "operator": "EQ", "value": "1"}]}]},
        {"filterGroups": [{"filters": [{"propertyName": "email", "operator": "LIKE", "value": "1"}]}]},
        {"filterGroups": [{"filters": [{"propertyName": "email", "operator": "EQ", "value": "1"}] * 7}]},
        {"filterGroups": [{"filters": [{"propertyName": "email", "operator": "EQ", "value": "1"}]}] * 6},
        {"sorts": ["email", "phone"]},
    ],
)
def test_a_search_that_asks_too_much(hub, body):
    assert hub.post(f"{CONTACTS}/search", body).status_code == 400
