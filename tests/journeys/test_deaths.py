"""Fairturn dies at ten moments of a burst, and is started again at once: nothing lost, nothing twice, still fair."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import subprocess
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import asyncpg
import pytest

from fairturn.stores.postgres import embedded
from tests.journeys.house import child, until
from tests.journeys.proof import Journey
from tests.journeys.sender import Hook, form, people, strangers, visits

MOMENTS = 10


async def moment(journey: Journey, dice: random.Random) -> None:
    """Some answers later, or while a request is open in the org."""
    if dice.random() < 0.5:
        await journey.sender.answered(len(journey.sender.answers) + dice.randint(1, 15))
    else:
        seen = (await journey.crm.numbers())["write_requests"]
        await journey.crm.wait(write_requests=seen + 1, in_flight=1)


def has_children(process: subprocess.Popen[bytes]) -> bool:
    return None not in (child(process, "intake"), child(process, "worker"))


async def ten_deaths(journey: Journey, number: int, victim: tuple[str, ...], others: tuple[tuple[str, ...], ...] = ()):
    """`victim` and `others` are the arguments of `fairturn serve`."""
    dice = random.Random(f"{number} {victim}")
    process = journey.house.spawn(*victim)
    for other in others:
        journey.house.spawn(*other)
    await journey.house.ready()
    async with journey.sender.stream("lead"):
        for _ in range(MOMENTS):
            if not victim:  # children of the one before may still answer: that would be no moment of this one's life
                await until("it has children", partial(has_children, process))
            await moment(journey, dice)
            process = await journey.house.again(process, number, *victim)
        await journey.house.ready()
    await journey.proves()


async def test_the_worker_killed_ten_times(journey: Journey):
    """Cases 60, 61, 91: what a dead worker had in hand is taken up by the next one of the same name."""
    await ten_deaths(journey, signal.SIGKILL, ("--role", "worker"), (("--role", "intake"),))


async def test_the_intake_killed_ten_times(journey: Journey):
    """Case 57: an answer that was lost comes again, and is the same event."""
    await ten_deaths(journey, signal.SIGKILL, ("--role", "intake"), (("--role", "worker"),))
    assert journey.sender.resent


@pytest.mark.timeout(180)
async def test_everything_killed_ten_times(home: Journey):
    """The supervisor killed -9 on an embedded PostgreSQL: each start finds what the last one left running."""
    await ten_deaths(home, signal.SIGKILL, ())


@pytest.mark.timeout(180)
async def test_everything_stopped_ten_times(journey: Journey):
    """Case 64: SIGTERM finishes the request in flight, so that no version is ever sent twice."""
    await ten_deaths(journey, signal.SIGTERM, ())
    summary = await journey.crm.summary()
    assert (summary["repeats"], summary["undelivered"]) == (0, 0)
    assert await journey.house.ask("select count(*) from batch where problem is not null") == 0


@pytest.mark.parametrize("role", ["worker", "intake"])
async def test_a_child_that_dies_is_started_again(journey: Journey, role: str):
    serving = await journey.house.serve()
    async with journey.sender.stream("lead"):
        await journey.crm.wait(write_requests=1, in_flight=1)
        dead = child(serving, role)
        assert dead is not None
        os.kill(dead, signal.SIGKILL)
        await until("the child is there again", lambda: child(serving, role) not in {None, dead})
        await journey.house.ready()
    await journey.proves()
    assert await journey.house.stop(serving) == 0


async def test_children_end_when_the_supervisor_is_killed_and_postgres_goes_on(home: Journey):
    house = home.house
    serving = await house.serve()
    await home.sender.burst(visits(people("before", 12)), 0.5)
    await house.stop(serving, signal.SIGKILL)
    await until("the children end by themselves", lambda: not house.left())
    assert house.data is not None
    orphan = await embedded.status(house.data)
    assert (orphan.state, orphan.holder) == ("running", None)
    second = await house.serve()
    assert (await embedded.status(house.data)).pid == orphan.pid
    await home.sender.burst(visits(people("after", 12)), 0.5)
    await home.proves()
    assert await house.stop(second) == 0
    assert (await embedded.status(house.data)).state == "stopped"


async def test_the_intake_killed_while_callers_wait_for_their_owners(journey: Journey):
    """In the middle of a step, and after its commit when only some have heard of it: who heard nothing asks again, and
    each lead has one turn, which is the one that was told.
    """
    intake = journey.house.spawn("--role", "intake")
    journey.house.spawn("--role", "worker")
    await journey.house.ready()
    told: dict[str, str] = {}
    for number in range(4):
        hooks = [Hook("chat", form(email).body) for email in strangers(f"chat{number}", 20)]
        heard = len(journey.sender.answers)
        async with leads_held(journey) if number % 2 == 0 else contextlib.nullcontext():
            sending = asyncio.create_task(all_of(journey, hooks))
            if number % 2 == 0:
                await until("a step waits", partial(journey.house.ask, WAITS))
                assert await journey.house.ask("select count(*) from event") == 20 * number  # its own are not committed
            else:
                await journey.sender.answered(heard + 1)
            intake = await journey.house.again(intake, signal.SIGKILL, "--role", "intake")
        for hook, said in zip(hooks, await sending, strict=True):
            if "rep" in said:  # within the deadline
                told[hook.body["email"]] = said["rep"]["id"]
    assert journey.sender.resent
    assert len(told) > 40
    await journey.proves()
    turns = await journey.house.ask("select count(*) from assignment where kind = 'turn'")
    assert turns == 80
    owners = {row["Email"]: row["OwnerId"] for row in await journey.crm.leads()}
    assert {email: owners[email] for email in told} == {email: journey.crm.users[rep] for email, rep in told.items()}


@contextlib.asynccontextmanager
async def leads_held(journey: Journey) -> AsyncIterator[None]:
    """Nobody writes a lead."""
    other = await asyncpg.connect(await journey.house.dsn())
    try:
        async with other.transaction():
            await other.execute("lock table lead in share mode")
            yield
    finally:
        await other.close()


async def all_of(journey: Journey, hooks: list[Hook]) -> list[dict[str, Any]]:
    return await asyncio.gather(*(journey.sender.send(hook) for hook in hooks))


WAITS = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
