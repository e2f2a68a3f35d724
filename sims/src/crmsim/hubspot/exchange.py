"""One request on its way through the simulator: what every handler gets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crmsim.clock import stamp
from crmsim.evidence import Entry
from crmsim.faults import Fault
from crmsim.hubspot import answers
from crmsim.hubspot.portal import Author, Portal
from crmsim.hubspot.properties import ObjectType
from crmsim.hubspot.state import Hubspot
from crmsim.hubspot.tokens import App
from crmsim.wire import Call

NOBODY = App(0, "", oauth=False)


@dataclass(slots=True)
class Exchange:
    """`app` is nobody before the token is checked. `portal`: the records as they were when the request came; a reset
    meanwhile gives the simulator others, and this request ends in its own.
    """

    sim: Hubspot
    call: Call
    entry: Entry
    fault: Fault | None
    portal: Portal
    app: App = NOBODY

    def body(self) -> dict[str, Any]:
        media = (self.call.header("content-type") or "").partition(";")[0].strip().lower()
        if media != "application/json":
            raise answers.refuse(415, f"Unsupported Media Type: {media or 'none'}")
        return answers.parse_json(self.call.body)

    def inputs(self, most: int = 100) -> list[dict[str, Any]]:
        """The `inputs` of a batch. Raises ApiError for none, too many, or what is no object."""
        found = self.body().get("inputs")
        if not isinstance(found, list):
            raise answers.refuse(
                400,
                "Invalid input JSON on line 1, column 2. Some required fields were not set: [inputs]",
                "VALIDATION_ERROR",
            )
        if not all(isinstance(item, dict) for item in found):
            raise answers.malformed(
                "Cannot deserialize value of type "
                "`com.hubspot.inbounddb.publicobject.core.v2.SimplePublicObjectBatchInput$Json` from Array value "
                "(token `JsonToken.START_ARRAY`)"
            )
        if len(found) > most:
            raise answers.refuse(
                400,
                f"The maximum number of inputs supported in a batch is {most}. Please reduce the number of items and "
                "try again",
                "VALIDATION_ERROR",
            )
        self.entry.records = len(found)
        return found

    def kind(self, name: str) -> ObjectType:
        """The object of a path, by any of its names. Raises ApiError."""
        found = self.portal.kind(name)
        if found is None:
            raise answers.refuse(400, f"Unable to infer object type from: {name}")
        self.entry.object = found.name
        return found

    def author(self) -> Author:
        return Author(self.app.name, "api", self.entry.n, stamp())

    def asked(self, name: str) -> list[str]:
        """A query parameter that may be repeated, or list its values with commas, or both."""
        values = [value for key, value in self.call.pairs if key == name]
        return [part.strip() for value in values for part in value.split(",") if part.strip()]

    def flag(self, name: str) -> bool:
        """A yes or no of the query; HubSpot's Python library says `True`."""
        return self.call.query.get(name, "").lower() == "true"

    async def spend(self, records: int = 0) -> None:
        """The time of a data request, the fault `slow` included."""
        fixed, of_records = self.sim.latency.fixed, records * self.sim.latency.per_record
        if self.entry.kind == "write":
            self.sim.evidence.worked(fixed, of_records)
        await self.sim.clock.sleep(fixed + of_records)
        await self.slow()

    async def slow(self) -> None:
        if self.fault is not None and self.fault.kind == "slow":
            await self.rest(self.fault.seconds)

    async def rest(self, seconds: float) -> None:
        """The pause of a fault: its simulated seconds, or until somebody releases it."""
        self.sim.evidence.bell.ring()
        await self.sim.gate.rest(self.sim.clock.real(seconds))


def paging(call: Call, after: str | None, *, link: bool = True) -> dict[str, Any]:
    """The `paging` of a page that is not the last, as a part of the body."""
    if after is None:
        return {}
    more = {"link": f"{call.base_url}{call.path}?after={after}"} if link else {}
    return {"paging": {"next": {"after": after, **more}}}


def batch(results: Sequence[Any], began: str, ended: str, errors: Sequence[Any] = (), **more: Any) -> dict[str, Any]:
    """The body of a batch."""
    body: dict[str, Any] = {"status": "COMPLETE", "results": list(results), "startedAt": began, "completedAt": ended}
    if errors:
        body |= {"numErrors": len(errors), "errors": list(errors)}
    return body | more
