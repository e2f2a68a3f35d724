"""A record that the org keeps refusing: so many attempts, whatever is restarted in between; then a person's word."""

from __future__ import annotations

import signal
from functools import partial

from tests.journeys.house import until
from tests.journeys.proof import Journey
from tests.journeys.sender import form, people


async def test_attempts_are_counted_across_restarts(journey: Journey):
    """Cases 63, 105: exactly three sends, then the list of failed writes; a retry by hand brings it home."""
    house, crm = journey.house, journey.crm
    await crm.faults({"kind": "lock", "on": "write"})
    serving = await house.serve()
    refused, fine = people("stuck", 2)
    await journey.sender.send(form(refused))
    for attempt in (1, 2, 3):
        await until("the attempt is counted", partial(house.ask, "select attempts = $1 from change", attempt))
        serving = await house.again(serving, signal.SIGKILL)
        await house.ready(serving)
    assert await house.ask("select state from change") == "failed"
    await crm.faults()
    await journey.sender.send(form(fine))
    await crm.wait(leads=1)
    assert [row["records"] for row in await crm.writes()] == [1, 1, 1, 1]
    code, said, complaint = await house.command("failed", "retry", "--all")
    assert code == 0, said + complaint
    await journey.proves()
