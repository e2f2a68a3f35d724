-- name: pools
select id, seq, total, given, last_rep as last from pool order by id

-- name: balances
select pool_id, rep_id, balance, settled from rotation order by pool_id, position

-- name: credits
select id, pool_id, rep_id, kind, opened_seq from credit where closed_seq is null order by pool_id, id

-- name: entries
select seq, kind, rep_id, lead_id, share_hash, eligible, reason, counts
from assignment where pool_id = $1 and ($2::bigint is null or seq < $2)
order by seq

-- name: entries_back
select seq, kind, rep_id, lead_id, share_hash, eligible, reason, counts
from assignment where pool_id = $1 and seq >= $2
order by seq desc

-- name: share_sets
select hash, members from share_set where hash = any($1::bytea[])

-- name: outside
select count(*) from assignment where kind = 'owner'

-- name: answered
-- Leads with an event of the time in question, as the older of those that proved to be one person.
select l.id, l.created_at, l.status, l.rep_id, l.fields -> 'email' ->> 0 as email, c.external_key, c.state,
       c.confirmed > 0 as confirmed, c.record_id, c.record, w.owner,
       case when c.state = 'done' and c.confirmed = 0 and coalesce(t.trial, false) then false
            else c.lead_id is not null or e.last_at >= d.joined_at end as due,
       array(select p ->> 'record_id' from existing x cross join jsonb_array_elements(x.people) p
             where x.lead_id = l.id and x.destination_id = $1) as there,
       exists (select from existing x
               where x.lead_id = l.id and x.destination_id = $1 and x.state = 'unknown') as unheard,
       l.rule_id
from (
    select coalesce(l.merged_into, l.id) as id, max(e.received_at) as last_at
    from event e join lead l on l.id = e.lead_id
    where e.received_at >= $2 and e.state = 'routed'
    group by 1
) e
join lead l on l.id = e.id and l.mode = 'live'
join destination d on d.id = $1
left join change c on c.lead_id = l.id and c.destination_id = $1
left join lateral (
    select owner from write
    where lead_id = l.id and destination_id = $1 and outcome = 'written'
      and (owner is not null or owner_stands is not null)
    order by batch_id desc limit 1
) w on true
left join lateral (
    select outcome = 'shadow' as trial from write
    where lead_id = l.id and destination_id = $1 and answered_at is not null
    order by batch_id desc limit 1
) t on true
order by l.id
