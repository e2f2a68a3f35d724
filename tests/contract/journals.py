"""The two journals, as one thing to test: what is appended, and what brings it into PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairturn.decide.splitting import Limits, split
from fairturn.flow.drain import Drain
from fairturn.model import Arrival
from fairturn.ports import Entry, Journal
from fairturn.stores.postgres.journal import PostgresJournal
from fairturn.stores.valkey.entries import Stream, ValkeyInbox
from fairturn.stores.valkey.journal import ValkeyJournal
from fairturn.stores.valkey.link import Link

STREAM = Stream("fairturn")


def arrival(body: bytes, source: str = "form") -> Arrival:
    return split(source, "batch", "application/json", body, Limits())


class Always:
    """Nobody else drains."""

    async def held(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Kept:
    journal: Journal
    inbox: ValkeyInbox | None = None
    into: PostgresJournal | None = None

    async def append(self, *arrivals: Arrival) -> None:
        await self.journal.append(arrivals)

    async def stored(self) -> int:
        """Everything is in PostgreSQL now: how many entries were not yet."""
        moved = 0
        if self.inbox is not None and self.into is not None:
            drain = Drain(self.inbox, self.into, Always())
            while more := await drain.step(0.001):
                moved += more
        return moved

    async def taken(self) -> Sequence[Entry]:
        assert self.inbox is not None
        return await self.inbox.take(0.001)


def before(into: PostgresJournal, links: Sequence[Link]) -> Kept:
    """Valkey before PostgreSQL; three links."""
    one, two, three = links
    inbox = ValkeyInbox(three, STREAM, max_body=1_048_576)
    return Kept(ValkeyJournal(one, two, STREAM, into), inbox, into)
