"""A deliverer that sleeps for longer than its lease, while another takes over."""

from __future__ import annotations

import signal

from tests.journeys.conftest import Begin
from tests.journeys.house import until
from tests.journeys.proof import Journey
from tests.journeys.sender import form, people, strangers, visits


async def test_the_deliverer_sleeps_longer_than_its_lease(begin: Begin):
    """It wakes with an answer in its hand: its rows are still its own, and their verdict counts."""
    # Not asked first: leads that were asked for together leave together, and hold all twelve firms while they are out.
    async with begin(crm_more={"request_timeout": "60s", "existing": "ignore"}) as journey:
        house, crm = journey.house, journey.crm
        await house.serve("--role", "intake")
        first = house.spawn("--role", "worker")
        async with journey.sender.stream("lead"):
            await crm.wait(write_requests=2, in_flight=1)
            first.send_signal(signal.SIGSTOP)
            holder = await house.ask("select lease_holder from destination")
            house.spawn("--role", "worker")
            await until(
                "another holds the lease", lambda: house.ask("select lease_holder <> $1 from destination", holder)
            )
            # The sleeper may hold every firm that sends just now. Nobody holds those of strangers.
            for some in ("one", "two"):
                seen = (await crm.numbers())["write_requests"]
                await journey.sender.burst([form(email) for email in strangers(some, 6)], 0.1)
                await crm.wait(write_requests=seen + 1)
            first.send_signal(signal.SIGCONT)
            settled = "select bool_and(settled_at is not null) from batch where holder = $1"
            await until("the sleeper's answer is noted", lambda: house.ask(settled, holder))
        await journey.proves()
        assert (await crm.summary())["repeats"] == 0
        assert await house.ask("select count(*) from batch where problem is not null") == 0


async def test_the_deliverer_sleeps_beyond_its_deadline(journey: Journey):
    """Its rows were sent again by another: what it settles late changes nothing."""
    house, crm = journey.house, journey.crm
    await house.serve("--role", "intake")
    first = house.spawn("--role", "worker")
    async with journey.sender.stream("lead"):
        await crm.wait(write_requests=2, in_flight=1)
        first.send_signal(signal.SIGSTOP)
        house.spawn("--role", "worker")
    late = "select count(*) from batch where problem = 'no answer before the deadline'"
    await until("its rows are free", lambda: house.ask(late))
    await journey.settled()
    first.send_signal(signal.SIGCONT)
    await until("its late answer is noted", lambda: "deliver.late" in house.log)
    async with journey.sender.stream("more"):
        await crm.wait(write_requests=(await crm.numbers())["write_requests"] + 2)
    await journey.proves()


async def test_the_accounts_of_a_dead_deliverer_stay_busy(begin: Begin):
    """Case 91: killed after sending. Its request goes on in the org, and no other may touch its accounts meanwhile."""
    async with begin(crm_more={"request_timeout": "6s"}) as journey:
        house, crm = journey.house, journey.crm
        await crm.faults({"kind": "slow", "on": "write", "nth": [1], "seconds": 60.0})
        await house.serve("--role", "intake")
        first = house.spawn("--role", "worker")
        firms = people("first", 6)
        await journey.sender.burst([form(email) for email in firms], 0.1)
        await crm.wait(write_requests=1, in_flight=1)
        await house.again(first, signal.SIGKILL, "--role", "worker")
        colleagues = [form(email) for email in people("second", 6)]
        titles = [hook for hook in visits(firms) if hook.source == "enrichment"]
        await journey.sender.burst([*colleagues, *titles, *(form(email) for email in strangers("other", 6))], 0.5)
        await crm.wait(write_requests=2, in_flight=2)
        await crm.post("/release")
        await journey.proves()
