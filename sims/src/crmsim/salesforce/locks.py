"""Row locks: each record has one holder, the others wait in order of arrival, at most so long (SF-docs: 10 seconds)."""

import asyncio
from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Waiter:
    holder: int
    turn: asyncio.Future[None]


@dataclass(slots=True)
class _Lock:
    holder: int
    waiters: deque[_Waiter] = field(default_factory=deque)


@dataclass(slots=True)
class LockTable:
    """Locks by record id; a holder is a request's number, and may take what it holds again."""

    held: dict[str, _Lock] = field(default_factory=dict)

    def holder(self, key: str) -> int | None:
        lock = self.held.get(key)
        return lock.holder if lock else None

    async def take(self, key: str, holder: int, real_seconds: float) -> bool:
        """True once `holder` has the lock; False if it is not free within `real_seconds`."""
        lock = self.held.get(key)
        if lock is None:
            self.held[key] = _Lock(holder)
            return True
        if lock.holder == holder:
            return True
        waiter = _Waiter(holder, asyncio.get_running_loop().create_future())
        lock.waiters.append(waiter)
        try:
            # Shielded: a time-out must leave the future as it is, to tell a lock that came at the last moment.
            await asyncio.wait({waiter.turn}, timeout=real_seconds)
        except asyncio.CancelledError:
            if not self._leave(lock, waiter):
                self.release(key, holder)
            raise
        return not self._leave(lock, waiter)

    @staticmethod
    def _leave(lock: _Lock, waiter: _Waiter) -> bool:
        """True if the waiter goes away without the lock."""
        if waiter.turn.done():
            return False
        lock.waiters.remove(waiter)
        return True

    def release(self, key: str, holder: int) -> None:
        """Hand the lock to the first who waits."""
        lock = self.held.get(key)
        if lock is None or lock.holder != holder:
            return
        if lock.waiters:
            heir = lock.waiters.popleft()
            lock.holder = heir.holder
            heir.turn.set_result(None)
        else:
            del self.held[key]
