"""States that must not be, and that PostgreSQL does not store."""

import asyncpg
import pytest

LEAD = "insert into lead (id, source_id, status, fields{columns}) values (1, 'web', {values})"
POOL = "insert into rep (id) values ('ann'); insert into pool (id) values ('main');"
CHANGE = """
insert into lead (id, source_id, status, fields) values (1, 'web', 'ignored', '{{}}');
insert into destination (id) values ('crm');
insert into change (lead_id, destination_id, state, version{columns}) values (1, 'crm', {values})
"""
ENTRY = POOL + "insert into assignment (pool_id, seq, kind, rep_id, reason, actor{columns}) values ({values})"
EVENT = """
insert into event (id, delivery_id, item, source_id, lane, state{columns})
values (decode(repeat('ab', 16), 'hex'), 'x', 0, 'web', 'batch', {values})
"""

BAD = {
    "assigned to nobody": LEAD.format(columns="", values="'assigned', '{}'"),
    "an owner without being assigned": LEAD.format(columns=", rep_id", values="'ignored', '{}', 'ann'"),
    "held in no pool": LEAD.format(columns="", values="'held', '{}'"),
    "waiting without an end": LEAD.format(columns="", values="'waiting', '{}'"),
    "merged into a younger lead": LEAD.format(columns=", merged_into", values="'ignored', '{}', 2"),
    "an unknown status": LEAD.format(columns="", values="'lost', '{}'"),
    "pending since never": CHANGE.format(columns="", values="'pending', 1"),
    "in flight in no request": CHANGE.format(columns="", values="'in_flight', 1"),
    "failed without a time": CHANGE.format(columns="", values="'failed', 1"),
    "confirmed beyond its version": CHANGE.format(columns=", confirmed", values="'done', 1, 2"),
    "an owner newer than the change": CHANGE.format(columns=", owner_version", values="'done', 1, 2"),
    "a turn without who shared": ENTRY.format(columns=", lead_id", values="'main', 1, 'turn', 'ann', 'r', 'a', null"),
    "a pool's entry without a number": ENTRY.format(columns="", values="'main', null, 'forgiven', 'ann', 'r', 'a'"),
    "a forgiven lead": ENTRY.format(columns=", lead_id", values="'main', 1, 'forgiven', 'ann', 'r', 'a', 1"),
    "an unknown kind": ENTRY.format(columns="", values="'main', 1, 'gift', 'ann', 'r', 'a'"),
    "paused by nobody": "insert into rep (id, paused_at) values ('ann', now())",
    "quarantined for no reason": EVENT.format(columns="", values="'quarantined'"),
    "routed to no lead": EVENT.format(columns="", values="'routed'"),
    "waiting for ever": EVENT.format(columns="", values="'waiting'"),
    "a key that is not a hash": "insert into lead_key (digest, kind, value) values ('ab', 'email', 'a@b.c')",
}


@pytest.mark.parametrize("state", BAD)
async def test_a_bad_state_is_not_stored(database: str, state: str) -> None:
    connection = await asyncpg.connect(database)
    try:
        with pytest.raises((asyncpg.CheckViolationError, asyncpg.NotNullViolationError)):
            await connection.execute(BAD[state])
    finally:
        await connection.close()


async def test_a_pool_sequence_has_each_number_once(database: str) -> None:
    connection = await asyncpg.connect(database)
    row = ENTRY.removeprefix(POOL).format(columns="", values="'main', 1, 'forgiven', 'ann', 'r', 'a'") + ";"
    try:
        with pytest.raises(asyncpg.UniqueViolationError):
            await connection.execute(POOL + row + row)
    finally:
        await connection.close()
