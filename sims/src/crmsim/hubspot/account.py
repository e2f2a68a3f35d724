"""The account itself, and the tokens of its apps."""

from urllib.parse import parse_qsl

from crmsim.clock import stamp
from crmsim.hubspot import answers
from crmsim.hubspot.exchange import Exchange
from crmsim.hubspot.values import instant
from crmsim.wire import Answer

SCOPES = (
    "crm.objects.companies.read", "crm.objects.companies.write", "crm.objects.contacts.read",
    "crm.objects.contacts.write", "crm.objects.owners.read", "crm.schemas.companies.read",
    "crm.schemas.companies.write", "crm.schemas.contacts.read", "crm.schemas.contacts.write", "oauth",
)  # fmt: skip


async def details(exchange: Exchange) -> Answer:
    """HS-docs account-information: `accountType` tells a sandbox from the real thing."""
    sim = exchange.sim
    await exchange.spend()
    offset = sim.limits.midnight(sim.wall()).astimezone(sim.limits.zone).utcoffset()
    minutes = int(offset.total_seconds() // 60) if offset is not None else 0
    sign = "-" if minutes < 0 else "+"
    return Answer(
        200,
        {
            "portalId": sim.options.portal, "accountType": sim.options.account_type,
            "timeZone": sim.options.time_zone, "companyCurrency": "USD", "additionalCurrencies": [],
            "utcOffset": f"{sign}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}",
            "utcOffsetMilliseconds": minutes * 60_000, "uiDomain": "app.hubspot.com", "dataHostingLocation": "na1",
        },
    )  # fmt: skip


async def usage(exchange: Exchange) -> Answer:
    """The day's calls of the private apps (HS-docs get-usage-details)."""
    sim = exchange.sim
    await exchange.spend()
    sim.limits.roll(sim.wall())
    row = {
        "name": "private-apps-api-calls-daily", "usageLimit": sim.limits.daily, "currentUsage": sim.limits.used,
        "collectedAt": instant(stamp().wall), "fetchStatus": "SUCCESS",
        "resetsAt": instant(stamp().wall + sim.limits.midnight(sim.wall()).timestamp() - sim.wall()),
    }  # fmt: skip
    return Answer(200, {"results": [row]})


async def token(exchange: Exchange) -> Answer:
    """A new access token for a refresh token; the refresh token stays."""
    sim, form = exchange.sim, dict(parse_qsl(exchange.call.body.decode("utf-8", "replace")))
    await sim.clock.sleep(sim.latency.token)
    if form.get("grant_type") != "refresh_token":
        raise _oauth_error("BAD_GRANT_TYPE", "missing or unknown grant type")
    if form.get("client_id") != sim.tokens.client_id:
        raise _oauth_error("BAD_CLIENT_ID", "missing or invalid client id")
    if form.get("client_secret") != sim.tokens.client_secret:
        raise _oauth_error("BAD_CLIENT_SECRET", "missing or invalid client secret")
    refresh = form.get("refresh_token", "")
    if refresh not in sim.tokens.refresh:
        raise _oauth_error("BAD_REFRESH_TOKEN", "missing or invalid refresh token")
    seconds = sim.switches.token_seconds
    access = sim.tokens.grant(sim.clock.now(), seconds)
    return Answer(
        200,
        {
            "token_type": "bearer", "refresh_token": refresh, "access_token": access,
            "hub_id": sim.options.portal, "scopes": list(SCOPES), "expires_in": int(seconds),
        },
    )  # fmt: skip


def _oauth_error(status: str, message: str) -> answers.ApiError:
    """400 with the code in `status`, unlike the API's errors."""
    body = answers.error(400, message).body | {"status": status}
    return answers.ApiError(Answer(400, body))


async def token_facts(exchange: Exchange, token: str) -> Answer:
    sim = exchange.sim
    await sim.clock.sleep(sim.latency.token)
    grant = sim.tokens.grants.get(token)
    if grant is None or grant.ends <= sim.clock.now():
        raise answers.refuse(404, "not found")
    return Answer(
        200,
        {
            "token": token, "user": "admin@crmsim.test", "hub_domain": "crmsim.test", "scopes": list(SCOPES),
            "hub_id": sim.options.portal, "app_id": grant.app.id, "user_id": 1, "token_type": "access",
            "expires_in": int(grant.ends - sim.clock.now()),
        },
    )  # fmt: skip


async def private_token_facts(exchange: Exchange) -> Answer:
    """Of the private app's token in the body, `{"tokenKey": "pat-…"}`: whose it is, and what it may do. Tokens of the
    EU's data centre must be in the Authorization header too; it is checked where it is there.
    """
    sim = exchange.sim
    await sim.clock.sleep(sim.latency.token)
    header = exchange.call.header("authorization")
    token = exchange.body().get("tokenKey")
    if header is not None or str(token).startswith("pat-eu"):
        sim.tokens.check(header, sim.clock.now())
    app = sim.tokens.private.get(token) if isinstance(token, str) else None
    if app is None:
        raise answers.refuse(404, "not found")
    granted = set(SCOPES if app.scopes is None else app.scopes) - {"oauth"} - set(sim.switches.missing_scopes.split())
    facts = {"userId": 1, "hubId": sim.options.portal, "appId": app.id, "scopes": sorted(granted)}
    return Answer(200, facts)
