-- name: listed
select id, source_id, received_at, state, problem, marks
from event
where state = any($1::text[]) and ($2::text is null or source_id = $2)
order by serial desc
limit $3

-- name: again
-- Those whose bytes are gone stay: there is nothing left to read.
with chosen as (
    select e.id from event e join delivery d on d.id = e.delivery_id
    where e.state = 'quarantined' and ($1::bytea[] is null or e.id = any($1)) and ($2::text is null or e.source_id = $2)
      and coalesce(e.body, d.body) is not null
    order by e.serial
    for update of e
)
update event e set state = 'pending', problem = null from chosen c where e.id = c.id

-- name: note
insert into history (actor, verb, object, reason, detail) values ($1, 'read again', $2, $3, $4)

-- name: wake
select pg_notify('fairturn_event', '')
