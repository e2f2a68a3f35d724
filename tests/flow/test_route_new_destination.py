"""A destination that joins the settings later."""

from tests.flow.world import Worlds, config

SECOND = '[destinations.second]\ntype = "console"\n'


async def test_it_hears_of_the_owner_with_the_leads_next_update(world: Worlds) -> None:
    w = await world(config())
    await w.route({"email": "a@one.com"})
    await w.value("update change set confirmed = version, owner_confirmed = owner_version, state = 'done'")
    await w.apply(config(more=SECOND))
    await w.route({"email": "a@one.com", "score": 5})
    rows = await w.fetch("select destination_id, version, owner_version, owner_confirmed from change order by 1")
    assert [tuple(row) for row in rows] == [
        ("crm", 2, 1, 1),
        ("second", 1, 1, 0),
    ]  # the owner is due in the new one alone
    await w.route({"email": "a@one.com", "score": 6})
    rows = await w.fetch("select destination_id, version, owner_version from change order by 1")
    assert [tuple(row) for row in rows] == [("crm", 3, 1), ("second", 2, 1)]
