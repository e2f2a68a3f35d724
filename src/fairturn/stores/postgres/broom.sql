-- name: expire
with late as (
    select id from event
    where state = 'waiting' and expires_at <= clock_timestamp()
    order by expires_at limit $1
    for update skip locked
)
update event e
set state = 'expired', expires_at = null, problem = 'no lead with one of its keys came while it waited'
from late where e.id = late.id

-- name: drop_events
-- statement_timestamp() stands still, so that the index is entered by it; clock_timestamp() would be compared with
-- every row of a year, each time.
with old as (
    select id from event
    where received_at < statement_timestamp() - make_interval(secs => $1) and state not in ('pending', 'waiting')
    order by received_at limit $2
    for update skip locked
)
delete from event e using old where e.id = old.id
