"""One contact, made as Fairturn makes them, given away, found again by its key, and deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fairturn.config import MapTo
from fairturn.destinations.hubspot.rows import EMAIL, OWNER
from fairturn.destinations.hubspot.survey.asks import SCOPES, WHERE, Asks, lacks_scope, problem_of, words
from fairturn.destinations.surveying import Notes
from fairturn.errors import DestinationError

PATH: Final = "/crm/v3/objects/contacts"
LABEL: Final = "Fairturn Probe"
SUBJECT: Final = "probe"
WRITE: Final = "crm.objects.contacts.write"


class Probe:
    """`key`: the value of our unique property, new for each probe."""

    def __init__(self, asks: Asks, external_id: str, key: str) -> None:
        self._asks = asks
        self._external_id = external_id
        self._key = key
        self._made: set[str] = set()

    async def run(self, notes: Notes, properties: Mapping[str, str], owner: str | None) -> None:
        """Raises DestinationError for an outage, after it has cleaned up as far as it could."""
        try:
            await self._walk(notes, properties, owner)
        finally:
            await self._clean_up(notes)

    async def _walk(self, notes: Notes, properties: Mapping[str, str], owner: str | None) -> None:
        made = await self._upsert(notes, properties, "HubSpot refuses a new contact")
        if made is None:
            return
        notes.ok(SUBJECT, f"contact {made} was made")
        if owner is None:
            notes.warning(SUBJECT, "nobody was there to give it to", "Correct the reps, and probe again")
        elif not await self._give_away(notes, made, owner):
            return
        again = await self._upsert(notes, {"lastname": f"{LABEL} 2"}, "a second try is refused")
        if again == made:
            notes.ok(SUBJECT, f"updated, and found again by {self._external_id}")
        elif again is not None:
            sentence = f"a second try by {self._external_id} made a second contact, {again}"
            notes.error(SUBJECT, sentence, "The property has to require unique values")

    async def _upsert(self, notes: Notes, properties: Mapping[str, str], refused: str) -> str | None:
        """As every write goes. The contact's id."""
        by = self._external_id
        values = dict(properties) if by == EMAIL else {**properties, by: self._key}
        entry = {"id": self._key, "idProperty": by, "properties": values, "objectWriteTraceId": self._key}
        reply, body = await self._asks.send("POST", f"{PATH}/batch/upsert", {"inputs": [entry]})
        rows = body.get("results")
        row = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}
        if reply.status < 300 and row.get("id"):
            self._made.add(str(row["id"]))
            return str(row["id"])
        errors = body.get("errors")
        first = errors[0] if reply.status < 300 and isinstance(errors, list) and errors else body
        problem = problem_of(first if isinstance(first, dict) else body)
        remedy = f"{WHERE}: tick {WRITE}" if lacks_scope(problem) else "Correct the map, or what refuses it"
        notes.error(SUBJECT, f"{refused}: {problem.code}: {problem.words}", remedy)
        return None

    async def _give_away(self, notes: Notes, made: str, owner: str) -> bool:
        reply, body = await self._asks.send("PATCH", f"{PATH}/{made}", {"properties": {OWNER: owner}})
        if reply.status >= 300:
            notes.error(SUBJECT, f"it could not be given to owner {owner}: {words(body)}", "Settings, Users & Teams")
            return True
        reply, body = await self._asks.send("GET", f"{PATH}/{made}", query={"properties": OWNER})
        values = body.get("properties")
        if reply.status >= 300 or not isinstance(values, dict):
            sentence = f"given to owner {owner}, it is not seen any more: {words(body)}"
            notes.error(SUBJECT, sentence, f"{WHERE}: tick {next(iter(SCOPES))}")
            return False
        if str(values.get(OWNER)) != owner:
            sentence = f"given to owner {owner}, it belongs to {values.get(OWNER)}: something in HubSpot gives it on"
            notes.error(SUBJECT, sentence, "Look for workflows that rotate or set the contact's owner")
            return True
        notes.ok(SUBJECT, f"given to owner {owner}, and still seen")
        return True

    async def _clean_up(self, notes: Notes) -> None:
        """Whatever bears our key goes, also what an answer that got lost may have made."""
        try:
            for contact in sorted(self._made | await self._found()):
                reply, body = await self._asks.send("DELETE", f"{PATH}/{contact}")
                if reply.status in (204, 404):
                    notes.ok(SUBJECT, f"contact {contact} was deleted")
                else:
                    remedy = f"Delete contact {contact} ({LABEL}) yourself"
                    notes.warning(SUBJECT, f"it could not be deleted and is still there: {words(body)}", remedy)
        except DestinationError as error:
            where = f"Search HubSpot for {self._key} and delete it"
            notes.warning(SUBJECT, f"it may still be there, since the CRM did not answer: {error}", where)

    async def _found(self) -> set[str]:
        if self._made:
            return set()
        body = {"idProperty": self._external_id, "properties": [EMAIL], "inputs": [{"id": self._key}]}
        _, answer = await self._asks.send("POST", f"{PATH}/batch/read", body)
        rows = answer.get("results")
        return {str(row["id"]) for row in rows if isinstance(row, dict)} if isinstance(rows, list) else set()


def probe_properties(mapping: Mapping[str, MapTo]) -> dict[str, str]:
    """Constants and defaults of the map, as on every lead; names that say what it is."""
    found: dict[str, str] = {}
    for name, way in mapping.items():
        value: Any = way.value if way.value is not None else way.default
        if value is not None and name != EMAIL:
            found[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return {**found, "lastname": LABEL}
