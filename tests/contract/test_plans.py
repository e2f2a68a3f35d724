"""What is asked often, or of all, enters an index: its plan is looked at, since only a year of leads would show it."""

import asyncpg
import pytest

from fairturn.stores.postgres.database import SESSION, queries

DAY = 86_400
NOBODY = "00000000-0000-0000-0000-000000000000"
# (noun, statement, arguments as SQL, what its plan has to say): the part behind "Index Cond" bounds what is read.
ENTERED = [
    ("ledger", "standing", f"'crm', '{NOBODY}'", "taken_at > (statement_timestamp() - "),
    ("ledger", "standing", f"'crm', '{NOBODY}'", "at > (statement_timestamp() - "),
    ("ledger", "ours", f"'crm', 1, '{NOBODY}'", "change_flying"),
    ("ledger", "next_due", "'crm', now()", "change_due"),
    ("broom", "drop_events", f"{DAY}, 10", "received_at < (statement_timestamp() - "),
    ("reads", "destinations", "", "answered_at > (statement_timestamp() - "),
    ("reads", "destinations", "", "change_pending"),
    ("reads", "destinations", "", "change_failed"),
    ("reads", "leads_without_rep", "'held', null, null, null, 10", "lead_without_rep"),
    ("reads", "oldest_without_rep", "'held', null, null, 10", "lead_without_rep"),
    ("reads", "find_record", "'{00Q1}'", "change_record"),
    ("reads", "find_record", "'{ft-1}'", "change_destination_id_external_key_key"),
]


@pytest.fixture
async def connection(database: str):
    found = await asyncpg.connect(database, server_settings=SESSION, statement_cache_size=0)
    # Tables are empty here: where an index can be entered, it is.
    await found.execute("set enable_seqscan = off; set enable_bitmapscan = off")
    yield found
    await found.close()


@pytest.mark.parametrize(("noun", "name", "arguments", "told"), ENTERED)
async def test_an_index_is_entered(connection, noun: str, name: str, arguments: str, told: str):
    await connection.execute(f"prepare asked as {queries(noun)[name]}")
    call = f"({arguments})" if arguments else ""
    plan = [row[0] for row in await connection.fetch(f"explain (costs off) execute asked{call}")]
    assert any(told in line for line in plan if "Index Cond" in line or "Index Scan" in line or "Index Only" in line), (
        "\n".join(plan)
    )
