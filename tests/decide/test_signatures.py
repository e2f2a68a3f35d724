"""Proofs of origin: the vendors' published vectors, and every way to be wrong is a 401."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.config import Hmac, SharedSecret, Unsigned
from fairturn.decide.signatures import Request, compile_verifier, keyed, signs_url
from fairturn.errors import BadSignature, ConfigError

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)

STANDARD = Hmac(
    header="webhook-signature", secrets=("env:S",), encoding="base64", format="list", prefix="v1",
    signed="{id}.{timestamp}.{body}", key="base64", key_prefix="whsec_",
    timestamp_header="webhook-timestamp", id_header="webhook-id",
)  # fmt: skip
GITHUB = Hmac(header="X-Hub-Signature-256", secrets=("env:S",), format="prefix", prefix="sha256=")
TYPEFORM = Hmac(header="Typeform-Signature", secrets=("env:S",), format="prefix", prefix="sha256=", encoding="base64")
STRIPE = Hmac(
    header="Stripe-Signature", secrets=("env:S",), format="pairs", prefix="v1", signed="{timestamp}.{body}",
    timestamp_pair="t",
)  # fmt: skip
SLACK = Hmac(
    header="X-Slack-Signature", secrets=("env:S",), format="prefix", prefix="v0=", signed="v0:{timestamp}:{body}",
    timestamp_header="X-Slack-Request-Timestamp",
)  # fmt: skip
HUBSPOT = Hmac(
    header="X-HubSpot-Signature-v3", secrets=("env:S",), encoding="base64", signed="{method}{url}{body}{timestamp}",
    timestamp_header="X-HubSpot-Request-Timestamp", timestamp_unit="ms",
)  # fmt: skip
LINKEDIN = Hmac(header="X-LI-Signature", secrets=("env:S",), signed="hmacsha256={body}")
SHOPIFY = Hmac(header="X-Shopify-Hmac-Sha256", secrets=("env:S",), encoding="base64")
PLAIN = Hmac(header="X-Signature", secrets=("env:S",))


def request(
    headers: dict[str, str | bytes], body: bytes = b"{}", *, url: str = "", method: str = "POST", query: bytes = b""
) -> Request:
    raw = {
        name.lower().encode(): value if isinstance(value, bytes) else value.encode("latin-1")
        for name, value in headers.items()
    }
    return Request(method, url, raw, query, body)


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def passes(verify: Any, secrets: tuple[bytes, ...], asked: Request, now: datetime = NOW) -> bool:
    verifier = compile_verifier(verify, secrets)
    try:
        verifier(asked, now)
    except BadSignature:
        return False
    return True


def hexed(secret: bytes, body: bytes, algorithm: str = "sha256") -> str:
    return hmac.new(secret, body, algorithm).hexdigest()


# ---- known answers ------------------------------------------------------------------------------------------------


def test_standard_webhooks_vector():
    asked = request(
        {
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,b3V0d29ybg== v1a,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        },
        b'{"test": 2432232314}',
    )
    secret = b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    assert passes(STANDARD, (secret,), asked, at(1614265330))
    assert not passes(STANDARD, (secret,), asked, at(1614265330 + 301))
    assert not passes(STANDARD, (b"whsec_" + base64.b64encode(b"x" * 24),), asked, at(1614265330))


def test_github_vector():
    digest = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    asked = request({"X-Hub-Signature-256": f"sha256={digest}"}, b"Hello, World!")
    assert passes(GITHUB, (b"It's a Secret to Everybody",), asked)


def test_hubspot_v3_vector():
    asked = request(
        {
            "X-HubSpot-Signature-v3": "K36dawei4A+QBNolUOqo7s91KQDWQ5MXZ/QufNYuk/Y=",
            "X-HubSpot-Request-Timestamp": "1693657560000",
        },
        b"{'example_field':'example_value'}",
        url="https://www.example.com/webhook_uri",
    )
    secret = b"yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy"
    assert signs_url(HUBSPOT)
    assert not signs_url(GITHUB)
    assert passes(HUBSPOT, (secret,), asked, at(1693657560))


def test_slack_documented_vector():
    body = (
        b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
        b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
        b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
        b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    )
    asked = request(
        {
            "X-Slack-Signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
            "X-Slack-Request-Timestamp": "1531420618",
        },
        body,
    )
    assert passes(SLACK, (b"8f742231b10e8888abcd99yyyzzz85a5",), asked, at(1531420618))


def test_typeform_is_base64_behind_the_prefix():
    body = b'{"event_id":"01J"}'
    good = base64.b64encode(hmac.digest(b"key", body, "sha256")).decode()
    assert passes(TYPEFORM, (b"key",), request({"Typeform-Signature": f"sha256={good}"}, body))
    assert not passes(TYPEFORM, (b"key",), request({"Typeform-Signature": f"sha256={hexed(b'key', body)}"}, body))


def test_stripe_pairs_with_an_old_scheme_beside():
    body, stamp = b'{"id":"evt_1"}', 1_772_445_600
    good = hexed(b"whsec_text", f"{stamp}.".encode() + body)
    header = f"t={stamp},v1={'0' * 64},v1={good},v0={'1' * 64}"
    assert passes(STRIPE, (b"whsec_text",), request({"Stripe-Signature": header}, body), at(stamp))
    only_old = f"t={stamp},v0={good}"
    assert not passes(STRIPE, (b"whsec_text",), request({"Stripe-Signature": only_old}, body), at(stamp))
    assert not passes(STRIPE, (b"whsec_text",), request({"Stripe-Signature": f"v1={good}"}, body), at(stamp))


def test_linkedin_signs_a_literal_before_the_body():
    good = hexed(b"client", b"hmacsha256={}")
    assert passes(LINKEDIN, (b"client",), request({"X-LI-Signature": good}))
    assert not passes(LINKEDIN, (b"client",), request({"X-LI-Signature": hexed(b"client", b"{}")}))


@pytest.mark.parametrize("algorithm", ["sha1", "sha256", "sha512"])
def test_our_keyed_digest_is_the_librarys(algorithm):
    for length in (1, 20, 63, 64, 65, 127, 128, 129, 300):
        key = bytes(range(256))[:length] * (1 + length // 256)
        digest = keyed(key, algorithm)
        for message in (b"", b"x", b"\xff" * 1000):
            assert digest(message) == hmac.digest(key, message, algorithm)


@pytest.mark.parametrize("algorithm", ["sha1", "sha256", "sha512"])
def test_algorithms(algorithm):
    verify = Hmac(header="X-Signature", secrets=("env:S",), algorithm=algorithm)
    assert passes(verify, (b"k",), request({"X-Signature": hexed(b"k", b"{}", algorithm)}))


# ---- cases --------------------------------------------------------------------------------------------------------


def test_case_51_the_bytes_as_sent_are_signed_not_their_meaning():
    body = rb'{"key": "value",  "num": 1.0, "n":"\u00e9"}'
    good = hexed(b"k", body)
    assert passes(PLAIN, (b"k",), request({"X-Signature": good}, body))
    assert not passes(PLAIN, (b"k",), request({"X-Signature": good}, rb'{"key":"value","num":1.0,"n":"\u00e9"}'))


@pytest.mark.parametrize(
    ("minutes", "seconds", "good"), [(4, 59, True), (5, 1, False), (-5, -1, False), (-4, -59, True)]
)
def test_case_52_the_time_stamp_in_milliseconds_on_both_sides(minutes, seconds, good):
    stamp = "1707926838792"
    url, body = "https://leads.example.com/in/hubspot?x=1", b"[]"
    digest = base64.b64encode(hmac.digest(b"k", b"POST" + url.encode() + body + stamp.encode(), "sha256")).decode()
    asked = request({"X-HubSpot-Signature-v3": digest, "X-HubSpot-Request-Timestamp": stamp}, body, url=url)
    now = at(1707926838.792) + timedelta(minutes=minutes, seconds=seconds)
    assert passes(HUBSPOT, (b"k",), asked, now) is good


@pytest.mark.parametrize("stamp", ["abc", "", "1707926838792.0", "-1707926838792", "9" * 400, "1e12", "é", " "])
def test_case_52_odd_time_stamps_are_refused_not_converted(stamp):
    digest = base64.b64encode(hmac.digest(b"k", b"POST[]" + stamp.encode("latin-1"), "sha256")).decode()
    asked = request({"X-HubSpot-Signature-v3": digest, "X-HubSpot-Request-Timestamp": stamp}, b"[]")
    assert not passes(HUBSPOT, (b"k",), asked, at(1707926838.792))


def test_hubspot_signs_some_url_escapes_in_their_plain_form():
    stamp, sent = "1707926838792", "https://x.test/in/h?to=a%3Ab%2Fc%20d%C3%A9"
    plain = "https://x.test/in/h?to=a:b/c%20d%C3%A9"
    for url in (sent, plain):
        digest = base64.b64encode(hmac.digest(b"k", f"POST{url}[]{stamp}".encode(), "sha256")).decode()
        asked = request({"X-HubSpot-Signature-v3": digest, "X-HubSpot-Request-Timestamp": stamp}, b"[]", url=sent)
        assert passes(HUBSPOT, (b"k",), asked, at(1707926838.792))


@pytest.mark.parametrize("verify", [PLAIN, GITHUB, TYPEFORM, STRIPE, SLACK, HUBSPOT, STANDARD, SHOPIFY])
def test_case_53_missing_and_empty_headers_never_pass(verify):
    secrets = (b"whsec_" + base64.b64encode(b"k" * 24),)
    names = [verify.header, verify.timestamp_header, verify.id_header]
    full = {name: "1" for name in names if name}
    for left_out in full:
        assert not passes(verify, secrets, request({name: value for name, value in full.items() if name != left_out}))
        assert not passes(verify, secrets, request({**full, left_out: ""}))
    assert not passes(verify, secrets, request({}))


@pytest.mark.parametrize("verify", [PLAIN, STANDARD, SharedSecret(secrets=("env:S",))])
@pytest.mark.parametrize("secrets", [(), (b"",), (b"  \n",), (b"good-secret-AAAA", b"")])
def test_case_53_an_empty_secret_is_a_fault_of_the_settings(verify, secrets):
    with pytest.raises(ConfigError, match="missing or empty"):
        compile_verifier(verify, secrets)


def test_case_53_a_secret_that_is_only_its_prefix_is_empty():
    with pytest.raises(ConfigError):
        compile_verifier(STANDARD, (b"whsec_",))


def test_a_secret_that_is_no_base64_is_a_fault_and_is_not_repeated():
    with pytest.raises(ConfigError) as caught:
        compile_verifier(STANDARD, (b"whsec_p@ssw0rd!",))
    assert "p@ssw0rd" not in str(caught.value)


def test_case_54_comparing():
    body = b"{}"
    digest = hexed(b"k", body)
    assert passes(PLAIN, (b"k",), request({"X-Signature": digest.upper()}))
    assert passes(GITHUB, (b"k",), request({"X-Hub-Signature-256": f"sha256={digest.upper()}"}))
    assert not passes(GITHUB, (b"k",), request({"X-Hub-Signature-256": digest}))  # the format asks for the prefix
    assert not passes(PLAIN, (b"k",), request({"X-Signature": f"sha256={digest}"}))
    assert not passes(PLAIN, (b"k",), request({"X-Signature": digest[:-1]}))
    assert not passes(PLAIN, (b"k",), request({"X-Signature": digest[:-2]}))
    assert not passes(PLAIN, (b"k",), request({"X-Signature": digest + "00"}))
    assert passes(PLAIN, (b"new", b"k"), request({"X-Signature": digest}))
    assert passes(PLAIN, (b"k", b"new"), request({"X-Signature": digest}))
    for odd in (b"sha256=\xe9", "sha256=é".encode(), b"\xff\xfe", b"sha256=", b"sha256=zz"):
        assert not passes(GITHUB, (b"k",), request({"X-Hub-Signature-256": odd}))


# ---- settings that could not verify anything ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed",
    [
        {"signed": "{timestamp}.{body}"},
        {"signed": "{body}{nonce}"},
        {"signed": "fixed"},
        {"timestamp_header": "X-Time"},
        {"id_header": "X-Id"},
        {"signed": "{id}{body}"},
        {"format": "pairs"},
        {"format": "list"},
        {"timestamp_pair": "t", "signed": "{timestamp}{body}"},
        {"header": "X Signature"},
        {"header": ""},
    ],
)
def test_settings_that_cannot_verify_are_faults(changed):
    with pytest.raises(ConfigError):
        compile_verifier(PLAIN.model_copy(update=changed), (b"k",))


# ---- shared secrets -----------------------------------------------------------------------------------------------


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("where", "name", "good", "bad"),
    [
        ("header", "X-Key", request({"x-key": "s3cret"}), request({"x-key": "s3cre"})),
        ("bearer", "", request({"authorization": "bearer s3cret"}), request({"authorization": "s3cret"})),
        (
            "basic",
            "ann",
            request({"authorization": basic("ann", "s3cret")}),
            request({"authorization": basic("bob", "s3cret")}),
        ),
        ("basic", "ann", request({"authorization": basic("ann", "s3cret")}), request({"authorization": "Basic \xe9"})),
        ("query", "key", request({}, query=b"a=1&key=s3cret"), request({}, query=b"key=&key2=s3cret")),
        ("query", "key", request({}, query=b"key=%733cret"), request({}, query=b"key=%")),
        ("body", "google_key", request({}, b'{"google_key":"s3cret"}'), request({}, b'{"google_key":["s3cret"]}')),
        ("body", "[0].k", request({}, b'[{"k":"s3cret"}]'), request({}, b'[{"k":null}]')),
        ("body", "k", request({"content-type": "application/x-www-form-urlencoded"}, b"k=s3cret"), request({}, b"")),
        ("body", "k", request({}, b'{"k":"s3cret"}'), request({}, b"[" * 100_000)),
        ("body", "k", request({}, b'{"k":"s3cret"}'), request({}, b'{"k":"s3cret"')),
        ("body", "length(k)", request({}, b"x=1"), request({}, b'{"k":5}')),
    ],
)
def test_shared_secrets(where, name, good, bad):
    verify = SharedSecret(where=where, name=name, secrets=("env:S",))
    if name != "length(k)":
        assert passes(verify, (b"other", b"s3cret"), good)
        assert not passes(verify, (b"another",), good)
    assert not passes(verify, (b"other", b"s3cret"), bad)


def test_a_plus_in_a_secret_pasted_into_a_url():
    verify = SharedSecret(where="query", name="key", secrets=("env:S",))
    assert passes(verify, (b"a+b",), request({}, query=b"key=a+b"))
    assert passes(verify, (b"a b",), request({}, query=b"key=a+b"))
    assert passes(verify, (b"a+b",), request({}, query=b"key=a%2Bb"))


def test_unsigned_takes_anybody():
    assert passes(Unsigned(), (), request({}))


EVERY = [PLAIN, GITHUB, TYPEFORM, STRIPE, SLACK, HUBSPOT, STANDARD, SHOPIFY] + [
    SharedSecret(where=where, name="key", secrets=("env:S",))
    for where in ("header", "bearer", "basic", "query", "body")
]


@settings(max_examples=300, deadline=None)
@given(
    verify=st.sampled_from(EVERY),
    value=st.binary(max_size=80) | st.sampled_from([b"v1,=", b"t=,v1=", b"sha256=", b"Basic ==", b"Bearer "]),
    stamp=st.binary(max_size=20),
    body=st.binary(max_size=60),
    query=st.binary(max_size=40),
)
def test_whatever_comes_is_a_bad_signature_and_nothing_else(verify, value, stamp, body, query):
    names = ["webhook-id", "authorization", "key", getattr(verify, "header", "x"), "content-type"]
    stamps = ["webhook-timestamp", "X-Slack-Request-Timestamp", "X-HubSpot-Request-Timestamp"]
    headers = dict.fromkeys(names, value) | dict.fromkeys(stamps, stamp)
    secret = b"whsec_" + base64.b64encode(hashlib.sha256(b"secret").digest())
    assert not passes(verify, (secret,), request(headers, body, query=query))
