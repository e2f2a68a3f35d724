"""The suite's own database: what `database` of conftest.py promises to the other tests."""

import asyncpg
import pytest


@pytest.mark.parametrize("turn", [1, 2])
async def test_each_test_has_a_migrated_database_of_its_own(database: str, turn: int):
    connection = await asyncpg.connect(database)
    try:
        assert await connection.fetchval("SELECT count(*) FROM schema_migration") > 0
        await connection.execute("CREATE TABLE mark (turn integer)")  # would collide if the clone were shared
    finally:
        await connection.close()


async def test_a_connection_left_open_does_not_keep_the_database_from_going(database: str):
    connection = await asyncpg.connect(database)
    assert await connection.fetchval("SELECT current_database()") in database
    connection.terminate()
