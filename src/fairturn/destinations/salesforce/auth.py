"""The session: a token by client credentials, fetched once for all who wait, and checked to be the org we mean."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2
import orjson

from fairturn.destinations.echoes import all_spellings, masked, spellings
from fairturn.destinations.http import NoAnswer, NotSent, Reply, exchange
from fairturn.destinations.salesforce.ids import answered_id, same_id
from fairturn.errors import DestinationError, LoginRefused, WrongOrg

PATH = "/services/oauth2/token"
OURS = (".salesforce.com", ".force.com", ".salesforce.mil", ".sfcrmapps.cn")  # My Domain hosts, government and China


@dataclass(frozen=True, slots=True)
class Session:
    """`base`: where the data API answers. `org`, `user`: 18-character ids of the organisation and of whose it is."""

    token: str = field(repr=False)
    base: httpx2.URL
    org: str
    user: str | None = None


@dataclass(frozen=True, slots=True)
class Credentials:
    url: httpx2.URL  # the configured address, whose token endpoint is asked
    client_id: str = field(repr=False)
    client_secret: str = field(repr=False)
    org: str | None = None  # pinned by the settings
    allow_private: bool = False

    @property
    def basic(self) -> str:
        """As the login sends them."""
        pair = f"{quote(self.client_id, safe='')}:{quote(self.client_secret, safe='')}"
        return base64.b64encode(pair.encode()).decode()

    @property
    def spellings(self) -> tuple[bytes, ...]:
        """Every form in which an echo could hold them, the longest first."""
        secrets = (self.client_secret, self.client_id, self.basic)
        return all_spellings(secrets)


class Login:
    """Hands out the session; a session that the CRM refused is renewed once, by whoever comes first."""

    def __init__(self, client: httpx2.AsyncClient, credentials: Credentials, name: str) -> None:
        self._client = client
        self._credentials = credentials
        self._name = name
        self._ours = credentials.spellings
        self._session: Session | None = None
        self._renewing = asyncio.Lock()

    async def session(self, seconds: float, stale: Session | None = None) -> Session:
        """stale: the session that was refused; another one is fetched unless somebody did so already.

        Raises LoginRefused when a person must act, WrongOrg, and DestinationError for an outage, which leaves the
        credentials as good as they were.
        """
        async with self._renewing:
            if self._session is None or self._session is stale:
                self._session = None
                self._session = await self._fetch(seconds)
            return self._session

    async def _fetch(self, seconds: float) -> Session:
        who = self._credentials
        request = self._client.build_request(
            "POST",
            who.url.copy_with(path=PATH),
            content=b"grant_type=client_credentials",
            headers={
                "Content-Type": "application/x-www-form-urlencoded",
                "Accept": "application/json",
                "Authorization": f"Basic {who.basic}",
            },
        )
        try:
            reply = await exchange(self._client, request, seconds)
        except NoAnswer as error:
            raise NotSent(f"the login: {error}") from error  # no record was sent, whatever became of the token
        if reply.status != 200:
            raise self._refusal(reply, _object(self.clean(reply.body)))
        return self._judge(_object(reply.body))

    def _refusal(self, reply: Reply, body: dict[str, Any]) -> DestinationError:
        """400 and 401 are the CRM's last word on our credentials; anything else is an outage of the endpoint."""
        reason = f"{body.get('error', '')} {body.get('error_description') or ''}".strip()[:300]
        if reply.status in (400, 401, 403) and reason:
            return LoginRefused(
                f"Salesforce refuses the login of destination {self._name}: {reason}. Check client_id, client_secret "
                "and the client credentials user of the connected app"
            )
        return NotSent(f"the login endpoint of {self._credentials.url.host} answered {reply.status}")

    def _judge(self, body: dict[str, Any]) -> Session:
        token, instance, identity = body.get("access_token"), body.get("instance_url"), body.get("id")
        if not (isinstance(token, str) and token and isinstance(instance, str)):
            raise NotSent(f"the login answer of {self._credentials.url.host} holds no token")
        org = org_of(identity)
        if org is None:
            raise LoginRefused(f"the login answer of {self._credentials.url.host} does not say which org it is of")
        pinned = self._credentials.org
        if pinned is not None and not same_id(org, pinned):
            raise WrongOrg(
                f"Destination {self._name} is pinned to org {pinned}, but {self._credentials.url.host} "
                f"answers for org {org}. Nothing was written. Correct url and credentials, or org"
            )
        return Session(token, self._base(instance), org, user_of(identity))

    def _base(self, instance: str) -> httpx2.URL:
        """The address that the token answer names, if a token may go there."""
        who = self._credentials
        with contextlib.suppress(httpx2.InvalidURL, ValueError):
            url = httpx2.URL(instance)
            known = url.host == who.url.host or url.host.endswith(OURS) or who.allow_private
            safe = url.scheme == "https" or (who.allow_private and url.scheme == "http")
            if known and safe and not url.userinfo and url.host:
                return url.copy_with(path="/", query=None, fragment=None)
        raise LoginRefused(
            f"the login answer of {who.url.host} names an address that is not Salesforce's; nothing was sent there"
        )

    def clean(self, body: bytes, session: Session | None = None) -> bytes:
        """The CRM's words without our own secrets, should it echo them: they are kept, shown and logged."""
        return masked(body, (*(spellings(session.token) if session else ()), *self._ours))


def org_of(identity: object) -> str | None:
    """The org's id in `https://login.salesforce.com/id/00D.../005...`, in its long form."""
    return _after(identity, "id", "00D")


def user_of(identity: object) -> str | None:
    """The user's id in the same."""
    org = urlsplit(identity).path.split("/")[2:3] if isinstance(identity, str) else []
    return _after(identity, org[0], "005") if org else None


def _after(identity: object, before: str, prefix: str) -> str | None:
    if not isinstance(identity, str):
        return None
    for one, part in pairwise(urlsplit(identity).path.split("/")):
        if one == before and part.startswith(prefix):
            return answered_id(part)
    return None


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
