"""The properties of contacts that Fairturn wants: its key, and what an assignment was. `fairturn crm setup --hubspot`.

POST /crm/v3/properties/contacts
https://developers.hubspot.com/docs/api-reference/crm-properties-v3/guide
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fairturn.config import Destination, Settings
from fairturn.desk import Piece
from fairturn.destinations.hubspot.auth import Credentials
from fairturn.destinations.hubspot.door import Door, tally
from fairturn.destinations.hubspot.encode import sources
from fairturn.destinations.hubspot.problems import CONFLICT, Problem
from fairturn.destinations.hubspot.rows import EMAIL
from fairturn.destinations.hubspot.survey.asks import SCOPES, WHERE, Asks, lacks_scope, problem_of
from fairturn.destinations.hubspot.survey.properties import property_of
from fairturn.errors import DestinationError

PATH: Final = "/crm/v3/properties/contacts"
GROUP: Final = "contactinformation"  # every account has it
MAKING: Final = "crm.schemas.contacts.write"
# assignment field -> label, what it is
ASSIGNMENT: Final[Mapping[str, tuple[str, str]]] = {
    "id": ("Fairturn assignment", "The assignment's own number, as `fairturn why` shows it"),
    "rule": ("Fairturn rule", "The rule that decided who got the lead"),
    "pool": ("Fairturn pool", "The pool whose turn it was"),
    "reason": ("Fairturn reason", "Why this owner"),
    "received_at": ("Fairturn received at", "When the lead came"),
    "assigned_at": ("Fairturn assigned at", "When it was given to its owner"),
}
SINCE: Final = "Fairturn's key of the lead, by which it finds the contact again. Do not change it"


class HubSpotFurnish:
    """Implements desk.Furnish."""

    def __init__(self, name: str, settings: Settings, credentials: Credentials) -> None:
        self._name = name
        self._mine = settings.destinations[name]
        self._seconds = self._mine.request_timeout
        self._door = Door(credentials, name=name, timeout=self._seconds, connections=2)
        self._asks = Asks(self._door, self._seconds)

    def __repr__(self) -> str:
        return f"HubSpotFurnish({self._name!r})"

    @property
    def scopes(self) -> Mapping[str, str]:
        return {**SCOPES, MAKING: "to make the properties with --create; not needed afterwards"}

    async def account(self) -> str:
        return (await self._door.account(tally(self._seconds))).portal

    async def pieces(self) -> Sequence[Piece]:
        answer = await self._asks.ask(PATH)
        if isinstance(answer, Problem):
            raise DestinationError(refused("the properties cannot be read", answer, "crm.schemas.contacts.read"))
        rows = answer.get("results")
        known = {
            one.name: one
            for row in (rows if isinstance(rows, list) else [])
            if isinstance(row, dict)
            for one in [property_of(row)]
        }
        found: list[Piece] = []
        for name, _, what, line in wanted(self._mine):
            there, trouble = known.get(name), ""
            if there is not None and name == self._mine.external_id and not there.unique:
                trouble = (
                    "it does not require unique values, which HubSpot cannot change any more: name another one in "
                    "external_id, and make that"
                )
            found.append(Piece(name, what, there is not None, trouble, line))
        return found

    async def make(self, piece: Piece) -> None:
        label, kind = next((label, kind) for name, (label, kind), _, _ in wanted(self._mine) if name == piece.name)
        body: dict[str, Any] = {
            "name": piece.name, "label": label, "groupName": GROUP, "description": piece.what,
            "type": "datetime" if kind == "time" else "string", "fieldType": "date" if kind == "time" else "text",
            "hasUniqueValue": kind == "key", "formField": False,
        }  # fmt: skip
        reply, answer = await self._asks.send("POST", PATH, body)
        if reply.status < 300:
            return
        problem = problem_of(answer)
        if reply.status == 409 or CONFLICT in (problem.code, problem.category):
            return  # somebody was faster
        raise DestinationError(refused(f"{piece.name} cannot be made", problem, MAKING))

    async def close(self) -> None:
        await self._door.close()


def wanted(mine: Destination) -> Iterator[tuple[str, tuple[str, str], str, str]]:
    """Name, (label, kind), what it is, and the line that the map lacks: the key, then what an assignment was."""
    if mine.external_id != EMAIL:
        yield mine.external_id, ("Fairturn key", "key"), SINCE, ""
    mapped: dict[str, str] = {
        way.assignment: name for name, way in sources(mine.map).items() if way.assignment is not None
    }
    for field, (label, what) in ASSIGNMENT.items():
        name = mapped.get(field, f"fairturn_{'assignment_id' if field == 'id' else field}")
        line = "" if field in mapped else f'{name} = {{ assignment = "{field}" }}'
        yield name, (label, "time" if field.endswith("_at") else "text"), what, line


def refused(what: str, problem: Problem, scope: str) -> str:
    if lacks_scope(problem):
        return f"HubSpot: {what}, because the app does not have the scope {scope}. {WHERE}: tick it"
    return f"HubSpot: {what}: {problem.code}: {problem.words}"
