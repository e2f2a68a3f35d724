"""The door's side: a request is durable once its entry is in the stream's append-only file.

Beside the stream stands a count of all events ever appended, and each entry says how many there were before it. What
waits is the difference between the two: removing an entry writes nothing but its removal, which a full Valkey allows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import structlog

from fairturn.errors import StoreError, StoreUnavailable, Unstorable
from fairturn.model import Arrival, Assigned
from fairturn.ports import Backlog, Journal
from fairturn.stores.valkey.entries import Stream, came_at, fields_of
from fairturn.stores.valkey.link import Command, Link
from fairturn.stores.valkey.packing import grouped, pack

log = structlog.get_logger(__name__)
GLANCE: Final = 1.0  # seconds that PostgreSQL gets to count its share of the backlog


class ValkeyJournal:
    """Implements ports.Journal before `behind`, which tells what became of the events, and need not be there.

    append: nothing is acknowledged unless all of it is durable. Raises StoreUnavailable whatever Valkey said, unless
    it is full (Overloaded) or a request cannot be written (Unstorable): no neighbour is at fault for the rest.
    """

    def __init__(self, appends: Link, asks: Link, stream: Stream, behind: Journal) -> None:
        self._appends = appends
        self._asks = asks  # apart, so that a look need not wait for a disk that is slow
        self._stream = stream
        self._behind = behind
        self._appending = asyncio.Lock()  # an entry says how many events there were before it
        self._total = 0  # events ever appended, as far as we know
        self._known = Backlog(0, None)  # what waited behind when it was last asked

    async def open(self) -> None:
        """Raises UnsafeStore, StoreError or StoreUnavailable: this is no server for a journal, or none at all."""
        promise = await self._appends.promise()
        await self._waiting()
        if not promise.on_reply:
            log.warning("valkey.slow", why="appendfsync is not always: each answer waits for the disk, up to a second")
        if not promise.bounded:
            log.warning("valkey.unbounded", why="maxmemory is not set: a long outage of PostgreSQL fills the machine")

    async def append(self, arrivals: Sequence[Arrival]) -> None:
        async with self._appending:
            await self._append(arrivals)

    async def _append(self, arrivals: Sequence[Arrival]) -> None:
        commands: list[Command] = []
        before = self._total
        for group in grouped([arrival for arrival in arrivals if arrival.items]):
            events = sum(len(arrival.items) for arrival in group)
            header, bodies = pack(group)
            commands.append(("XADD", self._stream.key, "*", "n", events, "t", before, "h", header, "b", bodies))
            before += events
        if not commands:
            return
        commands.append(("INCRBY", self._stream.total, before - self._total))
        with _nobodys_fault():
            *_, total = await self._appends.call(*commands, durable=True)
        self._total = max(self._total, int(total))

    async def backlog(self, limit: int) -> Backlog:
        """Of the stream, and of what is behind it where that answers; else as it last was there."""
        self._appends.doubt()  # once a second, the pace of looks: somebody may set another appendfsync as it runs
        with _nobodys_fault():
            here = await self._waiting()
        try:
            async with asyncio.timeout(GLANCE):
                self._known = await self._behind.backlog(limit)
        except (StoreError, TimeoutError):
            pass
        there = self._known
        oldest = min((at for at in (here.oldest_at, there.oldest_at) if at is not None), default=None)
        return Backlog(min(here.unrouted + there.unrouted, limit), oldest)

    async def results(self, events: Sequence[bytes], source: str | None = None) -> Mapping[bytes, Assigned]:
        return await self._behind.results(events, source)

    async def _waiting(self) -> Backlog:
        found, total = await waiting(self._asks, self._stream)
        self._total = max(self._total, total)  # others append too
        return found


async def waiting(link: Link, stream: Stream) -> tuple[Backlog, int]:
    """What is in the stream, and how many events ever were. An entry that is none of ours counts as one event."""
    entries, total, first = await link.call(
        ("XLEN", stream.key), ("GET", stream.total), ("XRANGE", stream.key, "-", "+", "COUNT", 1)
    )
    ever = int(total or 0)
    if not first:
        return Backlog(0, None), ever
    name, raw = first[0]
    before = int(fields_of(raw).get(b"t", ever))
    return Backlog(max(entries, ever - before), came_at(name)), ever


@contextmanager
def _nobodys_fault() -> Iterator[None]:
    try:
        yield
    except (StoreUnavailable, Unstorable):
        raise
    except StoreError as error:
        log.error("valkey.refused", error=str(error))  # noqa: TRY400  our own words are all there is to it
        raise StoreUnavailable(str(error)) from error
