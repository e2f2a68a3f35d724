"""The ways to a session: client credentials, password, JWT, refresh token, SOAP login."""

import base64
import json
import time

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

APP = {"client_id": "crmsim-client", "client_secret": "crmsim-secret"}
USER = "integration@crmsim.test"


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


@pytest.fixture
def known(crm, key):
    pem = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    crm.sim("/app", {"jwt_key": pem.decode()})
    return crm


def token(crm, host=None, **form):
    headers = {"Host": host} if host else {}
    return crm.http.post("/services/oauth2/token", data=form, headers=headers)


def refused(answer) -> tuple[str, str]:
    assert answer.status_code == 400
    assert answer.headers["cache-control"] == "no-store"
    return answer.json()["error"], answer.json()["error_description"]


def works(crm, answer) -> bool:
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert "refresh_token" not in body
    assert answer.headers["cache-control"] == "no-store"
    return crm.call("GET", "limits", headers={"Authorization": f"Bearer {body['access_token']}"}).status_code == 200


def signed(key: rsa.RSAPrivateKey, head: dict | None = None, **claims) -> str:
    body = {
        "iss": APP["client_id"], "sub": USER, "aud": "https://login.salesforce.com", "exp": str(int(time.time()) + 180),
    }  # fmt: skip
    parts = [json.dumps(part).encode() for part in (head or {"alg": "RS256", "typ": "JWT"}, body | claims)]
    text = ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)
    sign = key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{text}.{base64.urlsafe_b64encode(sign).rstrip(b'=').decode()}"


def bearer(crm, assertion):
    return token(crm, grant_type="urn:ietf:params:oauth:grant-type:jwt-bearer", assertion=assertion)


@pytest.mark.parametrize("password", ["crmsim-password", "crmsim-passwordcrmsim-token"])
def test_password_with_or_without_the_security_token(crm, password):
    assert works(crm, token(crm, grant_type="password", username=USER, password=password, **APP))


def test_a_session_is_its_users(crm):
    answer = token(crm, grant_type="password", username="ann@seller.test", password="crmsim-password", **APP)
    assert answer.json()["id"].endswith(crm.ids["Ann"])
    born = crm.call(
        "POST",
        "sobjects/Lead",
        json={"LastName": "Doe", "Company": "Acme"},
        headers={"Authorization": f"Bearer {answer.json()['access_token']}", "Sforce-Auto-Assign": "FALSE"},
    )
    assert born.status_code == 201
    assert crm.record()["CreatedById"] == crm.ids["Ann"]


@pytest.mark.parametrize(
    ("username", "password"),
    [(USER, "wrong"), ("nobody@crmsim.test", "crmsim-password"), ("gone@seller.test", "crmsim-password"), ("", "")],
)
def test_a_wrong_password_says_as_little_as_salesforce(crm, username, password):
    answer = token(crm, grant_type="password", username=username, password=password, **APP)
    assert refused(answer) == ("invalid_grant", "authentication failure")


def test_a_refresh_token(crm):
    assert works(crm, token(crm, grant_type="refresh_token", refresh_token="crmsim-refresh", **APP))
    assert works(
        crm, token(crm, grant_type="refresh_token", refresh_token="crmsim-refresh", client_id=APP["client_id"])
    )
    answer = token(crm, grant_type="refresh_token", refresh_token="old", **APP)
    assert refused(answer) == ("invalid_grant", "expired access/refresh token")


@pytest.mark.parametrize("kind", [str, int])
def test_a_jwt_whose_expiry_is_a_text_or_a_number(known, key, kind):
    expiry = kind(int(time.time()) + 180)
    assert works(known, bearer(known, signed(key, exp=expiry)))


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"iss": "other"}, ("invalid_client_id", "client identifier invalid")),
        ({"sub": "nobody@x.test"}, ("invalid_grant", "user hasn't approved this consumer")),
        ({"sub": "gone@seller.test"}, ("invalid_grant", "user hasn't approved this consumer")),
        ({"aud": "https://elsewhere.test"}, ("invalid_grant", "audience is invalid")),
        ({"exp": 1}, ("invalid_grant", "expired authorization code")),
        ({"head": {"alg": "none"}}, ("invalid_grant", "invalid assertion")),
    ],
)
def test_a_jwt_that_is_refused(known, key, claims, said):
    assert refused(bearer(known, signed(key, **claims))) == said


def test_a_jwt_that_another_key_signed(known):
    other = rsa.generate_private_key(65537, 2048)
    assert refused(bearer(known, signed(other))) == ("invalid_grant", "invalid assertion")
    assert refused(bearer(known, "no.jwt")) == ("invalid_grant", "invalid assertion")


def test_client_credentials_want_my_domain(crm):
    form = {"grant_type": "client_credentials", **APP}
    answer = token(crm, host="login.salesforce.com", **form)
    assert refused(answer) == ("invalid_grant", "request not supported on this domain")
    assert token(crm, host="acme.my.salesforce.com", **form).json()["instance_url"] == "http://acme.my.salesforce.com"


def soap(crm, password, extra=""):
    body = (
        f'<?xml version="1.0"?>{extra}<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>'
        f'<n:login xmlns:n="urn:partner.soap.sforce.com"><n:username>{USER}</n:username><n:password>{password}'
        "</n:password></n:login></e:Body></e:Envelope>"
    )
    return crm.http.post("/services/Soap/u/59.0", content=body, headers={"Content-Type": "text/xml"})


def test_soap_login(crm):
    answer = soap(crm, "crmsim-passwordcrmsim-token")
    assert answer.status_code == 200
    session = answer.text.partition("<sessionId>")[2].partition("<")[0]
    assert f"<serverUrl>{crm.ready['salesforce']}/services/Soap/u/59.0/00D" in answer.text
    assert crm.call("GET", "limits", headers={"Authorization": f"Bearer {session}"}).status_code == 200


def test_soap_refusals_are_faults(crm):
    answer = soap(crm, "wrong")
    assert answer.status_code == 500
    assert "<sf:exceptionCode>INVALID_LOGIN</sf:exceptionCode>" in answer.text
    odd = soap(crm, "x", extra='<!DOCTYPE a [<!ENTITY b "c">]>')
    assert "UNKNOWN_EXCEPTION" in odd.text


def test_an_app_is_made_of_texts(crm):
    answer = crm.http.post("/__sim__/app", json={"password": 1})
    assert answer.status_code == 400
    assert "refresh_token" in answer.json()["error"]
