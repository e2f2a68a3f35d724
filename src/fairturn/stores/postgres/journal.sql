-- name: append
-- Rows go in by id, so that two processes that store the same deliveries wait for each other in one direction only.
-- Serial and time are drawn in the order of arrival, the one that route works in; of events that are routed in this very
-- transaction they were drawn before. unnest fills short columns up with null: of sources, types and lanes one value
-- stands for all, others came empty.
with arrived as (
    insert into delivery (id, source_id, content_type, body)
    select id, coalesce(source_id, ($2::text[])[1]), coalesce(content_type, ($3::text[])[1]), body
    from unnest($1::bytea[], $2::text[], $3::text[], $4::bytea[]) as d (id, source_id, content_type, body)
    order by id
    -- Bytes whose retention has passed come back with a new delivery: an event in it may be new to us.
    on conflict (id) do update set body = excluded.body where delivery.body is null
), numbered as materialized (
    -- What came by another machine's clock came by ours until now at the latest.
    select e.*, coalesce(e.drawn, nextval('event_serial_seq')) as serial,
           least(case when cardinality($13) = 1 then ($13::timestamptz[])[1] else e.came_at end,
                 clock_timestamp()) as received_at
    from unnest($5::bytea[], $6::bytea[], $7::integer[], $8::text[], $9::text[], $10::bytea[], $11::text[], $12::text[],
                $13::timestamptz[], $14::bigint[], $15::bigint[])
         with ordinality as e (id, delivery_id, item, source_id, lane, body, marks, problem, came_at, drawn, lead_id,
                               place)
), stored as (
    insert into event (id, serial, delivery_id, item, source_id, lane, received_at, body, marks, state, problem, lead_id)
    overriding system value
    select id, serial, delivery_id, coalesce(item, 0), coalesce(source_id, ($8::text[])[1]),
           coalesce(lane, ($9::text[])[1]), received_at, body,
           coalesce(string_to_array(marks, ','), '{}'),
           case when problem is not null then 'quarantined' when lead_id is not null then 'routed' else 'pending' end,
           problem, lead_id
    from numbered
    order by id
    on conflict (id) do nothing
    returning state
)
-- One payload-free hint per commit, and none for what was here already.
select (select count(*) from stored) as stored,
       (select pg_notify('fairturn_event', '') where exists (select from stored where state = 'pending')) as hint

-- name: admit
-- Which of these are here already, and for the others what the journal would have given them.
select clock_timestamp() as now,
       (select jsonb_object_agg(id, coalesce(paused_reason, 'paused')) from rep where paused_at is not null) as paused,
       array(select id from event where id = any($1::bytea[])) as known,
       array(select nextval('event_serial_seq') from generate_series(1, cardinality($1))) as serials

-- name: backlog
select count(*)::integer as unrouted,
       (select received_at from event where state = 'pending' order by serial limit 1) as oldest_at
from (select from event where state = 'pending' limit $1) as pending

-- name: results
-- Two leads that proved to be one person: the older answers.
with recursive chain as (
    select e.id as event, l.*
    from event e join lead l on l.id = e.lead_id
    where e.id = any($1::bytea[]) and ($2::text is null or e.source_id = $2)
  union all
    select c.event, l.*
    from chain c join lead l on l.id = c.merged_into
)
select c.event, c.id, c.status, c.rep_id, c.pool_id,
       coalesce(c.reason, a.reason, c.rule_id, '') as why, o.owner
from chain c
left join lateral (
    select reason from assignment
    where lead_id = c.id and rep_id = c.rep_id and kind in ('turn', 'credit', 'kept', 'owner')
    order by id desc limit 1
) as a on true
left join lateral (
    -- Of the record that is written: whoever owns it keeps the lead.
    select p.person -> 'owner' as owner
    from existing e
    join change h on h.lead_id = e.lead_id and h.destination_id = e.destination_id
    cross join jsonb_array_elements(e.people) as p (person)
    where c.status = 'owned' and e.lead_id = c.id and p.person ->> 'record_id' = h.record_id
      and p.person -> 'owner' ->> 'name' is not null
    order by strpos(c.reason, h.record_id) desc
    limit 1
) as o on true
where c.merged_into is null
union all
select id, null, 'quarantined', null, null, coalesce(problem, ''), null
from event where id = any($1::bytea[]) and state = 'quarantined' and ($2::text is null or source_id = $2)

-- name: purge_deliveries
-- Events that are still to be routed keep their bytes, and with them everything that came later.
with kept as (
    select least(
        clock_timestamp() - make_interval(secs => $1),
        (select received_at - interval '1 minute' from event where state = 'pending' order by serial limit 1),
        (select received_at - interval '1 minute' from event where state = 'waiting' order by expires_at limit 1)
    ) as since
), old as (
    select id from delivery
    where body is not null and received_at < (select since from kept)
    order by received_at limit $2
    for update skip locked
)
update delivery d set body = null from old where d.id = old.id

-- name: purge_events
with kept as (
    select clock_timestamp() - make_interval(secs => $1) as since
), old as (
    select id from event
    where body is not null and received_at < (select since from kept) and state not in ('pending', 'waiting')
    order by received_at limit $2
    for update skip locked
)
update event e set body = null from old where e.id = old.id

-- name: quarantined
select id, serial, source_id, item, received_at, problem
from event
where state = 'quarantined' and serial < $1
order by serial desc
limit $2
