"""The hint that there is work."""

import asyncio

import pytest

from fairturn.stores.postgres.wake import Bell


@pytest.mark.parametrize("turns", range(4))
async def test_a_cancellation_that_meets_a_ring_is_not_lost(turns: int):
    """Who stops a station cancels its listener; one that went on all the same held its process for 40 s."""
    bell = Bell()
    waiting = asyncio.create_task(bell.wait(60))
    await asyncio.sleep(0.01)
    bell.ring()
    for _ in range(turns):  # of the loop, between the ring and the cancellation
        await asyncio.sleep(0)
    if waiting.cancel():
        with pytest.raises(asyncio.CancelledError):
            await waiting


async def test_a_ring_is_heard_by_the_next_wait_and_once():
    bell = Bell()
    bell.ring()
    assert await bell.wait(60)
    assert not await bell.wait(0.01)
