-- name: claim
-- Of the session, not of a transaction: it is free the moment its process ends. Advisory locks are per database.
select pg_try_advisory_lock(hashtextextended($1, 0))

-- name: alive
select 1
