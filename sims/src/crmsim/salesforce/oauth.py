"""The token endpoint, client credentials only: its errors are objects, unlike the data API's (SF-docs OAuth flows)."""

import base64
import binascii
import hmac
from urllib.parse import parse_qsl, unquote_plus

from crmsim.clock import stamp
from crmsim.salesforce import answers
from crmsim.salesforce.exchange import Exchange
from crmsim.wire import Answer


async def token(exchange: Exchange) -> Answer:
    """`POST /services/oauth2/token`; id and secret in HTTP Basic or in the form."""
    sim, call = exchange.sim, exchange.call
    await sim.clock.sleep(sim.latency.token)
    form = dict(parse_qsl(call.body.decode("utf-8", "replace")))
    if form.get("grant_type") != "client_credentials":
        return answers.oauth_error("unsupported_grant_type", "grant type not supported")
    client_id, secret = _basic(call.header("authorization")) or (
        form.get("client_id", ""),
        form.get("client_secret", ""),
    )
    if not hmac.compare_digest(client_id.encode(), sim.sessions.client_id.encode()):
        return answers.oauth_error("invalid_client_id", "client identifier invalid")
    if not hmac.compare_digest(secret.encode(), sim.sessions.client_secret.encode()):
        return answers.oauth_error("invalid_client", "invalid client credentials")
    if not sim.switches.client_credentials_user:
        return answers.oauth_error("invalid_grant", "no client credentials user enabled")
    now = stamp()
    return Answer(
        200,
        {
            "access_token": sim.sessions.issue(sim.clock.now()),
            "signature": base64.b64encode(str(now.wall).encode()).decode(),
            "scope": "api",
            "instance_url": call.base_url,
            "id": f"{call.base_url}/id/{sim.sessions.org}/{sim.sessions.user}",
            "token_type": "Bearer",
            "issued_at": str(int(now.wall * 1000)),
        },
        {"Cache-Control": "no-store"},
    )


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
