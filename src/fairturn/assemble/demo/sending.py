"""The burst over HTTP, in real time, each sender with its own proof; refused for a moment, a sender tries again."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import httpx2

from fairturn.assemble.demo.scenario import Post

AT_ONCE: Final = 64
TRIES: Final = 5
PAUSE: Final = 1.0  # seconds before a sender tries again


@dataclass(slots=True)
class Sent:
    """What the door answered. Changes while the burst goes on."""

    taken: Counter[str] = field(default_factory=Counter)  # kind -> answered 2xx
    refused: Counter[str] = field(default_factory=Counter)  # kind -> answered otherwise, or not at all
    statuses: Counter[int] = field(default_factory=Counter)  # of the refused; 0 = no answer


async def send(url: str, posts: Sequence[Post], secrets: Mapping[str, str], sent: Sent) -> None:
    """Returns when every post has its answer, or has been given up."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    slots = asyncio.Semaphore(AT_ONCE)
    limits = httpx2.Limits(max_connections=AT_ONCE, max_keepalive_connections=AT_ONCE)
    async with (
        httpx2.AsyncClient(base_url=url, trust_env=False, timeout=30, limits=limits) as client,
        asyncio.TaskGroup() as group,
    ):
        for post in posts:
            await asyncio.sleep(max(0.0, began + post.at - loop.time()))
            await slots.acquire()
            task = group.create_task(_deliver(client, post, secrets, sent))
            task.add_done_callback(lambda _: slots.release())


async def _deliver(client: httpx2.AsyncClient, post: Post, secrets: Mapping[str, str], sent: Sent) -> None:
    status = 0
    for _ in range(TRIES):
        try:
            answer = await client.post(f"/in/{post.source}", content=post.body, headers=headers(post, secrets))
        except httpx2.HTTPError:
            status = 0
        else:
            status = answer.status_code
            if status < 300:
                sent.taken[post.kind] += 1
                return
            if 400 <= status < 500:
                break  # no try will make it better
        await asyncio.sleep(PAUSE)
    sent.refused[post.kind] += 1
    sent.statuses[status] += 1


def headers(post: Post, secrets: Mapping[str, str]) -> dict[str, str]:
    """As settings.py has the sources verified. A forger does not know the secret."""
    secret = "a guess" if post.kind == "forged" else secrets[post.source]
    proof = {
        "website": ("X-Signature", f"sha256={hmac.new(secret.encode(), post.body, hashlib.sha256).hexdigest()}"),
        "enrichment": ("X-Fairturn-Secret", secret),
        "scoring": ("Authorization", f"Bearer {secret}"),
    }[post.source]
    return {"Content-Type": post.content_type, proof[0]: proof[1]}
