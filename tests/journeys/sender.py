"""Webhooks as their senders send them: at least once, again after anything but a 2xx; and who was sent."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tests.journeys.crm import COMPANIES

PATIENCE = 150.0  # seconds that a sender tries; theirs try for a day
AGAIN = 0.1  # seconds until its second try; the third takes twice as long
SELDOM = 0.5  # seconds between its later tries: hundreds who knock ten times a second delay the start they wait for
SLOW = 10.0  # seconds after which it hangs up and sends again


@dataclass(frozen=True, slots=True)
class Hook:
    source: str
    body: dict[str, Any]


def form(email: str, company: str = "Firm", **more: Any) -> Hook:
    body = {"id": f"form {email}", "email": email, "last": email.partition("@")[0], "company": company}
    return Hook("website", body | more)


def people(name: str, count: int, *, firms: int = COMPANIES) -> list[str]:
    """Addresses, spread over the firms whose accounts the org has."""
    return [f"{name}{n}@firm{n % firms}.com" for n in range(count)]


def strangers(name: str, count: int) -> list[str]:
    """Addresses of people whose firms nobody knows, each of its own."""
    return [f"{name}{n}@{name}-{n}.com" for n in range(count)]


def visits(emails: Sequence[str]) -> list[Hook]:
    """A form, an enrichment and a score for each, in an order that a seed decided."""
    hooks = []
    for email in emails:
        hooks += [
            form(email),
            Hook("enrichment", {"id": f"title {email}", "email": email, "title": f"Head of {email}"}),
            Hook("enrichment", {"id": f"score {email}", "email": email, "score": len(email)}),
        ]
    random.Random(len(hooks)).shuffle(hooks)
    return hooks


@dataclass(slots=True)
class Sender:
    """Everything answered 2xx stays on its list."""

    url: str
    http: httpx2.AsyncClient
    events: dict[str, Hook] = field(default_factory=dict)  # event id -> what it was
    answers: list[tuple[Hook, dict[str, Any]]] = field(default_factory=list)
    resent: int = 0
    heard: asyncio.Condition = field(default_factory=asyncio.Condition)

    @classmethod
    @contextlib.asynccontextmanager
    async def to(cls, url: str) -> AsyncIterator[Sender]:
        limits = httpx2.Limits(max_connections=200, max_keepalive_connections=20)
        async with httpx2.AsyncClient(timeout=SLOW, limits=limits, trust_env=False, verify=False) as http:
            yield cls(url, http)

    async def send(self, hook: Hook, *, url: str | None = None) -> dict[str, Any]:
        """The answer, once it was a 2xx. Refused connections, resets, time-outs and 5xx are tried again."""
        pause = AGAIN
        async with asyncio.timeout(PATIENCE):
            while True:
                with contextlib.suppress(httpx2.TransportError):
                    answer = await self.http.post(f"{url or self.url}/in/{hook.source}", json=hook.body)
                    if answer.status_code < 300:
                        return await self._note(hook, answer.json())
                    assert answer.status_code >= 500, answer.text
                self.resent += 1
                await asyncio.sleep(pause)
                pause = min(pause * 2, SELDOM)

    async def _note(self, hook: Hook, said: dict[str, Any]) -> dict[str, Any]:
        self.answers.append((hook, said))
        self.events |= dict.fromkeys(said.get("events", ()), hook)
        async with self.heard:
            self.heard.notify_all()
        return said

    async def burst(self, hooks: Sequence[Hook], seconds: float) -> None:
        """All of them, evenly over so many seconds, whether or not the ones before were answered."""
        loop = asyncio.get_running_loop()
        began = loop.time()

        async def at(moment: float, hook: Hook) -> None:
            await asyncio.sleep(max(0.0, began + moment - loop.time()))
            await self.send(hook)

        await asyncio.gather(*(at(n * seconds / len(hooks), hook) for n, hook in enumerate(hooks)))

    @contextlib.asynccontextmanager
    async def stream(self, name: str, rate: float = 24.0) -> AsyncIterator[None]:
        """So many webhooks a second, for as long as the block lasts; then all of them are answered."""
        stop = asyncio.Event()
        sending = asyncio.create_task(self._pour(name, 1.0 / rate, stop))
        try:
            yield
        finally:
            stop.set()
            await sending

    async def _pour(self, name: str, every: float, stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as tasks:
            for number in itertools.count():
                if stop.is_set():
                    return
                for hook in visits([f"{name}{n}@firm{n % COMPANIES}.com" for n in range(number * 4, number * 4 + 4)]):
                    tasks.create_task(self.send(hook))
                    await asyncio.sleep(every)

    async def answered(self, count: int) -> None:
        """Until so many were answered 2xx."""
        async with self.heard, asyncio.timeout(PATIENCE):
            await self.heard.wait_for(lambda: len(self.answers) >= count)
