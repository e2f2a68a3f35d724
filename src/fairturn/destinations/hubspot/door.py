"""Requests to one HubSpot account: a token on each, renewed once where it ran out, and the limits that answers tell."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

import orjson

from fairturn.destinations.http import NotSent, Reply, exchange, open_client
from fairturn.destinations.hubspot.auth import Account, Credentials, Login, Session
from fairturn.destinations.hubspot.limits import quota, rate
from fairturn.model import Rate


@dataclass(slots=True)
class Tally:
    """One piece of work: its time, its calls, and what it heard of limits."""

    ends: float  # monotonic
    calls: int = 0
    rate: Rate | None = None
    quota: tuple[int, int] | None = None  # used, allowed

    def left(self) -> float:
        return self.ends - asyncio.get_running_loop().time()


def tally(seconds: float) -> Tally:
    return Tally(asyncio.get_running_loop().time() + seconds)


class Door:
    """No secret of it appears in an error, a log line or a repr."""

    def __init__(
        self, credentials: Credentials, *, name: str, timeout: float, connections: int, doubts: bool = False
    ) -> None:
        self._client = open_client(timeout=timeout, allow_private=credentials.allow_private, connections=connections)
        self._login = Login(self._client, credentials, name, doubts=doubts)
        self._url = credentials.url
        self.name = name

    async def account(self, run: Tally) -> Account:
        """Who answers. Raises LoginRefused, TokenDoubted, WrongOrg, DestinationError."""
        return await self._login.account(run.left(), await self._login.session(run.left()))

    async def call(
        self, run: Tally, method: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> Reply:
        """One request, and a second one where a token had run out that can be renewed: a 401 that stays is returned.

        Raises NotSent (TokenDoubted too), NoAnswer, and LoginRefused of the token endpoint.
        """
        session = await self._login.session(run.left())
        reply = await self._send(run, session, method, path, body, query)
        if reply.status == 401 and self._login.renews:
            session = await self._login.session(run.left(), stale=session)
            reply = await self._send(run, session, method, path, body, query)
        self._login.judge(reply)
        return reply

    async def _send(
        self,
        run: Tally,
        session: Session,
        method: str,
        path: str,
        body: object,
        query: Mapping[str, str] | None,
    ) -> Reply:
        if run.left() <= 0:
            raise NotSent("no time was left for this request")
        headers = {"Authorization": f"Bearer {session.token}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = self._client.build_request(
            method,
            self._url.copy_with(path=path),
            params=dict(query) if query else None,
            content=None if body is None else orjson.dumps(body),
            headers=headers,
        )
        run.calls += 1
        reply = await exchange(self._client, request, run.left())
        run.rate = rate(reply.headers) or run.rate
        run.quota = quota(reply.headers) or run.quota
        return replace(reply, body=self._login.clean(reply.body, session))

    async def close(self) -> None:
        await self._client.aclose()
