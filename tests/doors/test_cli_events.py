"""Events that made no lead are in a list, and can be read again once the mapping is mended."""

from collections.abc import AsyncIterator

import pytest

from tests.doors.commands import Open, shells


@pytest.fixture
async def shell(database, tmp_path) -> AsyncIterator[Open]:
    async with shells(database, tmp_path) as start:
        yield start


async def test_what_made_no_lead_is_listed_with_the_reason(shell: Open):
    run = await shell()
    assert "No event is set aside." in (await run("events", "list")).out
    await run.world.route({"mail": "a@one.com"}, {"email": "b@two.com"})
    (line,) = (await run("events", "list", "--json")).json
    assert (line["source"], line["state"]) == ("web", "aside")
    assert "it holds: mail" in line["problem"]
    assert line["event"] in (await run("events", "list")).out
    assert (await run("events", "list", "--source", "enrich", "--json")).json == []


async def test_a_signal_without_its_lead_is_listed(shell: Open):
    run = await shell()
    await run.world.route({"email": "a@one.com", "score": 5}, source="enrich")
    (line,) = (await run("events", "list", "--state", "waiting", "--json")).json
    assert (line["source"], line["problem"]) == ("enrich", None)


async def test_a_mended_mapping_makes_the_lead(shell: Open):
    run = await shell()
    await run.world.route({"mail": "a@one.com"}, {"nothing": 1})
    await run.world.apply(run.world.text.replace('email = "email"', 'email = ["email", "mail"]'))
    said = await run("events", "retry", "--all", "--reason", "mapping mended", "--actor", "olga")
    assert "2 events will be read again." in said.out
    while await run.world.station.route():
        pass
    assert await run.world.value("select count(*) from lead") == 1
    assert len((await run("events", "list", "--json")).json) == 1  # what is still wrong is set aside again
    (row,) = (await run("history", "--json")).json
    assert (row["act"], row["actor"], row["reason"]) == ("read again", "olga", "mapping mended")


async def test_bytes_that_are_gone_cannot_be_read_again(shell: Open):
    run = await shell()
    await run.world.route({"mail": "a@one.com"})
    await run.world.value("update event set body = null")
    await run.world.value("update delivery set body = null")
    assert "None of these is set aside." in (await run("events", "retry", "--all", "--reason", "x")).out


async def test_what_is_asked_wrongly(shell: Open):
    run = await shell()
    assert "--all" in (await run("events", "retry", "--reason", "x", code=2)).err
    assert "There is no event 'jane'" in (await run("events", "retry", "jane", "--reason", "x", code=2)).err
