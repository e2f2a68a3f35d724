"""One request on its way through the simulator: what every handler gets."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from crmsim.evidence import Entry
from crmsim.faults import Fault
from crmsim.salesforce import answers
from crmsim.salesforce.answers import ApiError
from crmsim.salesforce.schema import Sobject
from crmsim.salesforce.state import Salesforce
from crmsim.salesforce.transaction import Transaction
from crmsim.wire import Answer, Call


@dataclass(slots=True)
class Exchange:
    """`user` is the 18-character id of the session's user, empty before the session is checked.

    `transaction`: the one that this request is a part of; None: its writes are one of their own. `part`: it travels in
    another request. `subrequest` is how the door answers one that travels in this.
    """

    sim: Salesforce
    call: Call
    entry: Entry
    fault: Fault | None
    version: str = ""
    user: str = ""
    transaction: Transaction | None = None
    part: bool = False
    subrequest: Callable[["Exchange", Call, Transaction | None], Awaitable[Answer]] | None = None

    def json_body(self) -> dict[str, Any]:
        media = (self.call.header("content-type") or "").partition(";")[0].strip().lower()
        if media != "application/json":
            raise ApiError(
                415,
                "UNSUPPORTED_MEDIA_TYPE",
                f"Content-Type header specified in HTTP request is not supported: {media or 'none'}",
            )
        body = answers.parse_json(self.call.body)
        if not isinstance(body, dict):
            raise ApiError(400, "JSON_PARSER_ERROR", "The HTTP entity body must be a JSON object")
        return body

    def sobject(self, name: str) -> Sobject:
        found = self.sim.org.sobject(name)
        if found is None or found.name in self.sim.switches.hidden_objects:
            raise ApiError(404, "NOT_FOUND", "The requested resource does not exist")
        self.entry.object = found.name
        return found

    def since(self, version: float) -> None:
        """Raises ApiError: the resource is younger than the version asked for."""
        if float(self.version) < version:
            raise ApiError(404, "NOT_FOUND", "The requested resource does not exist")

    def record_path(self, sobject: Sobject, id18: str) -> str:
        return f"/services/data/v{self.version}/sobjects/{sobject.name}/{id18}"

    async def rest(self, seconds: float) -> None:
        """The pause of a fault: its simulated seconds, or until somebody releases it."""
        self.sim.evidence.bell.ring()
        await self.sim.gate.rest(self.sim.clock.real(seconds))
