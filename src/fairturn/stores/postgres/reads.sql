-- name: reps
-- Here and below: statement_timestamp() stands still, so that an index is entered by it and not walked.
select r.id, r.paused_at, r.paused_by, r.paused_reason,
       coalesce((select array_agg(m.pool_id order by m.pool_id) from rotation m where m.rep_id = r.id), '{}') as pools,
       coalesce(d.leads, 0) as leads
from rep r
left join (select rep_id, count(*) as leads from lead
           where created_at > statement_timestamp() - interval '24 hours' and status = 'assigned' and merged_into is null
           group by rep_id) d on d.rep_id = r.id
order by r.id

-- name: paused
select id, coalesce(paused_reason, 'paused') as reason from rep where paused_at is not null

-- name: leads
select id, created_at, source_id, status, fields, account_id, rep_id, pool_id, rule_id, reason, wait_until, merged_into,
       priority, mode, held_at, assigned_at
from lead
where merged_into is null
  and ($1::text is null or status = $1) and ($2::text is null or pool_id = $2) and ($3::text is null or rep_id = $3)
  and ($4::bigint is null or id < $4)
order by id desc
limit $5

-- name: leads_without_rep
-- As above, of a status other than assigned: few of all, with an index of their own.
select id, created_at, source_id, status, fields, account_id, rep_id, pool_id, rule_id, reason, wait_until, merged_into,
       priority, mode, held_at, assigned_at
from lead
where merged_into is null and status <> 'assigned' and status = $1
  and ($2::text is null or pool_id = $2) and ($3::text is null or rep_id = $3) and ($4::bigint is null or id < $4)
order by id desc
limit $5

-- name: oldest_without_rep
select id, created_at, source_id, status, fields, account_id, rep_id, pool_id, rule_id, reason, wait_until, merged_into,
       priority, mode, held_at, assigned_at
from lead
where merged_into is null and status <> 'assigned' and status = $1
  and ($2::text is null or pool_id = $2) and ($3::text is null or rep_id = $3)
order by id
limit $4

-- name: oldest_leads
select id, created_at, source_id, status, fields, account_id, rep_id, pool_id, rule_id, reason, wait_until, merged_into,
       priority, mode, held_at, assigned_at
from lead
where merged_into is null
  and ($1::text is null or status = $1) and ($2::text is null or pool_id = $2) and ($3::text is null or rep_id = $3)
order by id
limit $4

-- name: find
-- By key, then by what the CRM calls it, then by an id of any source. The last has no index of its own: it is looked for
-- only where nothing else leads there.
select coalesce(l.merged_into, l.id) as id
from lead_key k join lead l on l.id = k.lead_id
where k.digest = any($1::bytea[])
group by 1 order by 1

-- name: find_record
select coalesce(l.merged_into, l.id) as id
from (
    select lead_id from change where record_id = any($1::text[])
    union
    select c.lead_id from destination d
    join change c on c.destination_id = d.id and c.external_key = any($1::text[])
) c
join lead l on l.id = c.lead_id
group by 1 order by 1
limit 20

-- name: find_value
select coalesce(l.merged_into, l.id) as id
from lead_key k join lead l on l.id = k.lead_id
where k.value = $1
group by 1 order by 1
limit 20

-- name: lead
select id, created_at, source_id, status, fields, account_id, rep_id, pool_id, rule_id, reason, wait_until, merged_into,
       priority, mode, held_at, assigned_at
from lead where id = (select coalesce(merged_into, id) from lead where id = $1)

-- name: merged
select id from lead where merged_into = $1 order by id

-- name: keys
select digest, kind, value from lead_key where lead_id = any($1::bigint[]) order by kind, value limit 200

-- name: events
-- The newest 500; whoever sends a lead more often than that is known by then.
select * from (
    select id, serial, source_id, received_at, state, problem, marks from event
    where lead_id = any($1::bigint[]) order by serial desc limit 500
) e order by serial

-- name: assignments
select a.pool_id, a.seq, a.kind, a.rep_id, a.lead_id, s.members, a.eligible, a.rule_id, a.reason, a.counts, a.actor,
       a.config, a.at
from assignment a left join share_set s on s.hash = a.share_hash
where a.lead_id = any($1::bigint[])
order by a.id

-- name: changes
select destination_id, state, version, confirmed, record_id, external_key, first_event_at,
       nullif(due_at, 'epoch') as due_at, attempts, cause, code, message, failed_at,
       record, without
from change where lead_id = $1
order by destination_id

-- name: existing
select destination_id, state, email, since, answered_at, why,
       array(select p.person ->> 'record_id' from jsonb_array_elements(people) as p (person)) as records
from existing where lead_id = $1
order by destination_id

-- name: writes
select * from (
    select w.destination_id, w.version, b.taken_at, w.oldest_event_at, w.answered_at, w.outcome, w.code, w.message,
           w.record_id, w.created, w.owner, w.record, w.without, w.owner_stands, b.records, b.id
    from write w join batch b on b.id = w.batch_id
    where w.lead_id = any($1::bigint[])
    order by b.id desc limit 200
) w order by id

-- name: destinations
select d.id, d.org, d.paused_at, d.paused_by, d.paused_reason, d.blocked_cause,
       case when d.blocked_until > clock_timestamp() then d.blocked_until end as blocked_until,
       coalesce(d.lease_until > clock_timestamp(), false) as served,
       p.pending, f.in_flight, b.failed, p.oldest_at, w.answered_at, d.daily_calls,
       (select coalesce(sum(b.calls), 0) from batch b
        where b.destination_id = d.id and b.taken_at > statement_timestamp() - interval '24 hours')
       + (select coalesce(sum(k.calls), 0) from look_up k
          where k.destination_id = d.id and k.at > statement_timestamp() - interval '24 hours') as calls_day
from destination d
-- One index for each state: what is done is most of all changes, and none of these.
cross join lateral (
    select count(*) as pending, min(c.first_event_at) as oldest_at
    from change c join lead l on l.id = c.lead_id and l.merged_into is null
    where c.destination_id = d.id and c.state = 'pending'
) p
cross join lateral (
    select count(*) as in_flight from change c join lead l on l.id = c.lead_id and l.merged_into is null
    where c.destination_id = d.id and c.state = 'in_flight'
) f
cross join lateral (
    select count(*) as failed from change c join lead l on l.id = c.lead_id and l.merged_into is null
    where c.destination_id = d.id and c.state = 'failed'
) b
cross join lateral (
    select max(answered_at) as answered_at from write
    where destination_id = d.id and answered_at > statement_timestamp() - interval '24 hours'
) w
order by d.id

-- name: failed
select c.lead_id, c.destination_id, c.code, c.message, c.failed_at, c.attempts, l.rep_id, l.fields
from change c join lead l on l.id = c.lead_id and l.merged_into is null
where c.state = 'failed'
  and ($1::bigint[] is null or c.lead_id = any($1)) and ($2::text is null or c.code = $2)
  and ($3::text is null or c.destination_id = $3)
order by c.failed_at desc, c.lead_id
limit $4

-- name: without
select c.lead_id, c.destination_id, c.without, c.found_at, l.rep_id, l.fields
from change c join lead l on l.id = c.lead_id and l.merged_into is null
where c.without is not null
  and ($1::bigint[] is null or c.lead_id = any($1)) and ($2::text is null or c.destination_id = $2)
order by c.found_at desc nulls last, c.lead_id
limit $3

-- name: history
select id, at, actor, verb, object, reason, detail from history
where $1::text is null or object = $1 or object like $2
order by id desc
limit $3
