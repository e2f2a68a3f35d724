"""Fairturn dies at ten moments of a burst, and is started again at once: nothing lost, nothing twice, still fair."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from functools import partial

import pytest

from fairturn.stores.postgres import embedded
from tests.journeys.house import child, until
from tests.journeys.proof import Journey
from tests.journeys.sender import people, visits

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
