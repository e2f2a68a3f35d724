"""Questions to one HubSpot account, and what a refusal of one means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fairturn.destinations.http import Reply
from fairturn.destinations.hubspot.decode import body_of
from fairturn.destinations.hubspot.door import Door, Tally, tally
from fairturn.destinations.hubspot.problems import Problem, problems_of
from fairturn.errors import DestinationError, LoginRefused

# What the app must be allowed, and what for.
SCOPES: Final[Mapping[str, str]] = {
    "crm.objects.contacts.read": "to see who is there already",
    "crm.objects.contacts.write": "to write contacts",
    "crm.objects.owners.read": "to find owners by their e-mail, and to see who is deactivated",
    "crm.schemas.contacts.read": "to compare the map with the properties",
}
PAGES: Final = 100
# The menu that private apps moved to in 2026; in older accounts: Settings, Integrations, Private Apps.
WHERE: Final = "Development, Legacy apps, the app, Scopes"


class Asks:
    """`seconds` for each question."""

    def __init__(self, door: Door, seconds: float) -> None:
        self.door = door
        self._seconds = seconds
        self.last: Tally | None = None  # of the newest question: what its answer told of limits

    async def send(
        self, method: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[Reply, dict[str, Any]]:
        """2xx and 4xx with their body; raises DestinationError for an outage, a limit, or a token that is refused."""
        self.last = run = tally(self._seconds)
        reply = await self.door.call(run, method, path, body, query)
        found = body_of(reply) or {}
        if reply.status == 401:
            raise LoginRefused(f"HubSpot refuses the token of destination {self.door.name}: {words(found)}")
        if reply.status in (423, 429, 477) or reply.status >= 500:
            raise DestinationError(f"HubSpot answered {reply.status} to {method} {path}: {words(found)}")
        return reply, found

    async def ask(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any] | Problem:
        reply, body = await self.send("GET", path, query=query)
        return body if reply.status < 300 else problem_of(body)

    async def all(self, path: str, query: Mapping[str, str]) -> list[dict[str, Any]] | Problem:
        """The results of every page."""
        found: list[dict[str, Any]] = []
        asked = dict(query)
        for _ in range(PAGES):
            body = await self.ask(path, asked)
            if isinstance(body, Problem):
                return body
            rows = body.get("results")
            found += [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
            after = following(body)
            if after is None or after == asked.get("after"):
                break
            asked["after"] = after
        return found


def following(body: Mapping[str, Any]) -> str | None:
    paging = body.get("paging")
    after = paging.get("next") if isinstance(paging, dict) else None
    return str(after["after"]) if isinstance(after, dict) and after.get("after") else None


def problem_of(body: Mapping[str, Any]) -> Problem:
    return problems_of(body)[0]


def words(body: Mapping[str, Any]) -> str:
    return problem_of(body).words if body else "without a reason"


def lacks_scope(problem: Problem) -> bool:
    return "MISSING_SCOPES" in (problem.code, problem.category)
