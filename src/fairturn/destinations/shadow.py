"""A CRM that nothing is sent to: it needs no login, and tells what would be sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fairturn.errors import DestinationError
from fairturn.model import Answer, Batch, LookUp, Outgoing, Refused

Draft = Callable[[Outgoing], Mapping[str, object] | Refused]


class Shadow:
    """Implements ports.Destination for `mode = "shadow"`: its records are drafted as the settings say, none leaves."""

    def __init__(self, draft: Draft, *, name: str) -> None:
        self._draft = draft
        self._name = name

    def draft(self, records: Sequence[Outgoing]) -> Mapping[str, Mapping[str, object] | Refused]:
        return {record.key: self._draft(record) for record in records}

    async def write(self, batch: Batch) -> Answer:
        raise DestinationError(f"Destination {self._name} runs in shadow mode: batch {batch.id} was not sent")

    async def look_up(self, emails: Sequence[str], seconds: float) -> LookUp:  # noqa: ARG002  # the port names them
        """Knows nobody."""
        return LookUp((), calls=0)

    async def org(self) -> None:
        """Nobody was asked."""

    async def close(self) -> None:
        """Nothing to close."""
