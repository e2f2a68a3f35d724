-- name: due
select lead_id, email, since from existing
where destination_id = $1 and state = 'due'
order by since, lead_id
limit $2

-- name: lock
-- Leads before anything of theirs, as everywhere.
select id, status, rule_id from lead where id = any($1::bigint[]) and merged_into is null
order by id
for no key update

-- name: answer
-- What was asked with another address than the lead has now is no answer.
update existing e
set state = 'answered', people = n.people::jsonb, answered_at = clock_timestamp(), why = null
from unnest($2::bigint[], $3::text[], $4::text[]) as n (lead_id, email, people)
where e.lead_id = n.lead_id and e.destination_id = $1 and e.email = n.email and e.state <> 'answered'
returning e.lead_id

-- name: give_up
update existing e
set state = 'unknown', why = $3, answered_at = clock_timestamp()
where e.destination_id = $1 and e.lead_id = any($2::bigint[]) and e.state = 'due'
returning e.lead_id

-- name: unanswered
select e.lead_id, e.email, e.since
from existing e join change c on c.lead_id = e.lead_id and c.destination_id = e.destination_id
where e.destination_id = $1 and e.lead_id = any($2::bigint[]) and e.state = 'unknown'
  and c.state = 'pending' and c.record_id is null and c.confirmed = 0
order by e.since, e.lead_id

-- name: unasked
-- Leads that got their owner while this destination was in shadow mode, told not to ask, or not in the settings.
select c.lead_id, l.fields
from change c join lead l on l.id = c.lead_id
where c.destination_id = $1 and c.lead_id = any($2::bigint[]) and l.mode = 'live'
  and c.state = 'pending' and c.record_id is null and c.confirmed = 0
  and not exists (select from existing e where e.lead_id = c.lead_id and e.destination_id = c.destination_id)

-- name: ask_late
insert into existing (lead_id, destination_id, email, state)
select lead_id, $1, email, 'unknown' from unnest($2::bigint[], $3::text[]) as n (lead_id, email)
on conflict (lead_id, destination_id) do nothing

-- name: go_on
update lead l set wait_until = clock_timestamp()
where l.id = any($1::bigint[]) and l.status = 'waiting'
  and not exists (select from existing e where e.lead_id = l.id and e.state = 'due')
returning l.id

-- name: leave_owners
-- An answer that came late: who owns the record keeps it, whatever the turn said meanwhile.
update change c set owner_confirmed = c.owner_version
from unnest($2::bigint[], $3::text[]) as n (lead_id, record_id)
where c.destination_id = $1 and c.lead_id = n.lead_id and c.record_id = n.record_id
  and c.confirmed = 0 and c.state <> 'in_flight'

-- name: judge_anew
-- Held for a rep of ours, and now it turns out that it has an owner there who keeps it: route looks at it again, or it
-- would be taken from him when a rep is free.
update lead l set status = 'waiting', wait_until = clock_timestamp(), held_at = null
from unnest($2::bigint[], $3::text[]) as n (lead_id, record_id)
join change c on c.lead_id = n.lead_id and c.destination_id = $1 and c.record_id = n.record_id and c.confirmed = 0
where l.id = n.lead_id and l.status = 'held'

-- name: asked
insert into look_up (destination_id, asked, found, calls) values ($1, $2, $3, $4)

-- name: notify
select pg_notify('fairturn_event', '')
