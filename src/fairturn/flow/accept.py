"""The first station: what arrived becomes durable, many requests in one commit.

While commits run, the requests that come in gather for the next. A group that fails is halved until the bad
request stands alone, so that it never fails its neighbours. The commit belongs to nobody: a caller that hangs up
changes nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

import structlog

from fairturn.errors import Contended, FairturnError, Overloaded, StoreError, StoreUnavailable
from fairturn.model import Arrival, Lane
from fairturn.ports import Journal

log = structlog.get_logger(__name__)
TOO_MUCH = "More arrives than the database stores."


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the door holds in memory and how long it waits for the disk."""

    group_rows: int = 2000  # events in one commit
    group_bytes: int = 8 * 1_048_576
    queue_bytes: int = 64 * 1_048_576  # waiting for their commit; beyond it 503
    queue_requests: int = 20_000
    # At once. With one, the door rests while the database writes, and the database while the door reads and answers.
    commits: int = 2
    few: int = 32  # requests that are not worth a commit beside another
    piece: int = 64  # answered without a look at what comes in: all at once would have all come back at once
    # While many send at once, a group waits this long for those just answered to come back: bigger groups, fewer
    # flushes, and the database leaves the processor to the door. A lone request never waits.
    linger: float = 0.001
    patience: float = 10.0  # seconds for a commit: most senders hang up by then and send again
    look_every: float = 1.0  # seconds between two looks at backlog and disk
    max_unrouted: int = 1_000_000
    min_disk: int = 256  # MiB


Told = Callable[[Overloaded | None], None]  # once: None = durable


@dataclass(slots=True)
class Waiting:
    arrival: Arrival
    size: int  # bytes that it holds in memory, roughly
    tell: Told
    told: bool = False


class Accept:
    """`async with Accept(journal) as accept: await accept.put(arrival)`.

    `free_disk` gives the MiB left where the journal lives; None where that is not our machine. `apart`: lanes that are
    stored elsewhere, by a station of their own, so that none waits for the other's store.
    """

    def __init__(
        self,
        journal: Journal,
        bounds: Bounds | None = None,
        *,
        free_disk: Callable[[], int] | None = None,
        apart: Mapping[Lane, Accept] | None = None,
    ) -> None:
        self.journal = journal
        self._apart = apart or {}
        self._bounds = bounds or Bounds()
        self._free_disk = free_disk
        self._queue: deque[Waiting] = deque()
        self._bytes = 0
        self._drains: set[asyncio.Task[None]] = set()
        self._watcher: asyncio.Task[None] | None = None
        self._refusal: Overloaded | None = None
        self._stalled = 0  # commits that take too long
        self._closing = False

    async def __aenter__(self) -> Self:
        await self.look()
        self._watcher = asyncio.create_task(self._watch(), name="accept: backlog and disk")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Everything that was let in is committed, or told that it was not."""
        self._closing = True
        if self._watcher is not None:
            self._watcher.cancel()
            with suppress(asyncio.CancelledError):
                await self._watcher
        await self.settled()

    async def settled(self) -> None:
        """Waits until nothing is in flight."""
        while self._drains:
            await asyncio.wait(self._drains)

    async def put(self, arrival: Arrival) -> None:
        """Returns when the arrival is durable. Raises Overloaded when it is not, or may not be."""
        if not arrival.items:
            return
        durable = asyncio.get_running_loop().create_future()

        def tell(error: Overloaded | None) -> None:
            if durable.done():  # the caller hung up
                return
            if error is None:
                durable.set_result(None)
            else:
                durable.set_exception(error)

        self.enter(arrival, tell)
        await durable

    def enter(self, arrival: Arrival, tell: Told) -> None:
        """`tell` is called once the arrival, which holds an event, is durable, or with the reason why it is not: no
        task and no future for a request. It must not raise. Raises Overloaded where it is not let in.
        """
        if arrival.lane in self._apart:
            self._apart[arrival.lane].enter(arrival, tell)
            return
        self.admits(arrival.lane)
        bounds = self._bounds
        size = weight(arrival)
        if self._queue and (self._bytes + size > bounds.queue_bytes or len(self._queue) >= bounds.queue_requests):
            raise Overloaded(TOO_MUCH, 2)
        self._queue.append(Waiting(arrival, size, tell))
        self._bytes += size
        drains = len(self._drains)
        if not drains or (drains < bounds.commits and len(self._queue) >= bounds.few):
            self._drains.add(asyncio.create_task(self._drain(), name="accept: commit"))

    def admits(self, lane: Lane) -> None:
        """Raises Overloaded where nothing is let in now."""
        if lane in self._apart:
            self._apart[lane].admits(lane)
            return
        if self._refusal is not None:
            raise Overloaded(str(self._refusal), self._refusal.retry_after)
        if self._closing:
            raise Overloaded("This process is shutting down.", 2)
        if self._stalled:
            raise Overloaded("The database does not answer.")

    async def _drain(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  it is one
        try:
            company = 0
            while self._queue:
                if len(self._queue) < company:
                    await asyncio.sleep(self._bounds.linger)
                if group := self._take():  # the other may have taken all meanwhile
                    await self._commit_in_time(group)
                company = len(group) + len(self._queue)
        finally:
            self._drains.discard(task)  # now: whoever comes next has to see that it is over
            if not self._drains and self._queue:  # only a cancelled drain leaves any
                left = [*self._queue]
                self._queue.clear()
                self._bytes = 0
                answer(left, Overloaded("This process is shutting down.", 2))

    def _take(self) -> list[Waiting]:
        rows = size = 0
        group: list[Waiting] = []
        while self._queue:
            waiting = self._queue[0]
            rows += len(waiting.arrival.items)
            size += waiting.size
            if group and (rows > self._bounds.group_rows or size > self._bounds.group_bytes):
                break
            group.append(self._queue.popleft())
            self._bytes -= waiting.size
        return group

    async def _commit_in_time(self, group: list[Waiting]) -> None:
        """A database that hangs must not hold callers, nor may a commit in flight be torn: we leave it, and say no."""
        commit = asyncio.create_task(self._commit(group))
        stalled = False
        try:
            done, _ = await asyncio.wait({commit}, timeout=self._bounds.patience)
            if not done:
                stalled = True
                self._stalled += 1
                log.warning("accept.stalled", requests=len(group), seconds=self._bounds.patience)
                refused = [*group, *self._queue]
                self._queue.clear()
                self._bytes = 0
                answer(refused, Overloaded("The database does not answer."))
            await commit
        finally:
            self._stalled -= stalled

    async def _commit(self, group: Sequence[Waiting]) -> None:
        try:
            await self._append([waiting.arrival for waiting in group])
        except StoreUnavailable as error:
            log.warning("accept.unavailable", requests=len(group), error=type(error.__cause__ or error).__name__)
            answer(group, Overloaded("The database is not available."))
        except Overloaded as error:  # the store is full: smaller groups would not fit either
            log.warning("accept.full", requests=len(group), error=str(error))
            answer(group, error)
        except Exception as error:
            if len(group) > 1:
                half = len(group) // 2
                await self._commit(group[:half])
                await self._commit(group[half:])
                return
            # Not the message: PostgreSQL quotes the row in it. An error of ours has a place in the code instead.
            ours = None if isinstance(error, FairturnError) else error
            kind = type(error.__cause__ or error).__name__
            log.error("accept.refused", source=group[0].arrival.source, error=kind, exc_info=ours)  # noqa: TRY400  see above
            answer(group, Overloaded("This request could not be stored.", 60))
        else:
            for start in range(0, len(group), self._bounds.piece):
                if start:
                    await asyncio.sleep(0)
                answer(group[start : start + self._bounds.piece], None)

    async def _append(self, arrivals: Sequence[Arrival]) -> None:
        for _ in range(3):
            with suppress(Contended):
                return await self.journal.append(arrivals)
        return await self.journal.append(arrivals)

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            await self.look()
            # A look at a long backlog is not free: at most a tenth of the time goes into looking.
            await asyncio.sleep(max(self._bounds.look_every, 9 * (loop.time() - began)))

    async def look(self) -> None:
        """Compares backlog and disk with their limits now; done every `look_every` seconds by itself."""
        before, self._refusal = self._refusal, await self._limit_passed(self._refusal)
        if (before is None) != (self._refusal is None):
            log.warning("accept.limit", refusing=str(self._refusal) if self._refusal else None)

    async def _limit_passed(self, before: Overloaded | None) -> Overloaded | None:
        bounds = self._bounds
        try:
            if self._free_disk is not None and self._free_disk() < bounds.min_disk:
                return Overloaded(f"Less than {bounds.min_disk} MiB of disk are free.", 60)
            backlog = await self.journal.backlog(bounds.max_unrouted)
        except (StoreError, OSError):
            return before  # the next commit tells the caller
        if backlog.unrouted >= bounds.max_unrouted:
            return Overloaded(f"{bounds.max_unrouted} events wait to be routed.", 30)
        return None


def weight(arrival: Arrival) -> int:
    """Bytes that an arrival holds while it waits, roughly."""
    return len(arrival.body) * (1 if len(arrival.items) == 1 else 2) + 500 * len(arrival.items)


def answer(group: Sequence[Waiting], error: Overloaded | None) -> None:
    for waiting in group:
        if not waiting.told:  # that it takes too long
            waiting.told = True
            try:
                waiting.tell(error if error is None else Overloaded(str(error), error.retry_after))
            except Exception:  # one who cannot be told keeps it from nobody else
                log.exception("accept.told", source=waiting.arrival.source)
