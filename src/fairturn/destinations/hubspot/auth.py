"""The token: a private app's own, or an OAuth app's by its refresh token, renewed before its half hour ends.

POST /oauth/v1/token; GET /account-info/v3/details names the account (portal) that the token is of.
https://developers.hubspot.com/docs/api-reference/auth-oauth-v1/guide
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx2
import orjson

from fairturn.destinations.echoes import all_spellings, masked
from fairturn.destinations.http import NoAnswer, NotSent, Reply, exchange, retry_after
from fairturn.errors import DestinationError, LoginRefused, WrongOrg

TOKEN = "/oauth/v1/token"  # noqa: S105 - a path
DETAILS = "/account-info/v3/details"
EARLY = 60.0  # seconds before its end that a token is renewed: a write may take as long
SHORTEST = 5.0  # seconds that a new token is used at least, whatever it says of itself
SANDBOXES = frozenset({"SANDBOX", "DEVELOPER_TEST"})
AGAIN = 10.0  # seconds until a private app's token is tried again that was refused for the first time
APART = 5.0  # seconds: refusals nearer to the first one are of requests that were out together


class TokenDoubted(NotSent):
    """The first 401 for a token that lasts: HubSpot's own login service errs now and then. Nothing was written."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """`token` of a private app, or the three of an OAuth app."""

    url: httpx2.URL
    token: str | None = field(default=None, repr=False)
    client_id: str | None = field(default=None, repr=False)
    client_secret: str | None = field(default=None, repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    portal: str | None = None  # pinned by the settings
    sandbox: bool | None = None  # the same
    allow_private: bool = False

    @property
    def secrets(self) -> tuple[str | None, ...]:
        return (self.token, self.client_id, self.client_secret, self.refresh_token)


@dataclass(frozen=True, slots=True)
class Session:
    token: str = field(repr=False)
    ends: float | None = None  # monotonic; None: until it is taken back


@dataclass(frozen=True, slots=True)
class Account:
    """Who answers."""

    portal: str
    kind: str  # STANDARD, SANDBOX, DEVELOPER_TEST, APP_DEVELOPER


class Login:
    """Hands out the token; one that HubSpot refused is renewed once, by whoever comes first.

    doubts: where it cannot be renewed, its first refusal is not believed yet (TokenDoubted).
    """

    def __init__(self, client: httpx2.AsyncClient, credentials: Credentials, name: str, *, doubts: bool) -> None:
        self._client = client
        self._credentials = credentials
        self._name = name
        self._refresh = credentials.refresh_token  # the newest: HubSpot may hand out another
        self._session: Session | None = None
        self._account: Account | None = None
        self._renewing = asyncio.Lock()
        self._doubts = doubts
        self._doubted: float | None = None  # monotonic: when the token was refused, with no success since

    @property
    def renews(self) -> bool:
        """A private app's token is what it is."""
        return self._credentials.token is None

    async def session(self, seconds: float, stale: Session | None = None) -> Session:
        """stale: the session that was refused; another one is fetched unless somebody did so already.

        Raises LoginRefused when a person must act, and DestinationError for an outage of the endpoint.
        """
        async with self._renewing:
            if self._credentials.token is not None:
                self._session = self._session or Session(self._credentials.token)
                return self._session
            now = asyncio.get_running_loop().time()
            over = self._session is not None and self._session.ends is not None and now >= self._session.ends
            if self._session is None or self._session is stale or over:
                self._session = None
                self._session = await self._fetch(seconds)
            return self._session

    async def _fetch(self, seconds: float) -> Session:
        who = self._credentials
        form = {
            "grant_type": "refresh_token",
            "client_id": who.client_id or "",
            "client_secret": who.client_secret or "",
            "refresh_token": self._refresh or "",
        }
        request = self._client.build_request(
            "POST",
            who.url.copy_with(path=TOKEN),
            content=urlencode(form).encode(),
            headers={"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"},
        )
        before = asyncio.get_running_loop().time()
        try:
            reply = await exchange(self._client, request, seconds)
        except NoAnswer as error:
            raise NotSent(f"the login: {error}") from error  # no record was sent, whatever became of the token
        if reply.status != 200:
            raise self._refusal(reply)
        return self._judge(_object(reply.body), before)

    def _refusal(self, reply: Reply) -> DestinationError:
        """4xx with a reason is HubSpot's last word on our credentials; anything else is an outage of the endpoint."""
        body = _object(self.clean(reply.body))
        reason = f"{body.get('status', '')} {body.get('message') or body.get('error_description') or ''}".strip()[:300]
        if reply.status in (400, 401, 403) and reason:
            return LoginRefused(
                f"HubSpot refuses the login of destination {self._name}: {reason}. Check client_id, client_secret and "
                "refresh_token; an app that was uninstalled has to be installed again"
            )
        wait = retry_after(reply.headers)
        after = f", and asks to wait {wait:.0f} s" if wait is not None else ""
        return NotSent(f"the login endpoint of {self._credentials.url.host} answered {reply.status}{after}")

    def _judge(self, body: dict[str, Any], asked: float) -> Session:
        token, lasts, refresh = body.get("access_token"), body.get("expires_in"), body.get("refresh_token")
        if not (isinstance(token, str) and token):
            raise NotSent(f"the login answer of {self._credentials.url.host} holds no token")
        if isinstance(refresh, str) and refresh:
            self._refresh = refresh
        known = isinstance(lasts, int | float) and not isinstance(lasts, bool) and lasts > 0
        return Session(token, asked + max(float(lasts) - EARLY, SHORTEST) if known and lasts else None)

    async def account(self, seconds: float, session: Session) -> Account:
        """Asked once. Raises LoginRefused, TokenDoubted; WrongOrg where it is not the one that the settings pin."""
        if self._account is None:
            self._account = self._pinned(await self._ask(seconds, session))
        return self._account

    async def _ask(self, seconds: float, session: Session) -> Account:
        request = self._client.build_request(
            "GET",
            self._credentials.url.copy_with(path=DETAILS),
            headers={"Authorization": f"Bearer {session.token}", "Accept": "application/json"},
        )
        try:
            reply = await exchange(self._client, request, seconds)
        except NoAnswer as error:
            raise NotSent(f"the question for the account: {error}") from error
        body = _object(self.clean(reply.body, session))
        portal = body.get("portalId")
        if reply.status == 200 and isinstance(portal, int | str) and str(portal).isdigit():
            return Account(str(portal), str(body.get("accountType") or ""))
        reason = str(body.get("message") or "")[:300]
        self.judge(reply)
        if reply.status in (401, 403):
            raise self.refused(reason)
        raise NotSent(f"{self._credentials.url.host} answered {reply.status} when asked which account it is {reason}")

    def judge(self, reply: Reply) -> None:
        """Of each answer to a request with the token. Raises TokenDoubted."""
        if reply.status != 401:
            self._doubted = None if reply.status < 500 else self._doubted
            return
        now = asyncio.get_running_loop().time()
        if self.renews or not self._doubts or (self._doubted is not None and now - self._doubted > APART):
            return
        self._doubted = now if self._doubted is None else self._doubted
        reason = str(_object(self.clean(reply.body)).get("message") or "")[:300]
        words = f"HubSpot refused the token of destination {self._name}: {reason}. It is tried once more"
        raise TokenDoubted(words, AGAIN)

    def refused(self, reason: str) -> LoginRefused:
        what = "client_id, client_secret and refresh_token" if self.renews else "token, of the private app in HubSpot"
        return LoginRefused(f"HubSpot refuses the login of destination {self._name}: {reason}. Check {what}")

    def _pinned(self, account: Account) -> Account:
        who = self._credentials
        if who.portal is not None and who.portal != account.portal:
            raise WrongOrg(
                f"Destination {self._name} is pinned to account {who.portal}, but the token is of {account.portal}. "
                "Nothing was written. Correct the token, or org"
            )
        if who.sandbox is not None and who.sandbox != (account.kind in SANDBOXES):
            meant = "a sandbox" if who.sandbox else "no sandbox"
            raise WrongOrg(
                f"Destination {self._name} must be {meant}, but account {account.portal} is of type {account.kind}. "
                "Nothing was written. Correct the token, or sandbox"
            )
        return account

    def clean(self, body: bytes, session: Session | None = None) -> bytes:
        """The CRM's words without our own secrets."""
        token = session.token if session else None
        return masked(body, all_spellings((*self._credentials.secrets, self._refresh, token)))


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
