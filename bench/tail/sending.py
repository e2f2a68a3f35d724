"""The burst over HTTP, each webhook at its time, whatever became of those before it; senders wait so long, no more."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

import httpx2

from bench.tail.burst import Burst, Event


@dataclass(slots=True)
class Sent:
    """`began`: Unix seconds of the start; an event's time counts from it, however late it left."""

    began: float = 0.0
    answers: dict[int, int] = field(default_factory=dict)  # event -> status; 0 = no answer in time
    seconds: list[float] = field(default_factory=list)  # of the webhooks' answers
    late: float = 0.0  # seconds by which the latest left too late


async def send(url: str, plan: Burst, timeout: float) -> Sent:
    """Returns when every webhook has its answer, or has been given up."""
    loop, sent = asyncio.get_running_loop(), Sent()
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=100)
    async with (
        httpx2.AsyncClient(base_url=url, trust_env=False, timeout=timeout, limits=limits) as client,
        asyncio.TaskGroup() as group,
    ):
        began = loop.time()
        sent.began = time.time()
        for one in plan.events:
            await asyncio.sleep(max(0.0, began + one.at - loop.time()))
            sent.late = max(sent.late, loop.time() - began - one.at)
            group.create_task(_post(client, one, sent))
    return sent


async def _post(client: httpx2.AsyncClient, one: Event, sent: Sent) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        headers = {"Content-Type": "application/json"}
        status = (await client.post(f"/in/{one.source}", content=one.body, headers=headers)).status_code
    except httpx2.HTTPError:
        status = 0
    sent.answers[one.number] = status
    sent.seconds.append(loop.time() - began)
