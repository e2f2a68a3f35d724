"""Every row that names another: that other is there. The hot tables have no foreign keys (decision 0022)."""

from __future__ import annotations

import asyncpg

STRAY = """
select 'lead -> account', id::text from lead l
where account_id is not null and not exists (select from account where id = l.account_id)
union all
select 'lead_key -> lead', value from lead_key k
where lead_id is not null and not exists (select from lead where id = k.lead_id)
union all
select 'assignment -> pool', id::text from assignment a
where pool_id is not null and not exists (select from pool where id = a.pool_id)
union all
select 'assignment -> lead', id::text from assignment a
where lead_id is not null and not exists (select from lead where id = a.lead_id)
union all
select 'assignment -> share_set', id::text from assignment a
where share_hash is not null and not exists (select from share_set where hash = a.share_hash)
union all
select 'change -> lead', lead_id::text from change c where not exists (select from lead where id = c.lead_id)
union all
select 'change -> destination', destination_id from change c
where not exists (select from destination where id = c.destination_id)
union all
select 'event -> lead', serial::text from event e
where lead_id is not null and not exists (select from lead where id = e.lead_id)
"""


async def no_stray_rows(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        stray = [tuple(row) for row in await connection.fetch(STRAY)]
    finally:
        await connection.close()
    assert stray == []
