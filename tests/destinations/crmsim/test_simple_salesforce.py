"""simple-salesforce, a client that we did not write, is at home in the simulator, over https.

It builds the vendor's host names itself, so that an adapter takes it to the simulator.
"""

from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest
import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from requests.adapters import HTTPAdapter
from simple_salesforce.api import Salesforce
from simple_salesforce.exceptions import (
    SalesforceAuthenticationFailed,
    SalesforceExpiredSession,
    SalesforceGeneralError,
    SalesforceMalformedRequest,
    SalesforceMoreThanOneRecord,
    SalesforceRefusedRequest,
    SalesforceResourceNotFound,
)

APP: dict[str, Any] = {"consumer_key": "crmsim-client", "consumer_secret": "crmsim-secret"}
USER = "integration@crmsim.test"
KEEP = {"Sforce-Auto-Assign": "FALSE"}


class ToSimulator(HTTPAdapter):
    """Sends whatever host is asked for to one address, and tells it by the Host header."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self.netloc = urlsplit(base).netloc

    def send(self, request: Any, *args: Any, **given: Any) -> Any:
        parts = urlsplit(request.url)
        request.headers["Host"] = parts.netloc
        request.url = urlunsplit(parts._replace(netloc=self.netloc))
        return super().send(request, *args, **given)


def said(caught: Any) -> Any:
    """The client's own types say bytes; it is the answer's JSON, or its text."""
    return caught.value.content


@pytest.fixture
def session(crm):
    with requests.Session() as made:
        made.trust_env = False
        made.verify = crm.ready["certificate"]
        made.mount("https://", ToSimulator(crm.ready["salesforce_https"]))
        yield made


@pytest.fixture
def sf(session) -> Any:
    return Salesforce(domain="acme.my", session=session, **APP)


@pytest.fixture
def direct(crm, session) -> Any:
    """A client that was given a session, and cannot renew it."""
    token = crm.headers["Authorization"].partition(" ")[2]
    return Salesforce(session_id=token, instance_url=crm.ready["salesforce_https"], session=session)


def key_pair() -> tuple[str, str]:
    key = rsa.generate_private_key(65537, 2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()


# --- login


def test_client_credentials(sf):
    assert sf.sf_instance == "acme.my.salesforce.com"
    assert sf.limits()["DailyApiRequests"]["Remaining"] > 0


def test_password(session):
    sf: Any = Salesforce(username=USER, password="crmsim-password", session=session, **APP)
    assert sf.sf_instance == "crmsim.my.salesforce.com"  # login.salesforce.com sends to My Domain
    assert sf.limits()


def test_soap_with_a_security_token(session):
    sf: Any = Salesforce(username=USER, password="crmsim-password", security_token="crmsim-token", session=session)
    assert sf.sf_instance == "crmsim.my.salesforce.com"
    assert sf.query("SELECT Id FROM Lead")["totalSize"] == 0


def test_jwt_bearer(crm, session):
    private, public = key_pair()
    crm.sim("/app", {"jwt_key": public})
    sf: Any = Salesforce(username=USER, consumer_key=APP["consumer_key"], privatekey=private, session=session)
    assert sf.limits()
    crm.sim("/app", {"jwt_key": key_pair()[1]})
    with pytest.raises(SalesforceAuthenticationFailed) as refused:
        Salesforce(username=USER, consumer_key=APP["consumer_key"], privatekey=private, session=session)
    assert str(refused.value) == "Authentication failed (code: invalid_grant): invalid assertion"


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ({"domain": "acme.my", **APP, "consumer_secret": "x"}, "invalid_client", "invalid client credentials"),
        ({"domain": "acme.my", **APP, "consumer_key": "x"}, "invalid_client_id", "client identifier invalid"),
        ({"username": USER, "password": "x", **APP}, "invalid_grant", "authentication failure"),
        (
            {"username": USER, "password": "x", "security_token": "y"},
            "INVALID_LOGIN",
            "Invalid username, password, security token; or user locked out.",
        ),
    ],
)
def test_a_login_that_is_refused(session, given, code, message):
    with pytest.raises(SalesforceAuthenticationFailed) as refused:
        Salesforce(session=session, **given)
    assert str(refused.value) == f"Authentication failed (code: {code}): {message}"


# --- records


def test_create_get_update_delete(sf):
    born = sf.Lead.create({"LastName": "Doe", "Company": "Acme", "Email": "Doe@Acme.test"}, headers=KEEP)
    assert born["success"] is True
    assert sf.Lead.get(born["id"])["Company"] == "Acme"
    assert sf.Lead.update(born["id"], {"Title": "CEO"}, headers=KEEP) == 204
    assert sf.Lead.get(born["id"])["Title"] == "CEO"
    assert sf.Lead.delete(born["id"]) == 204
    with pytest.raises(SalesforceResourceNotFound) as gone:
        sf.Lead.update(born["id"], {"Title": "CFO"})
    assert said(gone)[0]["errorCode"] == "ENTITY_IS_DELETED"


def test_upsert_and_search_by_external_id(sf):
    key = "Fairturn_Id__c/a b@x.co"
    assert sf.Lead.upsert(key, {"LastName": "Doe", "Company": "Acme"}, headers=KEEP) == 201
    answer = sf.Lead.upsert(key, {"Title": "CEO"}, raw_response=True, headers=KEEP)
    assert (answer.status_code, answer.json()["created"]) == (200, False)
    sf.Lead.upsert("Fairturn_Id__c/a%2Fb", {"LastName": "Roe", "Company": "Acme"}, headers=KEEP)
    assert sf.Lead.get_by_custom_id("Fairturn_Id__c", "a/b")["LastName"] == "Roe"


def test_an_upsert_that_updates_has_no_body_in_old_versions(session):
    sf: Any = Salesforce(domain="acme.my", session=session, version="45.0", **APP)
    assert sf.Lead.upsert("Fairturn_Id__c/a", {"LastName": "Doe", "Company": "Acme"}) == 201
    assert sf.Lead.upsert("Fairturn_Id__c/a", {"LastName": "Roe"}) == 204


def test_query_its_pages_and_what_is_deleted(crm, sf):
    crm.sim("/seed", {"leads": [{"LastName": f"L{n}", "Company": "Acme", "Email": "j@x.test"} for n in range(5)]})
    crm.sim("/switches", {"query_page": 2})
    first = sf.query("SELECT Id, LastName FROM Lead WHERE Email = 'J@X.test' ORDER BY LastName")
    assert (first["totalSize"], first["done"], len(first["records"])) == (5, False, 2)
    more = sf.query_more(first["nextRecordsUrl"], identifier_is_url=True)
    assert [row["LastName"] for row in more["records"]] == ["L2", "L3"]
    everyone = sf.query_all("SELECT LastName FROM Lead")
    assert [row["LastName"] for row in everyone["records"]] == [f"L{n}" for n in range(5)]
    sf.Lead.delete(first["records"][0]["Id"])
    assert sf.query_all("SELECT Id FROM Lead")["totalSize"] == 4
    assert sf.query_all("SELECT Id FROM Lead", include_deleted=True)["totalSize"] == 5


def test_what_the_org_says_of_itself(sf):
    assert sf.is_sandbox() is True
    assert {"Lead", "Contact", "Account", "User"} <= {item["name"] for item in sf.describe()["sobjects"]}
    fields = {item["name"]: item for item in sf.Lead.describe()["fields"]}
    assert fields["LastName"]["nillable"] is False
    assert fields["Fairturn_Id__c"]["externalId"] is True
    assert sf.Lead.metadata()["objectDescribe"]["keyPrefix"] == "00Q"
    assert sf.toolingexecute("query/?q=SELECT+Id+FROM+ValidationRule")["done"] is True


def test_collections_and_composite_through_restful(sf):
    records = [
        {"attributes": {"type": "Lead"}, "Fairturn_Id__c": key, "LastName": "Doe", "Company": "Acme", "Email": email}
        for key, email in (("a", "a@x.test"), ("b", "no"), ("c", "c@x.test"))
    ]
    path = "composite/sobjects/Lead/Fairturn_Id__c"
    rows = sf.restful(path, method="PATCH", json={"records": records}, headers=KEEP)
    assert [row["success"] for row in rows] == [True, False, True]
    assert rows[1]["errors"][0]["statusCode"] == "INVALID_EMAIL_ADDRESS"
    found = sf.restful("composite/sobjects/Lead", params={"ids": rows[0]["id"], "fields": "Email"})
    assert found[0]["Email"] == "a@x.test"
    base = f"/services/data/v{sf.sf_version}"
    parts = [
        {"method": "GET", "url": f"{base}/query?q=SELECT+Id+FROM+Lead", "referenceId": "all"},
        {"method": "PATCH", "url": f"{base}/sobjects/Lead/@{{all.records[0].Id}}", "referenceId": "one",
         "body": {"Title": "CEO"}, "httpHeaders": KEEP},
    ]  # fmt: skip
    told = sf.restful("composite", method="POST", json={"compositeRequest": parts})["compositeResponse"]
    assert [part["httpStatusCode"] for part in told] == [200, 204]
    ids = ",".join(row["id"] for row in rows if row["success"])
    gone = sf.restful("composite/sobjects", method="DELETE", params={"ids": ids, "allOrNone": "false"})
    assert [row["success"] for row in gone] == [True, True]


def test_usage_is_read_from_the_answers(crm, sf):
    crm.sim("/limits", {"max": 5000, "used": 17})
    sf.query("SELECT Id FROM Lead")
    assert (sf.api_usage["api-usage"].used, sf.api_usage["api-usage"].total) == (18, 5000)


# --- errors


def test_more_than_one_record(crm, sf):
    ids = crm.sim("/seed", {"leads": [{"LastName": "A", "Company": "A", "Email": "j@a.test"}] * 2})["leads"]
    with pytest.raises(SalesforceMoreThanOneRecord) as several:
        sf.Lead.upsert("Email/j@a.test", {"Title": "CEO"})
    assert several.value.status == 300
    assert [path.rpartition("/")[2] for path in said(several)] == ids


def test_a_malformed_request(sf):
    with pytest.raises(SalesforceMalformedRequest) as refused:
        sf.Lead.create({"LastName": "Doe", "Company": "Acme", "Email": "not-an-email"})
    assert refused.value.status == 400
    assert said(refused) == [
        {
            "message": "Email: invalid email address: not-an-email",
            "errorCode": "INVALID_EMAIL_ADDRESS",
            "fields": ["Email"],
        }
    ]
    with pytest.raises(SalesforceMalformedRequest) as malformed:
        sf.query("SELECT Id FROM")
    assert said(malformed)[0]["errorCode"] == "MALFORMED_QUERY"


def test_an_expired_session_that_cannot_be_renewed(crm, direct):
    crm.sim("/revoke", {})
    with pytest.raises(SalesforceExpiredSession) as expired:
        direct.query("SELECT Id FROM Lead")
    assert expired.value.status == 401
    assert said(expired) == [{"message": "Session expired or invalid", "errorCode": "INVALID_SESSION_ID"}]


def test_a_refused_request(crm, sf):
    crm.sim("/limits", {"max": 1, "used": 1})
    with pytest.raises(SalesforceRefusedRequest) as refused:
        sf.Lead.create({"LastName": "Doe", "Company": "Acme"})
    assert refused.value.status == 403
    assert said(refused) == [{"message": "TotalRequests Limit exceeded.", "errorCode": "REQUEST_LIMIT_EXCEEDED"}]


def test_a_resource_that_is_not_there(sf):
    with pytest.raises(SalesforceResourceNotFound) as missing:
        sf.Lead.upsert("Foo__c/1", {"Title": "CEO"})
    assert said(missing) == [
        {"message": "Provided external ID field does not exist or is not accessible: Foo__c", "errorCode": "NOT_FOUND"}
    ]


@pytest.mark.parametrize(
    ("kind", "status", "content"),
    [
        ("unavailable", 503, [{"message": "Server Unavailable", "errorCode": "SERVER_UNAVAILABLE"}]),
        ("bad_gateway", 502, "<html>"),
    ],
)
def test_whatever_else_goes_wrong_is_told_and_not_repeated(crm, sf, kind, status, content):
    crm.fault(kind, on="write")
    with pytest.raises(SalesforceGeneralError) as failed:
        sf.Lead.create({"LastName": "Doe", "Company": "Acme"})
    assert failed.value.status == status
    told = said(failed)
    assert told.startswith(content) if isinstance(content, str) else told == content
    assert crm.sim("/summary")["write_requests"] == 1


def test_a_lost_lock_is_a_server_error(crm, sf):
    born = sf.Lead.create({"LastName": "Doe", "Company": "Acme"}, headers=KEEP)
    crm.fault("lock", on="write")
    with pytest.raises(SalesforceGeneralError) as locked:
        sf.Lead.update(born["id"], {"Title": "CEO"})
    assert locked.value.status == 500
    assert said(locked)[0]["errorCode"] == "UNABLE_TO_LOCK_ROW"


# --- a session that ends in the middle, and what the client makes of it


def test_an_expired_session_is_renewed(crm, sf):
    before = sf.session_id
    crm.sim("/revoke", {})
    assert sf.query("SELECT Id FROM Lead")["totalSize"] == 0
    assert sf.session_id != before


def test_a_query_gives_up_after_four(crm, sf):
    crm.fault("expired_session", on="read")
    with pytest.raises(SalesforceExpiredSession):
        sf.query("SELECT Id FROM Lead")
    assert crm.sim("/summary")["read_requests"] == 4


def test_its_retry_loses_the_headers_and_the_assignment_rule_runs(crm, sf):
    """A known fault of the client (1.12.10): who trusts its renewal loses the owner that was sent."""
    crm.sim("/revoke", {})
    lead = {"LastName": "Doe", "Company": "Acme", "OwnerId": crm.ids["Ann"]}
    assert sf.Lead.upsert("Fairturn_Id__c/a", lead, headers=KEEP) == 201
    first, again = crm.sim("/requests", kind="write")["requests"]
    assert (first["status"], first["headers"]["sforce-auto-assign"]) == (401, "FALSE")
    assert (again["status"], "sforce-auto-assign" in again["headers"]) == (201, False)
    assert crm.record()["OwnerId"] != crm.ids["Ann"]


def test_its_upsert_renews_without_any_cap(crm, sf):
    crm.fault("expired_session", on="write", times=12)
    assert sf.Lead.upsert("Fairturn_Id__c/a", {"LastName": "Doe", "Company": "Acme"}) == 201
    assert crm.sim("/summary")["write_requests"] == 13
