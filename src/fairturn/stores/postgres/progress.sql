-- name: leads
select status, count(*) as count from lead where merged_into is null group by status

-- name: owners
select pool_id, rep_id, count(*) as count from lead
where status = 'assigned' and pool_id is not null and merged_into is null
group by pool_id, rep_id order by pool_id, rep_id

-- name: events
select count(*) filter (where state = 'pending') as pending, count(*) filter (where state = 'waiting') as waiting,
       count(*) filter (where state = 'quarantined') as quarantined
from event where state in ('pending', 'waiting', 'quarantined')

-- name: changes
select count(*) filter (where c.confirmed > 0) as written,
       count(*) filter (where c.state in ('pending', 'in_flight')) as open,
       count(*) filter (where c.state = 'failed') as failed
from change c join lead l on l.id = c.lead_id and l.merged_into is null
where c.destination_id = $1

-- name: served
select coalesce(max(lease_until) > clock_timestamp(), false) from destination where id = $1

-- name: kept
-- Whose owner no write has named is in the CRM's own hands: it had one.
with kept as (
    select a.pool_id, exists (select from write w where w.lead_id = a.lead_id and w.owner is not null) as told
    from assignment a where a.kind = 'kept'
)
select pool_id, count(*) filter (where told) as company, count(*) filter (where not told) as known
from kept group by pool_id

-- name: waits
select extract(epoch from answered_at - oldest_event_at)::float8 from write
where destination_id = $1 and outcome = 'written' and answered_at is not null
