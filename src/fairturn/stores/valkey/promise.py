"""What a server promises of a write, asked of the server itself.

An acknowledged event must outlive a crash: an append-only file, written before the answer, and nothing evicted.
https://valkey.io/topics/persistence/ and https://valkey.io/topics/lru-cache/
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import structlog
from redis.exceptions import NoPermissionError, ResponseError

from fairturn.errors import UnsafeStore

log = structlog.get_logger(__name__)

Exchange = Callable[[tuple[tuple[bytes | str | int, ...], ...]], Awaitable[list[Any]]]


@dataclass(frozen=True, slots=True)
class Promise:
    on_reply: bool  # a write is on disk when it is answered; else WAITAOF has to ask
    bounded: bool  # maxmemory is set: it says no before the machine does


@dataclass(frozen=True, slots=True)
class Told:
    """The settings that matter, as far as the server tells them."""

    appendonly: bool
    appendfsync: str | None  # None: it does not say; managed services do not
    policy: str
    maxmemory: int


async def judge(exchange: Exchange) -> Promise:
    """Raises UnsafeStore with the setting to make."""
    told = await _config(exchange) or await _info(exchange)
    if not told.appendonly:
        raise UnsafeStore(
            "This Valkey keeps no append-only file: what it acknowledged would be gone after a crash. "
            "Set appendonly yes and appendfsync always there."
        )
    if told.policy != "noeviction":
        raise UnsafeStore(
            f"This Valkey may evict what it acknowledged (maxmemory-policy {told.policy}). "
            "Set maxmemory-policy noeviction there; a cache and a journal need a server each."
        )
    if told.appendfsync == "no":
        raise UnsafeStore(
            "This Valkey leaves it to the system when its file is written (appendfsync no). "
            "Set appendfsync always there; with everysec each answer would take up to a second."
        )
    on_reply = told.appendfsync == "always"
    if not on_reply:
        await _waits(exchange)
    return Promise(on_reply, told.maxmemory > 0)


async def _config(exchange: Exchange) -> Told | None:
    names = ("appendonly", "appendfsync", "maxmemory-policy", "maxmemory")
    try:
        replies = await exchange(tuple(("CONFIG", "GET", name) for name in names))
    except (ResponseError, NoPermissionError):
        return None  # managed services have renamed it, or forbid it
    found = {pair[0].decode(): pair[1].decode() for pair in replies if len(pair) == 2}
    if not found.keys() >= set(names):
        return None
    return Told(
        found["appendonly"] == "yes", found["appendfsync"], found["maxmemory-policy"], int(found["maxmemory"] or 0)
    )


async def _info(exchange: Exchange) -> Told:
    lines: dict[str, str] = {}
    for text in await exchange((("INFO", "persistence"), ("INFO", "memory"))):
        lines |= dict(line.split(":", 1) for line in text.decode().split() if ":" in line)
    return Told(
        lines.get("aof_enabled") == "1", None, lines.get("maxmemory_policy", "unknown"), int(lines.get("maxmemory", 0))
    )


async def _waits(exchange: Exchange) -> None:
    try:
        await exchange((("WAITAOF", 0, 0, 0),))
    except ResponseError:
        raise UnsafeStore(
            "This server cannot say when a write is on its disk: it has no WAITAOF (Redis before 7.2), and its "
            "appendfsync is not always, or not told. Set appendfsync always, and let CONFIG GET tell it."
        ) from None
