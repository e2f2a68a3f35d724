-- All that a turn depends on. In READ COMMITTED each statement of a volatile function sees what was committed before it
-- began: what is read after the lock is what the turn before left. One statement that locked and read saw the time
-- before it waited, and gave the same rep six times; two statements are a round trip more under every pool's lock.
-- Balances pass the digits of a JSON number. Of the latest lead of each account: one step down an index, however many
-- leads it has had.
create function turn_facts(names text[], accounts bigint[], lock boolean)
returns table (config integer, paused jsonb, pools jsonb, members jsonb, credits jsonb, sticky jsonb, held boolean)
language plpgsql volatile as $$
#variable_conflict use_column
begin
    if lock then
        perform from pool p where p.id = any(names) order by p.id for update;
    end if;
    return query select
        (select max(v.id) from config_version v),
        (select jsonb_object_agg(r.id, coalesce(r.paused_reason, 'paused')) from rep r where r.paused_at is not null),
        (select jsonb_agg(jsonb_build_array(p.id, p.seq, p.total, p.given, p.last_rep))
         from pool p where p.id = any(names)),
        (select jsonb_agg(jsonb_build_array(r.pool_id, r.rep_id, r.position, r.balance::text, r.settled)
                          order by r.pool_id, r.position)
         from rotation r where r.pool_id = any(names)),
        (select jsonb_agg(jsonb_build_array(c.pool_id, c.id, c.rep_id, c.kind, c.opened_seq) order by c.pool_id, c.id)
         from credit c where c.pool_id = any(names) and c.closed_seq is null),
        (select jsonb_agg(jsonb_build_array(a.id, l.rep_id,
                                            extract(epoch from clock_timestamp() - l.assigned_at)::float8))
         from unnest(accounts) as a (id)
         cross join lateral (
             select rep_id, assigned_at from lead
             where account_id = a.id and status = 'assigned' and assigned_at is not null
             order by assigned_at desc, id desc
             limit 1
         ) as l),
        exists (select from lead l where l.pool_id = any(names) and l.status = 'held' and l.merged_into is null);
end
$$;
