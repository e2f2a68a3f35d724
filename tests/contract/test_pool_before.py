"""How a pool stood before a turn is the same from its first entry on and back from now."""

from collections.abc import AsyncIterator

import pytest

from fairturn.decide.rewinding import Rewind
from fairturn.operate import pool_before
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.proofs import PostgresProofs
from tests.doors.commands import lead
from tests.flow.world import World, config


@pytest.fixture
async def world(database: str) -> AsyncIterator[World]:
    async with Database(database, size=3) as connections:
        made = World(database, connections, config())
        await made.apply(made.text)
        await made.add_station()
        yield made


def quiet(*_: object) -> None:
    return


async def test_both_ways_lead_to_the_same(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("fairturn.stores.postgres.proofs.ROWS", 3)  # several pages
    await world.route(*(lead(n) for n in range(12)))
    proofs = PostgresProofs(world.database)
    async with proofs.snapshot() as snapshot:
        stored = (await snapshot.pools())["main"]
        first = stored.seq - 11  # of the turns: entries of members come before
        for seq in range(first + 1, stored.seq + 1):
            back = await pool_before._walked_back(snapshot, Rewind(stored), "main", seq, "turn", quiet)
            assert back == await pool_before._replayed(snapshot, "main", seq, "turn", quiet)
            assert back is not None
            assert back.number == seq - first + 1
    told: list[int] = []
    found = await pool_before.pool_before(proofs, "main", stored.seq, "turn", lambda *words: told.append(words[2]))
    assert found.number == 12
    assert set(told) == {0}  # nothing came since, so nothing else was read
