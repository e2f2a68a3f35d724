"""The token endpoint: its errors are objects, unlike the data API's (SF-docs OAuth flows)."""

import base64
import binascii
import hmac
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl, unquote_plus, urlsplit

from crmsim.clock import stamp
from crmsim.salesforce import answers, assertion
from crmsim.salesforce.exchange import Exchange
from crmsim.salesforce.state import Salesforce
from crmsim.wire import Answer, Call

LOGIN_HOSTS = ("login.salesforce.com", "test.salesforce.com")
MY_DOMAIN = "crmsim.my.salesforce.com"
AUDIENCES = ("https://login.salesforce.com", "https://test.salesforce.com")
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"

Form = Mapping[str, str]


class Denied(Exception):
    """Ends a token request: the error, and its description."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        self.error = error


async def token(exchange: Exchange) -> Answer:
    """`POST /services/oauth2/token`, a form."""
    sim, call = exchange.sim, exchange.call
    await sim.clock.sleep(sim.latency.token)
    form = dict(parse_qsl(call.body.decode("utf-8", "replace"), keep_blank_values=True))
    grant = GRANTS.get(form.get("grant_type", ""))
    if grant is None:
        return answers.oauth_error("unsupported_grant_type", "grant type not supported")
    try:
        user = grant(sim, call, form)
    except Denied as denied:
        return answers.oauth_error(denied.error, str(denied))
    return _issued(exchange, user)


def _issued(exchange: Exchange, user: str) -> Answer:
    """No `expires_in`, and of these grants none gives a refresh token."""
    sim, now, base = exchange.sim, stamp(), instance(exchange.call)
    return Answer(
        200,
        {
            "access_token": sim.sessions.issue(sim.clock.now(), user),
            "signature": base64.b64encode(str(now.wall).encode()).decode(),
            "scope": "api",
            "instance_url": base,
            "id": f"{base}/id/{sim.sessions.org}/{user}",
            "token_type": "Bearer",
            "issued_at": str(int(now.wall * 1000)),
        },
        {"Cache-Control": "no-store"},
    )


def instance(call: Call) -> str:
    """Where the session's data lives: the host that was asked, but the common login hosts send to My Domain."""
    host = urlsplit(call.base_url).hostname
    return call.base_url if host not in LOGIN_HOSTS else f"https://{MY_DOMAIN}"


def _client_credentials(sim: Salesforce, call: Call, form: Form) -> str:
    if urlsplit(call.base_url).hostname in LOGIN_HOSTS:
        raise Denied("invalid_grant", "request not supported on this domain")
    _app(sim, call, form)
    if not sim.switches.client_credentials_user:
        raise Denied("invalid_grant", "no client credentials user enabled")
    return sim.sessions.user


def _password(sim: Salesforce, call: Call, form: Form) -> str:
    """The security token may follow the password; the simulator trusts every address."""
    _app(sim, call, form)
    user = login(sim, form.get("username", ""), form.get("password", ""))
    if user is None:
        raise Denied("invalid_grant", "authentication failure")
    return user


def _jwt(sim: Salesforce, call: Call, form: Form) -> str:
    try:
        claims = assertion.read(form.get("assertion", ""), sim.sessions.app.jwt_key)
    except ValueError:
        raise Denied("invalid_grant", "invalid assertion") from None
    if claims.iss != sim.sessions.app.client_id:
        raise Denied("invalid_client_id", "client identifier invalid")
    if claims.aud.rstrip("/") not in (*AUDIENCES, call.base_url, f"https://{MY_DOMAIN}"):
        raise Denied("invalid_grant", "audience is invalid")
    if claims.exp < stamp().wall:
        raise Denied("invalid_grant", "expired authorization code")
    user = _user(sim, claims.sub)
    if user is None:
        raise Denied("invalid_grant", "user hasn't approved this consumer")
    return user


def _refresh(sim: Salesforce, call: Call, form: Form) -> str:
    """The secret may stay away."""
    _app(sim, call, form, secret="client_secret" in form)
    if not _same(form.get("refresh_token", ""), sim.sessions.app.refresh_token):
        raise Denied("invalid_grant", "expired access/refresh token")
    return sim.sessions.user


GRANTS: Mapping[str, Callable[[Salesforce, Call, Form], str]] = {
    "client_credentials": _client_credentials,
    "password": _password,
    JWT_BEARER: _jwt,
    "refresh_token": _refresh,
}


def _app(sim: Salesforce, call: Call, form: Form, *, secret: bool = True) -> None:
    """The connected app's id and secret: in HTTP Basic, or in the form."""
    basic = _basic(call.header("authorization"))
    given = basic or (form.get("client_id", ""), form.get("client_secret", ""))
    if not _same(given[0], sim.sessions.app.client_id):
        raise Denied("invalid_client_id", "client identifier invalid")
    if secret and not _same(given[1], sim.sessions.app.client_secret):
        raise Denied("invalid_client", "invalid client credentials")


def _same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode(), known.encode())


def login(sim: Salesforce, username: str, password: str) -> str | None:
    """The id of the active user who logs in so; every user of the simulated org has the same password."""
    app = sim.sessions.app
    right = _same(password, app.password) or _same(password, app.password + app.security_token)
    return _user(sim, username) if right else None


def _user(sim: Salesforce, username: str) -> str | None:
    folded = username.casefold()
    rows = (row for row in sim.org.live("User") if str(row.values.get("Username")).casefold() == folded)
    return next((row.id18 for row in rows if row.values.get("IsActive")), None)


def _basic(header: str | None) -> tuple[str, str] | None:
    scheme, _, coded = (header or "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, _, secret = base64.b64decode(coded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    return unquote_plus(name), unquote_plus(secret)


async def revoke(exchange: Exchange) -> Answer:
    """`POST /services/oauth2/revoke`, form field `token`."""
    form = dict(parse_qsl(exchange.call.body.decode("utf-8", "replace")))
    if exchange.sim.sessions.revoke(form.get("token", "")):
        return Answer(200)
    return answers.oauth_error("invalid_token", "invalid token")
