-- name: lock
-- Two starters with one file: the second waits and finds its version there. Not a pool's lock: those follow.
select pg_advisory_xact_lock(7246115020918)

-- name: current
select id, digest, body from config_version order by id desc limit 1

-- name: version
select body from config_version where id = $1

-- name: insert
insert into config_version (digest, body, actor) values ($1, $2, $3) returning id

-- name: tell
select pg_notify('fairturn_config', '')

-- name: reps
insert into rep (id) select unnest($1::text[]) on conflict (id) do nothing

-- name: pools
insert into pool (id) select unnest($1::text[]) on conflict (id) do nothing

-- name: destinations
-- One that comes back knows as little of the time between as a new one.
with gone as (
    update destination set left_at = clock_timestamp() where id <> all($1::text[]) and left_at is null
)
insert into destination as d (id) select unnest($1::text[])
on conflict (id) do update set joined_at = clock_timestamp(), left_at = null where d.left_at is not null

-- name: join
insert into rotation (pool_id, rep_id, position)
select $1, n.rep_id, coalesce((select max(position) from rotation where pool_id = $1), 0) + n.place
from unnest($2::text[]) with ordinality as n (rep_id, place)
returning rep_id, position

-- name: leave
delete from rotation where pool_id = $1 and rep_id = any($2::text[])
