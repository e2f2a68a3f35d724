"""The CRMs' APIs as handlers call them: find people by their address, write one record, write many in one request."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import httpx2
import orjson

from bench.tail.vendors import HUBSPOT, REPS, SALESFORCE, SECRET, TOKEN, Vendor, address
from fairturn.assemble.demo.scenario import FREE_MAIL

VERSION: Final = "62.0"
WAIT: Final = 120.0  # seconds; a handler's own patience is longer than its sender's

Values = dict[str, Any]
T = TypeVar("T")


class Refused(Exception):
    """The CRM answered with an error, or not at all."""


@dataclass(frozen=True, slots=True)
class Row:
    """What is to be written of one person. id: the record that was found; None: a new one."""

    email: str
    values: Values
    id: str | None


class Crm(ABC):
    """One connection for each request that is out, as serverless handlers have it: no pool holds them back."""

    def __init__(self, vendor: Vendor, url: str) -> None:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=200)
        self._http = httpx2.AsyncClient(base_url=url, trust_env=False, timeout=WAIT, limits=limits)
        self._fields = vendor.fields
        self._owners: list[str] = []
        self._turn = 0

    @abstractmethod
    async def open(self) -> None:
        """Log in, and learn the reps' ids."""

    @abstractmethod
    async def find(self, email: str) -> str | None:
        """The person's record, by one search."""

    @abstractmethod
    async def find_all(self, emails: Sequence[str]) -> dict[str, str]:
        """Address in lower case -> record, in as few requests as it takes."""

    @abstractmethod
    async def write(self, row: Row) -> None:
        """One record. Raises Refused."""

    @abstractmethod
    def batches(self, rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
        """Each is what one request takes."""

    @abstractmethod
    async def write_all(self, rows: Sequence[Row]) -> list[Row]:
        """One of `batches`: those of it that were refused. Raises Refused where all were."""

    async def _ask(self, method: str, path: str, body: object = None, **query: str) -> Any:
        content = None if body is None else orjson.dumps(body)
        headers = self._headers | ({"Content-Type": "application/json"} if content else {})
        try:
            answer = await self._http.request(method, path, content=content, headers=headers, params=query or None)
        except httpx2.HTTPError as error:
            raise Refused(type(error).__name__) from error
        if answer.status_code >= 400:
            raise Refused(f"{answer.status_code} {answer.text[:200]}")
        return orjson.loads(answer.content) if answer.content else None

    @property
    @abstractmethod
    def _headers(self) -> dict[str, str]: ...

    def _owner(self) -> str:
        self._turn += 1
        return self._owners[self._turn % len(self._owners)]


class Salesforce(Crm):
    def __init__(self, url: str) -> None:
        super().__init__(SALESFORCE, url)
        self._token = ""
        self._base = f"/services/data/v{VERSION}"

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}", "Sforce-Auto-Assign": "FALSE"}

    async def open(self) -> None:
        form = {"grant_type": "client_credentials", "client_id": "crmsim-client", "client_secret": SECRET}
        answer = await self._http.post("/services/oauth2/token", data=form)
        self._token = answer.raise_for_status().json()["access_token"]
        names = ", ".join(f"'{name}'" for name in REPS)
        users = await self._query(f"SELECT Id FROM User WHERE Name IN ({names})")  # noqa: S608
        self._owners = [row["Id"] for row in users]

    async def _query(self, soql: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self._ask("GET", f"{self._base}/query", q=soql))["records"]
        return found

    async def find(self, email: str) -> str | None:
        return (await self.find_all([email])).get(email.casefold())

    async def find_all(self, emails: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for part in parts(emails, 250):  # some 12,000 of the 16,384 bytes that an address may have
            words = ", ".join(f"'{email}'" for email in part)
            rows = await self._query(f"SELECT Id, Email FROM Lead WHERE Email IN ({words})")  # noqa: S608
            found |= {row["Email"].casefold(): row["Id"] for row in rows}
        return found

    async def write(self, row: Row) -> None:
        path = f"{self._base}/sobjects/Lead" + (f"/{row.id}" if row.id else "")
        await self._ask("PATCH" if row.id else "POST", path, self._record(row))

    def batches(self, rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
        return parts(rows, SALESFORCE.most)

    async def write_all(self, rows: Sequence[Row]) -> list[Row]:
        """By upsert on the record id: those without one are made."""
        records = [
            {"attributes": {"type": "Lead"}, **self._record(row)} | ({"Id": row.id} if row.id else {}) for row in rows
        ]
        body = {"allOrNone": False, "records": records}
        answer = await self._ask("PATCH", f"{self._base}/composite/sobjects/Lead/Id", body)
        return [row for row, said in zip(rows, answer, strict=True) if not said["success"]]

    def _record(self, row: Row) -> Values:
        told = {name: row.values[own] for own, name in self._fields.items() if own in row.values}
        if row.id is not None:
            return told
        domain = row.email.rpartition("@")[2]
        if domain not in FREE_MAIL:
            told["Account__r"] = {"Fairturn_Key__c": domain}
        return told | {
            "Email": row.email,
            "FirstName": row.values.get("first_name"),
            "LastName": row.values.get("last_name") or "Unknown",
            "Company": row.values.get("company") or "Unknown",
            "OwnerId": self._owner(),
        }


class Hubspot(Crm):
    def __init__(self, url: str) -> None:
        super().__init__(HUBSPOT, url)

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {TOKEN}"}

    async def open(self) -> None:
        reps = {address(name) for name in REPS}
        owners = (await self._ask("GET", "/crm/v3/owners"))["results"]
        self._owners = [row["id"] for row in owners if row["email"] in reps]

    async def find(self, email: str) -> str | None:
        body = {
            "filterGroups": [{"filters": [{"propertyName": "email", "operator": "EQ", "value": email}]}],
            "limit": 1,
        }
        found = (await self._ask("POST", "/crm/v3/objects/contacts/search", body))["results"]
        return found[0]["id"] if found else None

    async def find_all(self, emails: Sequence[str]) -> dict[str, str]:
        """By batch/read: it sees what is there, and has no limit of its own as the search has."""
        found: dict[str, str] = {}
        for part in parts(emails, 100):
            inputs = [{"id": email} for email in part]
            body = {"idProperty": "email", "properties": ["email"], "inputs": inputs}
            rows = (await self._ask("POST", "/crm/v3/objects/contacts/batch/read", body))["results"]
            found |= {row["properties"]["email"].casefold(): row["id"] for row in rows}
        return found

    async def write(self, row: Row) -> None:
        path = "/crm/v3/objects/contacts" + (f"/{row.id}" if row.id else "")
        await self._ask("PATCH" if row.id else "POST", path, {"properties": self._record(row)})

    def batches(self, rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
        """Known ones apart from new ones: by its address a contact is written whole, not in part.

        https://developers.hubspot.com/docs/api-reference/crm-contacts-v3/guide: "partial upserts are not supported when
        using email as the idProperty".
        """
        yield from parts([row for row in rows if row.id is not None], HUBSPOT.most)
        yield from parts([row for row in rows if row.id is None], HUBSPOT.most)

    async def write_all(self, rows: Sequence[Row]) -> list[Row]:
        known = rows[0].id is not None
        inputs = [
            {"properties": self._record(row), "objectWriteTraceId": row.email}
            | ({"id": row.id} if known else {"id": row.email, "idProperty": "email"})
            for row in rows
        ]
        verb = "update" if known else "upsert"
        answer = await self._ask("POST", f"/crm/v3/objects/contacts/batch/{verb}", {"inputs": inputs})
        traces = [error.get("context", {}).get("objectWriteTraceId", []) for error in answer.get("errors", ())]
        bad = {trace for found in traces for trace in found}
        return [row for row in rows if row.email in bad]

    def _record(self, row: Row) -> Values:
        told: Values = {name: str(row.values[own]) for own, name in self._fields.items() if own in row.values}
        if row.id is not None:
            return told
        own = {"firstname": "first_name", "lastname": "last_name", "company": "company"}
        told |= {name: row.values[of] for name, of in own.items() if row.values.get(of)}
        return told | {"email": row.email, "hubspot_owner_id": self._owner()}


def connect(vendor: str, url: str) -> Crm:
    return Salesforce(url) if vendor == "salesforce" else Hubspot(url)


def parts(values: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), most):
        yield values[start : start + most]


def values_of(told: Mapping[str, Any]) -> Values:
    """What a webhook says of its person."""
    return {name: value for name, value in told.items() if name not in ("id", "email") and value is not None}
