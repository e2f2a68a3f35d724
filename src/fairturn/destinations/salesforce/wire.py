"""One request to Salesforce and its answer: session, time, calls and quota. What is asked is others' business.

Composite: several requests in one call
https://developer.salesforce.com/docs/platform/api-rest/guide/resources-composite-composite.html
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self
from urllib.parse import quote

import httpx2
import orjson

from fairturn.destinations.http import NotSent, Reply, exchange
from fairturn.destinations.salesforce.auth import Login, Session
from fairturn.destinations.salesforce.decode import Problem, problems_of
from fairturn.destinations.salesforce.limits import limit_pause, usage
from fairturn.errors import DestinationError, WrongOrg

LIMIT: Final = "REQUEST_LIMIT_EXCEEDED"
QUERIES: Final = 5  # query-like subrequests of one Composite
PAGES: Final = 50  # of one question, of 2,000 records each
# Absent means TRUE: the org's assignment rules would replace the owner that we send.
NO_RULES: Final[Mapping[str, str]] = {"Sforce-Auto-Assign": "FALSE"}
# Duplicate rules that allow a record all the same let it pass; those that block it still refuse it.
SAVE_ALIKE: Final[Mapping[str, str]] = {"Sforce-Duplicate-Rule-Header": "allowSave=true"}


@dataclass(slots=True)
class Run:
    """The time of one piece of work, and what it has cost so far."""

    ends: float  # monotonic
    calls: int = 0
    usage: tuple[int, int] | None = None

    @classmethod
    def of(cls, seconds: float) -> Self:
        return cls(asyncio.get_running_loop().time() + seconds)

    def left(self) -> float:
        return self.ends - asyncio.get_running_loop().time()


@dataclass(frozen=True, slots=True)
class Part:
    """One request of a Composite."""

    method: str
    path: str  # from the root: /services/data/v62.0/query?q=...
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class Wire:
    """Shared by all that speaks with one org."""

    def __init__(self, client: httpx2.AsyncClient, login: Login, *, name: str, version: str) -> None:
        self._client = client
        self._login = login
        self._name = name
        self._root = f"/services/data/v{version.removeprefix('v')}"
        self._org: str | None = None
        self.user: str | None = None  # whose session it is

    def path(self, rest: str) -> str:
        return f"{self._root}/{rest}"

    async def session(self, run: Run, stale: Session | None = None) -> Session:
        """Raises LoginRefused, WrongOrg, NotSent."""
        session = await self._login.session(run.left(), stale)
        if self._org is None:
            self._org = session.org
        if session.org != self._org:
            raise WrongOrg(f"Destination {self._name} wrote to org {self._org}, and now org {session.org} answers")
        self.user = session.user
        return session

    async def send(self, run: Run, part: Part) -> Reply:
        """A request, and once more after a renewed login: a session that is refused again is the answer.

        Raises NotSent, NoAnswer, LoginRefused, WrongOrg.
        """
        session = await self.session(run)
        reply = await self._once(run, part, session)
        if not expired(reply):
            return reply
        session = await self.session(run, stale=session)
        return await self._once(run, part, session)

    async def composite(self, run: Run, parts: Sequence[Part]) -> list[Reply]:
        """Their answers in order. One that the answer does not mention has status 0; where the whole request was
        refused, its answer is that of each.
        """
        body = {
            "allOrNone": False,
            "compositeRequest": [
                {"method": part.method, "url": part.path, "referenceId": f"part{place}"}
                | ({"body": part.body} if part.body is not None else {})
                | ({"httpHeaders": dict(part.headers)} if part.headers else {})
                for place, part in enumerate(parts)
            ],
        }
        headers = {name: value for part in parts for name, value in part.headers.items()}
        reply = await self.send(run, Part("POST", self.path("composite"), body, headers))
        if reply.status != 200:
            return [reply] * len(parts)
        found = {row["referenceId"]: row for row in _rows(reply.body)}
        return [_part(found.get(f"part{place}")) for place in range(len(parts))]

    async def ask(self, run: Run, questions: Sequence[str]) -> list[list[dict[str, Any]] | Problem]:
        """The rows of each SOQL question, all pages, or why it was refused. Raises DestinationError for an outage."""
        found: list[list[dict[str, Any]] | Problem] = []
        for start in range(0, len(questions), QUERIES):
            some = questions[start : start + QUERIES]
            parts = [Part("GET", self.path(f"query?q={quote(soql, safe='')}")) for soql in some]
            found += [await self._pages(run, reply) for reply in await self.composite(run, parts)]
        return found

    async def _pages(self, run: Run, reply: Reply) -> list[dict[str, Any]] | Problem:
        rows: list[dict[str, Any]] = []
        for _ in range(PAGES):
            body = parsed(reply.body)
            if reply.status != 200 or not isinstance(body, dict) or not isinstance(body.get("records"), list):
                return self._refusal(reply, body)
            rows += [row for row in body["records"] if isinstance(row, dict)]
            further = body.get("nextRecordsUrl")
            if body.get("done", True) or not isinstance(further, str):
                return rows
            if not further.startswith("/services/data/"):
                raise DestinationError(f"Destination {self._name} names a next page that is not its own")
            reply = await self.send(run, Part("GET", further))
        raise DestinationError(f"Destination {self._name} has no end of records for a question; nobody has so many")

    def _refusal(self, reply: Reply, body: Any) -> Problem:
        """400s are about the question; anything else is an outage, or our access as a whole."""
        problems = problems_of(body)
        first = problems[0] if problems else Problem(f"HTTP_{reply.status}", f"HTTP {reply.status} without a reason")
        if reply.status == 400 or (reply.status in (403, 404) and first.code.startswith(("INVALID_", "INSUFFICIENT_"))):
            return first
        after = limit_pause(first.message) if first.code == LIMIT else None
        raise DestinationError(
            f"Destination {self._name} does not answer the question: {first.code}: {first.words}", after
        )

    async def _once(self, run: Run, part: Part, session: Session) -> Reply:
        if run.left() <= 0:
            raise NotSent("no time was left for this request")
        request = self._client.build_request(
            part.method,
            session.base.join(part.path),
            content=None if part.body is None else orjson.dumps(part.body),
            headers={
                "Authorization": f"Bearer {session.token}",
                "Accept": "application/json",
                **({} if part.body is None else {"Content-Type": "application/json; charset=UTF-8"}),
                **part.headers,
            },
        )
        run.calls += 1
        reply = await exchange(self._client, request, run.left())
        run.usage = usage(reply.headers.get("sforce-limit-info")) or run.usage
        return replace(reply, body=self._login.clean(reply.body, session))


def expired(reply: Reply) -> bool:
    if reply.status == 401:
        return True
    problems = problems_of(parsed(reply.body)) if reply.status != 200 else ()
    return bool(problems) and problems[0].code == "INVALID_SESSION_ID"


def parsed(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def _rows(body: bytes) -> list[dict[str, Any]]:
    found = parsed(body)
    rows = found.get("compositeResponse") if isinstance(found, dict) else None
    return [row for row in rows if isinstance(row, dict) and "referenceId" in row] if isinstance(rows, list) else []


def _part(row: dict[str, Any] | None) -> Reply:
    if row is None or not isinstance(row.get("httpStatusCode"), int):
        return Reply(0, {}, b"")
    return Reply(row["httpStatusCode"], {}, orjson.dumps(row.get("body")))
