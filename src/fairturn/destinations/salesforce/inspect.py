"""Asking Salesforce what it has: the records that bear our keys, or the addresses that we wrote.

SOQL by GET /services/data/vXX.X/query, further pages by nextRecordsUrl
https://developer.salesforce.com/docs/platform/api-rest/guide/dome-query.html
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import orjson

from fairturn.config import Destination as Settings
from fairturn.desk import Found
from fairturn.destinations.http import Reply, base_of, exchange, open_client
from fairturn.destinations.salesforce.auth import Credentials, Login, Session
from fairturn.destinations.salesforce.ids import same_id
from fairturn.destinations.salesforce.lookup import BASE, moment
from fairturn.destinations.salesforce.objects import CONTACT, LEAD
from fairturn.destinations.salesforce.soql import among, chunks, select
from fairturn.errors import DestinationError

PREFIXES = {LEAD: "00Q", CONTACT: "003", "Account": "001"}
LONGEST = 6_000  # characters of a query as it travels: beside it are headers, in which some orgs' tokens are long
TRIES = 4  # of a request that met an outage or a limit of requests at once
WORDS = 300  # characters of the CRM's own words that an error repeats


class SalesforceInspect:
    """Implements ports.Inspect. Reads only."""

    def __init__(self, credentials: Credentials, settings: Settings, *, name: str) -> None:
        self._settings = settings
        self._name = name
        self._client = open_client(
            timeout=settings.request_timeout, allow_private=credentials.allow_private, connections=2
        )
        self._login = Login(self._client, credentials, name)
        self._session: Session | None = None
        self._frozen: set[str] = set()  # converted Leads that were found

    def __repr__(self) -> str:
        return f"SalesforceInspect({self._name!r})"

    async def find(self, keys: Sequence[str], emails: Sequence[str], records: Sequence[str] = ()) -> Sequence[Found]:
        """Each record once, however it was found. Raises DestinationError.

        A lead's record may be a Contact: it was one before, or its Lead was converted. A converted Lead is no second
        record of the person beside it, even where both bear our key.
        """
        key, mine = self._settings.external_id, self._settings.object
        contacts = [CONTACT] if mine == LEAD and self._settings.existing == "ask" else []
        found: dict[str, Found] = {}
        for sobject in (mine, *contacts):
            await self._into(found, sobject, key, keys)
        if mine in BASE:
            await self._into(found, mine, "Email", emails)
        for sobject in (mine, *contacts):
            prefix = PREFIXES.get(sobject)
            ids = [one for one in records if one not in found and prefix is not None and one.startswith(prefix)]
            await self._into(found, sobject, "Id", ids)
        alive = {record.key for one, record in found.items() if record.key and one not in self._frozen}
        return [record for one, record in found.items() if one not in self._frozen or record.key not in alive]

    async def close(self) -> None:
        await self._client.aclose()

    def _found(self, row: dict[str, Any]) -> Found:
        key = row.get(self._settings.external_id)
        owner, maker = row.get("Owner") or {}, row.get("CreatedById")
        us = self._session.user if self._session is not None else None
        return Found(
            str(row.get("Id")),
            key or None,
            row.get("OwnerId") or None,
            row.get("Email") or None,
            owner.get("Name") or None,
            owner.get("Email") or None,
            moment(row.get("CreatedDate")),
            same_id(maker, us) if isinstance(maker, str) and us is not None else None,
        )

    async def _into(self, found: dict[str, Found], sobject: str, field: str, values: Sequence[str]) -> None:
        for part in chunks(values, LONGEST):
            try:
                rows = await self._query(sobject, field, part)
            except DestinationError:
                if sobject != self._settings.object:
                    return  # Contacts, or our key on them, are not to be seen: then none of ours is there
                raise
            for row in rows:
                record = self._found(row)
                if row.get("IsConverted") is True:
                    self._frozen.add(record.record_id)
                found[record.record_id] = record

    async def _query(self, sobject: str, field: str, values: Sequence[str]) -> list[dict[str, Any]]:
        email = ("Email",) if sobject in BASE else ()
        open_ones = " AND IsConverted = false" if sobject == LEAD and field == "Email" else ""
        converted = ("IsConverted",) if sobject == LEAD else ()
        names = ("Id", "OwnerId", "CreatedDate", "CreatedById", *converted, *email, self._settings.external_id)
        soql = select(names, sobject, f"{among(field, values)}{open_ones}").replace(
            "OwnerId", "OwnerId, Owner.Name, Owner.Email", 1
        )
        path = f"/services/data/v{self._settings.api_version.removeprefix('v')}/query"
        answer = await self._get(f"{path}?q={quote(soql, safe='')}")
        rows = list(answer.get("records", ()))
        while not answer.get("done", True):
            answer = await self._get(str(answer["nextRecordsUrl"]))
            rows += answer.get("records", ())
        return rows

    async def _get(self, path: str) -> dict[str, Any]:
        seconds = self._settings.request_timeout
        for attempt in range(1, TRIES + 1):
            self._session = await self._login.session(seconds, None) if self._session is None else self._session
            session = self._session
            request = self._client.build_request(
                "GET",
                session.base.join(path),
                headers={"Authorization": f"Bearer {session.token}", "Accept": "application/json"},
            )
            reply = await exchange(self._client, request, seconds)
            if reply.status == 200:
                return parsed(reply, self._name)
            if reply.status == 401 and attempt == 1:
                self._session = await self._login.session(seconds, session)
                continue
            if reply.status < 500 or attempt == TRIES:
                raise DestinationError(f"Destination {self._name} does not answer the question: {said(reply)}")
            await asyncio.sleep(2.0**attempt)
        raise DestinationError(f"Destination {self._name} refuses the session it has just given")


def open_inspect(name: str, settings: Settings, *, client_id: str, client_secret: str) -> SalesforceInspect:
    """client_id, client_secret: the secrets themselves. Raises DestinationError when `url` will not do."""
    url = base_of(settings.url, f"destinations.{name}.url", allow_private=settings.allow_private)
    credentials = Credentials(url, client_id, client_secret, settings.org, settings.allow_private)
    return SalesforceInspect(credentials, settings, name=name)


def parsed(reply: Reply, name: str) -> dict[str, Any]:
    try:
        found = orjson.loads(reply.body)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise DestinationError(f"Destination {name} answered something that is no JSON object")
    return found


def said(reply: Reply) -> str:
    try:
        found = orjson.loads(reply.body)
        first = found[0] if isinstance(found, list) and found else found
        return f"{first['errorCode']}: {first['message']}"[:WORDS]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return f"status {reply.status}"
