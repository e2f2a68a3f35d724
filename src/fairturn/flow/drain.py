"""The station between two journals: what the door made durable elsewhere moves into PostgreSQL, in order of arrival.

An entry goes only after the commit of what is in it, and a request that comes twice is one row: a worker killed in
between costs a repetition, never an event. One process at a time does it, since a second would store the same again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

import structlog

from fairturn.errors import Contended, FairturnError, StoreError, StoreUnavailable, Unstorable
from fairturn.flow.accept import weight
from fairturn.model import Arrival
from fairturn.ports import Entry, Inbox, Journal, Sole

log = structlog.get_logger(__name__)
POLL: Final = 1.0  # seconds that one look waits for entries, and that a second process waits for its turn
OUTAGE: Final = 0.5  # seconds before the next try when a store is away
EVENTS: Final = 2000  # in one commit
BYTES: Final = 8 * 1_048_576

Pair = tuple[Entry, Arrival]


class Drain:
    """Any number of processes may run one."""

    def __init__(self, inbox: Inbox, journal: Journal, sole: Sole) -> None:
        self._inbox = inbox
        self._journal = journal
        self._sole = sole
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Until `stop`. Never raises for what a store does: an outage is waited out."""
        while not self._stopping.is_set():
            try:
                if await self._sole.held():
                    await self.step(POLL)
                else:
                    await self._pause(POLL)
            except StoreUnavailable as error:
                log.warning("drain.store_unavailable", error=str(error))
                await self._pause(OUTAGE)
            except FairturnError as error:
                log.error("drain.failed", error=str(error))  # noqa: TRY400  our own words are all there is to it
                await self._pause(POLL)

    def stop(self) -> None:
        self._stopping.set()

    async def step(self, wait: float) -> int:
        """Moves the oldest entries. Returns how many there were; none after `wait` seconds without any."""
        entries = await self._inbox.take(wait)
        for load in loads(entries):
            bad = [(entry, None, "it is no entry of Fairturn's") for entry in load if entry.arrivals is None]
            stored = await self._store([(entry, one) for entry in load for one in entry.arrivals or ()])
            problems = [*bad, *stored]
            kept = {entry.id for entry, _, _ in problems}
            # Those that are stored go first: a full Valkey has room for the others then.
            await self._inbox.settle([entry for entry in load if entry.id not in kept])
            for entry, arrival, problem in problems:
                log.error("drain.set_aside", entry=entry.id, source=arrival and arrival.source, problem=problem)
                await self._inbox.set_aside(entry, arrival, problem)
            await self._inbox.settle([entry for entry in load if entry.id in kept])
        return len(entries)

    async def _store(self, pairs: Sequence[Pair]) -> list[tuple[Entry, Arrival | None, str]]:
        """Those that PostgreSQL cannot hold at all. A commit that fails is halved until the bad one stands alone."""
        if not pairs:
            return []
        try:
            await self._append([arrival for _, arrival in pairs])
            return []
        except Unstorable as error:
            fault: Exception = error
        except StoreError:
            raise  # the store's trouble, not the requests': they wait
        except Exception as error:  # noqa: BLE001  # whatever one request did to us, its neighbours must not wait
            fault = error
        if len(pairs) > 1:
            half = len(pairs) // 2
            return [*await self._store(pairs[:half]), *await self._store(pairs[half:])]
        # Not the message of a foreign error: it may quote the row.
        problem = str(fault) if isinstance(fault, FairturnError) else type(fault).__name__
        ((entry, arrival),) = pairs
        return [] if await self._quarantined(arrival, problem) else [(entry, arrival, problem)]

    async def _quarantined(self, arrival: Arrival, problem: str) -> bool:
        """Its bytes where a person finds them, among the other events that could not be taken; False: not even that."""
        try:
            await self._append([quarantined(arrival, problem)])
        except Unstorable:
            return False
        except StoreError:
            raise
        except Exception:  # noqa: BLE001  # as above
            return False
        log.error("drain.quarantined", source=arrival.source, problem=problem)
        return True

    async def _append(self, arrivals: Sequence[Arrival]) -> None:
        for _ in range(3):
            with suppress(Contended):
                return await self._journal.append(arrivals)
        return await self._journal.append(arrivals)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()


def loads(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Entries in their order, as many as one commit should hold."""
    load: list[Entry] = []
    events = size = 0
    for entry in entries:
        more = sum(len(arrival.items) for arrival in entry.arrivals or ())
        bytes_more = sum(weight(arrival) for arrival in entry.arrivals or ())
        if load and (events + more > EVENTS or size + bytes_more > BYTES):
            yield load
            load, events, size = [], 0, 0
        load.append(entry)
        events += more
        size += bytes_more
    if load:
        yield load


def quarantined(arrival: Arrival, problem: str) -> Arrival:
    """The same request with nothing in it that a text could break, each event with the problem."""
    said = f"could not be stored: {problem}"[:1000]
    items = tuple(replace(item, body=None, marks=(), problem=item.problem or said) for item in arrival.items)
    shown = arrival.content_type.encode("ascii", "replace").decode().replace("\0", "?")
    return replace(arrival, content_type=shown, items=items)
