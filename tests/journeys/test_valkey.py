"""A Valkey before PostgreSQL: either is killed or away, and so are the workers between them."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import httpx2
import pytest

from fairturn.stores.postgres import embedded
from tests.journeys.conftest import Begin
from tests.journeys.house import until
from tests.journeys.proof import Journey
from tests.journeys.sender import Hook, form, people, visits
from tests.valkey import Valkey

# A commit must survive "immediate"; what a power cut would do is PostgreSQL's own business.
CLUSTER = {"fsync": "off", "shared_buffers": "32MB", "io_method": "sync", "logging_collector": "off"}


@pytest.fixture(scope="module")
def server() -> Iterator[Valkey]:
    with Valkey.started() as running:
        yield running


@pytest.fixture
def valkey(server: Valkey) -> Iterator[Valkey]:
    server.command("FLUSHALL")
    yield server
    assert server.command("XLEN", "fairturn") == b":0", "what is proved to be in PostgreSQL is in the stream no more"
    assert server.command("XLEN", "fairturn:aside") == b":0"


@contextlib.asynccontextmanager
async def fronted(begin: Begin, valkey: Valkey, **settings: str) -> AsyncIterator[Journey]:
    """A journey whose webhooks go to Valkey first."""
    async with begin(**settings) as journey:
        config = journey.house.config
        config.write_text(f'journal = "valkey"\nvalkey_url = "{valkey.url}"\n{config.read_text()}')
        yield journey


async def test_valkey_killed_and_started_again_under_load(begin: Begin, valkey: Valkey):
    """Killed -9 with requests in flight: what was answered 2xx is in its file, the others are told to come again."""
    async with fronted(begin, valkey) as journey:
        await journey.house.serve()
        async with journey.sender.stream("lead"):
            for _ in range(3):
                await journey.sender.answered(len(journey.sender.answers) + 20)
                valkey.kill()
                refused = journey.sender.resent
                await until("senders are told to come again", partial(more_refused, journey, refused))
                valkey.start()
            await journey.sender.answered(len(journey.sender.answers) + 20)
        await journey.proves()
        assert "accept.unavailable" in journey.house.log


async def test_intake_goes_on_while_postgres_is_away(begin: Begin, valkey: Valkey, place: Path):
    """Five seconds for minutes. Who waits for an owner, or asks what became of an event, is told to come again."""
    data = place / "cluster"
    running = await embedded.start(data, settings=CLUSTER)
    try:
        async with fronted(begin, valkey, database=running.dsn) as journey:
            sender = journey.sender
            await journey.house.serve()
            await sender.burst(visits(people("before", 4)), 0.2)
            await journey.settled()
            await running.stop("immediate")
            refused = sender.resent
            await sender.burst(visits(people("away", 40)), 5)
            assert sender.resent == refused, "a webhook was refused while PostgreSQL was away"
            some = next(iter(sender.events))
            chat = Hook("chat", form("asks@asks.com").body)
            asked = await asyncio.gather(
                sender.http.get(f"{journey.house.url}/in/website/{some}"),
                sender.http.post(f"{journey.house.url}/in/chat", json=chat.body),
                sender.http.get(f"{journey.house.url}/readyz"),
            )
            assert [answer.status_code for answer in asked] == [503, 503, 200]
            assert all("retry-after" in answer.headers for answer in asked[:2])
            assert valkey.command("XLEN", "fairturn") != b":0"
            running = await embedded.start(data, settings=CLUSTER)
            await sender.send(chat)
            await journey.proves()
    finally:
        await running.stop("immediate")
        await embedded.discard(data)


async def test_two_workers_and_one_killed_between_commit_and_removal(begin: Begin, valkey: Valkey):
    """The next one stores the same entries again, and they are there. Case 55: so is a webhook that comes twice."""
    async with fronted(begin, valkey) as journey:
        house, sender = journey.house, journey.sender
        await house.serve("--role", "intake")
        await sender.burst(visits(people("first", 10)), 0.3)
        await sender.send(form("first0@firm0.com"))
        assert await waits(journey) == 202
        assert valkey.command("CLIENT", "PAUSE", "60000", "WRITE") == b"+OK"  # it can be read, and nothing removed
        victim = house.spawn("--role", "worker")
        await until("it is committed", lambda: house.ask("select count(*) = 30 from event"))
        await house.stop(victim, signal.SIGKILL)
        assert valkey.command("XLEN", "fairturn") != b":0"
        valkey.command("CLIENT", "UNPAUSE")
        one, _ = (house.spawn("--role", "worker") for _ in range(2))
        async with sender.stream("then"):
            await sender.answered(len(sender.answers) + 30)
            await house.stop(one, signal.SIGKILL)
            await sender.answered(len(sender.answers) + 30)
        await journey.proves()


def more_refused(journey: Journey, before: int) -> bool:
    return journey.sender.resent > before


async def waits(journey: Journey) -> int:
    """What is said of an event that is in the stream."""
    (event, hook), *_ = journey.sender.events.items()
    answer: httpx2.Response = await journey.sender.http.get(f"{journey.house.url}/in/{hook.source}/{event}")
    return answer.status_code
