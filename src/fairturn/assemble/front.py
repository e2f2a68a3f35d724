"""The Valkey before PostgreSQL, for those who have one: the journal of the door, and the station that empties it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack

from fairturn.config import Settings
from fairturn.flow.drain import Drain
from fairturn.operate.secrets import secret
from fairturn.ports import Backlog, Journal
from fairturn.stores.postgres.sole import Sole
from fairturn.stores.valkey.entries import Stream, ValkeyInbox
from fairturn.stores.valkey.journal import ValkeyJournal
from fairturn.stores.valkey.journal import waiting as in_stream
from fairturn.stores.valkey.link import Link


def url_of(settings: Settings, env: Mapping[str, str]) -> str:
    """Raises ConfigError for a secret that is missing."""
    url = settings.valkey_url or ""
    return secret(url, env) if url.startswith(("env:", "file:")) else url


async def journal(stack: AsyncExitStack, settings: Settings, env: Mapping[str, str], behind: Journal) -> ValkeyJournal:
    """Raises UnsafeStore, StoreError, StoreUnavailable: it could not keep an event now."""
    url = url_of(settings, env)
    links = (Link(url), Link(url))
    for link in links:
        stack.push_async_callback(link.close)
    made = ValkeyJournal(*links, Stream(settings.valkey_stream), behind)
    await made.open()
    return made


def drain(stack: AsyncExitStack, settings: Settings, env: Mapping[str, str], dsn: str, into: Journal) -> Drain:
    """Starts where Valkey is away: it will come."""
    link = Link(url_of(settings, env))
    stack.push_async_callback(link.close)
    sole = Sole(dsn, f"drain {settings.valkey_stream}", settings.server.takeover)
    stack.push_async_callback(sole.close)
    inbox = ValkeyInbox(link, Stream(settings.valkey_stream), max_body=settings.server.max_body)
    return Drain(inbox, into, sole)


async def waiting(settings: Settings, env: Mapping[str, str]) -> tuple[Backlog, int]:
    """What is in the stream, and how many entries PostgreSQL could not hold.

    Raises ConfigError and StoreError, UnsafeStore where its settings will not do.
    """
    stream = Stream(settings.valkey_stream)
    link = Link(url_of(settings, env))
    try:
        await link.promise()
        found, _ = await in_stream(link, stream)
        (aside,) = await link.call(("XLEN", stream.aside))
    finally:
        await link.close()
    return found, int(aside)
