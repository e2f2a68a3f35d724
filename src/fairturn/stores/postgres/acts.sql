-- name: rep
select id, paused_at, paused_by, paused_reason from rep where id = $1 for update

-- name: rep_names
select id from rep order by id

-- name: pause_rep
update rep set paused_at = clock_timestamp(), paused_by = $2, paused_reason = $3 where id = $1

-- name: resume_rep
update rep set paused_at = null, paused_by = null, paused_reason = null where id = $1

-- name: destination
select id, paused_at, paused_by, paused_reason, blocked_until > clock_timestamp() as blocked, left_at,
       daily_calls
from destination where id = $1 for no key update

-- name: destination_names
select id from destination order by id

-- name: pause_destination
update destination set paused_at = clock_timestamp(), paused_by = $2, paused_reason = $3 where id = $1

-- name: resume_destination
-- A person says that it works again: sent to at once, and the failures of before count no more towards the ceiling.
update destination
set paused_at = null, paused_by = null, paused_reason = null, blocked_until = null, blocked_cause = null,
    blocked_person = false, failures = 0, failed_since = clock_timestamp()
where id = $1

-- name: limit_destination
update destination set daily_calls = $2 where id = $1

-- name: backfill
-- By lead, as route locks them: those that were never due there, and those that were only kept in shadow. Behind
-- everything that is new: the priority of bulk.
with old as materialized (
    select l.id, l.account_id from lead l
    where l.id > $2 and l.merged_into is null and l.mode = 'live'
      and l.status in ('assigned', 'parked', 'held', 'owned')
      and ($3::timestamptz is null or l.created_at >= $3)
      and not exists (select from change c where c.lead_id = l.id and c.destination_id = $1
                      and not (c.state = 'done' and c.confirmed = 0 and (
                          select w.outcome from write w
                          where w.lead_id = l.id and w.destination_id = $1 and w.answered_at is not null
                          order by w.batch_id desc limit 1) is not distinct from 'shadow'))
    order by l.id
    limit $4
    for no key update
), made as (
    insert into change
        (lead_id, destination_id, state, version, owner_version, owner_at, account_id, priority, first_event_at)
    select id, $1, 'pending', 1, 1, clock_timestamp(), account_id, 'bulk', clock_timestamp() from old
    on conflict (lead_id, destination_id) do update
    set state = 'pending', priority = 'bulk', first_event_at = clock_timestamp()
    where change.state = 'done' and change.confirmed = 0
    returning lead_id
)
select (select count(*) from made) as made, max(id) as last, count(*) as seen from old

-- name: now
select clock_timestamp()

-- name: retry
-- In order of leads, as route locks them; what route or a retry of somebody else holds right now is waited for, so that
-- two operators at once never send a write twice. A failed write that comes after $4 is a new one, and stays.
with picked as materialized (
    select c.lead_id, c.destination_id
    from change c join lead l on l.id = c.lead_id and l.merged_into is null
    where c.state = 'failed' and c.failed_at <= $4
      and ($1::bigint[] is null or c.lead_id = any($1)) and ($2::text is null or c.code = $2)
      and ($3::text is null or c.destination_id = $3)
    order by c.lead_id, c.destination_id
    limit $5
    for update of c
)
update change c
set state = 'pending', failed_at = null, attempts = 0, first_try_at = null, due_at = 'epoch', cause = $6,
    refused = null, first_event_at = coalesce(c.first_event_at, clock_timestamp())
from picked p
where c.lead_id = p.lead_id and c.destination_id = p.destination_id
returning c.lead_id, c.destination_id

-- name: retry_without
-- As above. In flight: touch the version only, as route does. What is written without a field after $3 stays.
with picked as materialized (
    select c.lead_id, c.destination_id
    from change c join lead l on l.id = c.lead_id and l.merged_into is null
    where c.without is not null and c.state <> 'failed' and coalesce(c.found_at <= $3, true)
      and ($1::bigint[] is null or c.lead_id = any($1)) and ($2::text is null or c.destination_id = $2)
    order by c.lead_id, c.destination_id
    limit $4
    for update of c
)
update change c
set version = c.version + 1, without = null, refused = null,
    first_event_at = coalesce(c.first_event_at, clock_timestamp()),
    state = case when c.state = 'done' then 'pending' else c.state end,
    due_at = case when c.state = 'done' then 'epoch' else c.due_at end,
    cause = case when c.state = 'done' then $5 else c.cause end
from picked p
where c.lead_id = p.lead_id and c.destination_id = p.destination_id
returning c.lead_id, c.destination_id

-- name: under_way
select count(*) from change c join lead l on l.id = c.lead_id and l.merged_into is null
where c.state in ('pending', 'in_flight')
  and ($1::bigint[] is not null or c.code is not null)
  and ($1::bigint[] is null or c.lead_id = any($1)) and ($2::text is null or c.code = $2)
  and ($3::text is null or c.destination_id = $3)

-- name: drop
-- A change that is done with an unconfirmed version was given up: it is sent again only if the lead itself changes, and
-- then under the same external id, since the CRM may have more of it than it told us.
with picked as materialized (
    select lead_id, destination_id, code from change
    where state = 'failed' and lead_id = any($1::bigint[])
      and ($2::text is null or code = $2) and ($3::text is null or destination_id = $3)
    order by lead_id, destination_id
    for update
), done as (
    update change c set state = 'done', failed_at = null, first_event_at = null, cause = $4
    from picked p where c.lead_id = p.lead_id and c.destination_id = p.destination_id
)
select lead_id, destination_id from picked order by lead_id, destination_id

-- name: elsewhere
-- Leads that a destination has, found there or made, will be sent, or may have: a send whose answer never came and was
-- not followed by one.
select c.lead_id from change c
where c.lead_id = any($1::bigint[])
  and (c.confirmed > 0 or c.record_id is not null or c.state in ('pending', 'in_flight', 'failed')
       or (select w.outcome from write w
           where w.lead_id = c.lead_id and w.destination_id = c.destination_id and w.answered_at is not null
           order by w.batch_id desc limit 1) = 'unknown')
group by c.lead_id

-- name: turns
-- The row that gave each lead to its rep; none where the last word on the lead is that it was given back.
select distinct on (lead) lead, x.*
from (
    select coalesce(l.merged_into, l.id) as lead, a.pool_id, a.seq, a.kind, a.rep_id, a.lead_id, null::jsonb as members,
           a.eligible, a.rule_id, a.reason, a.counts, a.actor, a.config, a.at, a.id
    from assignment a join lead l on l.id = a.lead_id
    where (l.id = any($1::bigint[]) or l.merged_into = any($1::bigint[])) and a.pool_id is not null
) x
order by lead, id desc

-- name: note
insert into history (actor, verb, object, reason, detail) values ($1, $2, $3, $4, $5)

-- name: notify
select pg_notify($1, '')
