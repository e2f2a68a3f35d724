"""One record, made as Fairturn makes them, given away, updated, and deleted: what no description of an org can tell.

Above all whether a record that was given to somebody else is still seen: in an org with private sharing it is not,
unless the integration user has View All and Modify All on the object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fairturn.destinations.http import Reply
from fairturn.destinations.salesforce.decode import problems_of
from fairturn.destinations.salesforce.objects import CONTACT, LEAD
from fairturn.destinations.salesforce.soql import among, select
from fairturn.destinations.salesforce.wire import Part, Run, Wire, parsed
from fairturn.destinations.surveying import Notes
from fairturn.errors import DestinationError

LABEL: Final = "Fairturn Probe"
SUBJECT: Final = "probe"
VIEW_ALL: Final = (
    "Setup, Permission Sets, the integration user's, Object Settings, {name}: tick View All Records and Modify All "
    "Records; or share the reps' records with the integration user"
)
DEPLOYED: Final = "Give the integration user the permission set Fairturn_Private_Sharing of examples/salesforce; or "


class Probe:
    """Of one object. key: the value of our external id, new for each probe. headers: as every write has them."""

    def __init__(
        self, wire: Wire, sobject: str, external_id: str, key: str, headers: Mapping[str, str], seconds: float
    ) -> None:
        self._wire = wire
        self._object = sobject
        self._external_id = external_id
        self._key = key
        self._headers = headers
        self._seconds = seconds
        self._made: set[str] = set()

    async def run(self, notes: Notes, record: Mapping[str, object], rep: str | None) -> None:
        """record: as the map would make it. rep: the user to give it to, another than ourselves.

        Raises DestinationError for an outage, after it has cleaned up as far as it could.
        """
        try:
            await self._walk(notes, record, rep)
        finally:
            await self._clean_up(notes)

    async def _walk(self, notes: Notes, record: Mapping[str, object], rep: str | None) -> None:
        made = await self._send("POST", "", {**record, self._external_id: self._key})
        body = parsed(made.body)
        if made.status != 201 or not isinstance(body, dict):
            sentence = f"Salesforce refuses a new {self._object}: {said(made)}"
            notes.error(SUBJECT, sentence, "Correct the map, or what refuses it; nothing was made")
            return
        record_id = str(body.get("id"))
        self._made.add(record_id)
        notes.ok(SUBJECT, f"{self._object} {record_id} was made")
        if rep is None:
            notes.warning(SUBJECT, "nobody was there to give it to", "Correct the reps, and probe again")
        elif not await self._give_away(notes, record_id, rep):
            return
        await self._update(notes, record_id)

    async def _give_away(self, notes: Notes, record_id: str, rep: str) -> bool:
        """Whether it can be worked on from there."""
        given = await self._send("PATCH", record_id, {"OwnerId": rep})
        if given.status != 204:
            remedy = f"Setup, Permission Sets, the integration user's: Transfer {self._object}s, or Modify All Records"
            notes.error(SUBJECT, f"it could not be given to user {rep}: {said(given)}", remedy)
            return True
        seen = await self._send("GET", f"{record_id}?fields=Id,OwnerId")
        body = parsed(seen.body)
        if seen.status != 200 or not isinstance(body, dict) or not await self._is_found():
            sentence = (
                f"given to user {rep}, it is not seen any more: later news of such a lead could not be written, and "
                "people who are there already would not be found"
            )
            notes.error(SUBJECT, sentence, self._view_all())
            return False
        if str(body.get("OwnerId"))[:15] != rep[:15]:
            sentence = f"given to user {rep}, it belongs to {body.get('OwnerId')}: something in the org gives it on"
            notes.error(SUBJECT, sentence, "Look for flows and triggers that set the owner, and let this user pass")
            return True
        notes.ok(SUBJECT, f"given to user {rep}, and still seen")
        return True

    def _view_all(self) -> str:
        ready = DEPLOYED if self._object in (LEAD, CONTACT) else ""
        return ready + VIEW_ALL.format(name=self._object)

    async def _is_found(self) -> bool:
        """By a query, which a look-up is."""
        return bool(await self._query())

    async def _update(self, notes: Notes, record_id: str) -> None:
        """By its id, and by our key as a retry would."""
        changed = await self._send("PATCH", record_id, {"LastName": f"{LABEL} 2"})
        if changed.status != 204:
            notes.error(SUBJECT, f"it could not be updated: {said(changed)}", self._view_all())
            return
        body = {
            "allOrNone": False,
            "records": [{"attributes": {"type": self._object}, self._external_id: self._key, "LastName": f"{LABEL} 3"}],
        }
        path = self._wire.path(f"composite/sobjects/{self._object}/{self._external_id}")
        again = await self._wire.send(self._time(), Part("PATCH", path, body, self._headers))
        rows = parsed(again.body)
        row = rows[0] if again.status == 200 and isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}
        if row.get("success") is True and isinstance(row.get("id"), str):
            self._made.add(row["id"])
        if str(row.get("id"))[:15] != record_id[:15]:
            words = said(again) if not row else f"{row}"[:300]
            remedy = f"See what is said of {self._object}.{self._external_id} above"
            notes.error(SUBJECT, f"a second try by {self._external_id} does not find it: {words}", remedy)
            return
        notes.ok(SUBJECT, "updated by its id, and found again by its key")

    async def _clean_up(self, notes: Notes) -> None:
        """Whatever bears our key goes, also what an answer that got lost may have made."""
        try:
            found = self._made | {str(row.get("Id")) for row in await self._query()}
            for record_id in sorted(found):
                await self._delete(notes, record_id)
        except DestinationError as error:
            where = f"Search Salesforce for {self._key} and delete it"
            notes.warning(SUBJECT, f"it may still be there, since the CRM did not answer: {error}", where)

    async def _delete(self, notes: Notes, record_id: str) -> None:
        gone = await self._send("DELETE", record_id)
        codes = [problem.code for problem in problems_of(parsed(gone.body))]
        if gone.status == 204 or "ENTITY_IS_DELETED" in codes:  # another 404 may mean that it is not ours to see
            notes.ok(SUBJECT, f"{self._object} {record_id} was deleted")
            return
        remedy = f"Delete {self._object} {record_id} ({LABEL}) yourself: only the probe needs the right to delete"
        notes.warning(SUBJECT, f"it could not be deleted and is still there: {said(gone)}", remedy)

    async def _query(self) -> list[dict[str, Any]]:
        question = select(("Id",), self._object, among(self._external_id, [self._key]))
        [answer] = await self._wire.ask(self._time(), [question])
        return answer if isinstance(answer, list) else []

    async def _send(self, method: str, rest: str, body: Mapping[str, Any] | None = None) -> Reply:
        path = self._wire.path(f"sobjects/{self._object}/{rest}".rstrip("/"))
        headers = {} if method == "GET" else self._headers
        return await self._wire.send(self._time(), Part(method, path, body, headers))

    def _time(self) -> Run:
        return Run.of(self._seconds)


def said(reply: Reply) -> str:
    problems = problems_of(parsed(reply.body))
    return f"{problems[0].code}: {problems[0].words}" if problems else f"HTTP {reply.status}"
