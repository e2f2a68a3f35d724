"""The worker's side: the oldest entries, until they are in PostgreSQL.

No consumer group. Whatever is in the stream is still to be done, whoever reads it: nothing is claimed, so nothing can
be claimed by the dead, and a reader that was killed leaves no trace. docs/decisions/0023
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from fairturn.model import Arrival
from fairturn.ports import Entry
from fairturn.stores.valkey.link import PATIENCE, Command, Link
from fairturn.stores.valkey.packing import ENTRY, Damaged, pack, unpack

HELD: Final = 128 * 1_048_576  # bytes of bodies that one read may bring, if each entry is as long as may be
START: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Stream:
    """The keys of one installation."""

    key: str

    @property
    def total(self) -> str:
        """A count: events ever appended."""
        return f"{self.key}:total"

    @property
    def aside(self) -> str:
        """A stream: entries that PostgreSQL cannot hold, for a person."""
        return f"{self.key}:aside"


class ValkeyInbox:
    """Implements ports.Inbox. max_body: bytes of the longest request that the door takes."""

    def __init__(self, link: Link, stream: Stream, *, max_body: int) -> None:
        self._link = link
        self._stream = stream
        self._most = max(1, HELD // max(ENTRY, max_body))
        self._last = self._settled = START  # of the times given; of those that are in PostgreSQL

    async def take(self, wait: float) -> Sequence[Entry]:
        block = max(1, int(1000 * wait))
        read = ("XREAD", "COUNT", self._most, "BLOCK", block, "STREAMS", self._stream.key, "0")
        (found,) = await self._link.call(read, patience=wait + PATIENCE)
        self._last = self._settled  # read again, they are as old as before
        entries = []
        for name, raw in found[0][1] if found else ():
            entries.append(self._entry(name, raw))
            await asyncio.sleep(0)  # hundreds of events each: leases are renewed in between
        return entries

    def _entry(self, name: bytes, raw: list[bytes]) -> Entry:
        fields = fields_of(raw)
        try:
            arrivals = unpack(fields[b"h"], fields[b"b"])
        except (Damaged, KeyError):
            return Entry(name.decode(), None)
        return Entry(name.decode(), tuple(self._dated(name, arrivals)))

    def _dated(self, name: bytes, arrivals: Sequence[Arrival]) -> Sequence[Arrival]:
        """When they came, to the millisecond; in their order within it, since the latest event of a lead wins."""
        dated = []
        at = came_at(name)
        for arrival in arrivals:
            at = max(at, self._last + MICROSECOND)
            dated.append(replace(arrival, at=at))
            self._last = at + MICROSECOND * max((item.index for item in arrival.items), default=0)
        return dated

    async def settle(self, entries: Sequence[Entry]) -> None:
        if entries:
            await self._link.call(("XDEL", self._stream.key, *(entry.id for entry in entries)))
            self._settled = self._last

    async def set_aside(self, entry: Entry, arrival: Arrival | None, problem: str) -> None:
        if arrival is not None:
            header, bodies = pack([arrival])
            kept: list[Any] = ["h", header, "b", bodies]
        else:
            (found,) = await self._link.call(("XRANGE", self._stream.key, entry.id, entry.id))
            kept = found[0][1] if found else []
        command: Command = ("XADD", self._stream.aside, "*", "was", entry.id, "problem", problem, *kept)
        await self._link.call(command)


def came_at(name: bytes) -> datetime:
    """When the entry of this id was written, by Valkey's clock."""
    return START + timedelta(milliseconds=int(name.partition(b"-")[0]))


def fields_of(raw: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(raw[::2], raw[1::2], strict=False))
