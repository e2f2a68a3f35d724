-- name: lease
-- Ours already, free, or left behind by a holder that did not renew it.
insert into destination as d (id, lease_holder, lease_until)
values ($1, $2, clock_timestamp() + make_interval(secs => $3))
on conflict (id) do update
set lease_holder = excluded.lease_holder, lease_until = excluded.lease_until,
    -- Whoever starts anew may come with the credentials that were missing: tried at once, not in five minutes.
    blocked_until = case when d.blocked_person and d.lease_holder is distinct from excluded.lease_holder then null
                         else d.blocked_until end
where d.lease_holder = excluded.lease_holder or d.lease_until is null or d.lease_until < clock_timestamp()

-- name: standing
select coalesce(d.lease_holder = $2 and d.lease_until > clock_timestamp(), false) as held,
       clock_timestamp() as now,
       case when d.paused_at is not null then coalesce(d.paused_reason, 'paused by ' || d.paused_by) end as paused,
       d.blocked_until, d.org, d.failures, d.sizes,
       (select count(*) from change c
        where c.destination_id = d.id and c.state = 'failed'
          and c.failed_at > greatest(d.failed_since, clock_timestamp() - interval '1 hour')) as failed_hour,
       (select coalesce(sum(b.calls), 0) from batch b
        where b.destination_id = d.id and b.taken_at > clock_timestamp() - interval '24 hours')
       + (select coalesce(sum(k.calls), 0) from look_up k
          where k.destination_id = d.id and k.at > clock_timestamp() - interval '24 hours') as calls_day
from destination d where d.id = $1

-- name: learn
update destination set sizes = $2 where id = $1

-- name: release
update destination set lease_holder = null, lease_until = null where id = $1 and lease_holder = $2

-- name: flying
-- An account may have been joined into another since the request left: compare what both have become. So may a lead: the
-- one that took it over writes the same record, and waits.
select clock_timestamp() as now, count(distinct c.batch_id) as requests,
       coalesce(array_agg(distinct case when a.merged_into is null then a.id else account_root(a.id) end)
                filter (where a.id is not null), '{}') as accounts,
       coalesce(array_agg(l.merged_into) filter (where l.merged_into is not null), '{}') as leads
from change c
join lead l on l.id = c.lead_id
left join write w on w.batch_id = c.batch_id and w.lead_id = c.lead_id
left join account a on a.id = w.account_id
where c.destination_id = $1 and c.state = 'in_flight'

-- name: ripening
-- One walk of the index per priority, so that a million bulk rows are not sorted to find a hundred. Rows that wait for
-- their retry and rows of accounts in flight are passed over here: they must not fill the page and hide the others.
select c.* from unnest(array['high', 'normal', 'bulk']) with ordinality as p (priority, rank)
cross join lateral (
    select c.lead_id, c.first_event_at, c.due_at, c.priority, r.account
    from change c
    join lead l on l.id = c.lead_id and l.merged_into is null
    left join account a on a.id = l.account_id
    cross join lateral (select case when a.merged_into is null then a.id else account_root(a.id) end as account) r
    where c.destination_id = $1 and c.state = 'pending' and c.priority = p.priority and c.due_at <= $4
      and c.lead_id <> all($5::bigint[])
      and (r.account is null or r.account <> all($3::bigint[]))
    order by c.first_event_at
    limit $2
) c
order by p.rank, c.first_event_at
limit $2

-- name: next_due
select c.lead_id, c.first_event_at, c.due_at, c.priority, null::bigint as account
from change c join lead l on l.id = c.lead_id and l.merged_into is null
where c.destination_id = $1 and c.state = 'pending' and c.due_at > $2
order by c.due_at limit 1

-- name: hold
-- Takes of one destination queue here; NO KEY UPDATE lets route's foreign keys pass.
select id from destination
where id = $1 and lease_holder = $2 and lease_until > clock_timestamp() and paused_at is null
  and (blocked_until is null or blocked_until <= clock_timestamp())
for no key update

-- name: claim
-- Leads first, then changes, each in order, and what route holds right now is left for the next round: a take never
-- waits for route, so the two cannot lock each other out.
with quiet as materialized (
    select id from lead where id = any($2::bigint[]) and merged_into is null order by id for key share skip locked
)
select c.lead_id from quiet q join change c on c.lead_id = q.id
where c.destination_id = $1 and c.state = 'pending'
order by c.lead_id
for update of c skip locked

-- name: take
-- A statement of its own, after the claim: route writes a lead's fields and its change's version in one transaction, and
-- only a snapshot younger than the lock shows both as they belong together.
with picked as materialized (
    select c.lead_id, c.version, c.attempts, c.record_id, c.record, c.first_event_at, c.first_try_at,
           c.owner_version > c.owner_confirmed as owner_due, c.external_key as key, l.fields, l.status, l.rep_id, l.pool_id,
           l.park ->> $1 as park, l.mode, r.account
    from change c
    join lead l on l.id = c.lead_id
    left join account a on a.id = l.account_id
    cross join lateral (select case when a.merged_into is null then a.id else account_root(a.id) end as account) r
    where c.destination_id = $1 and c.lead_id = any($3::bigint[]) and c.state = 'pending'
      and c.due_at <= clock_timestamp() and (r.account is null or r.account <> all($5::bigint[]))
      and not exists (select from change f join lead fl on fl.id = f.lead_id
                      where f.destination_id = $1 and f.state = 'in_flight' and fl.merged_into = c.lead_id)
), opened as (
    insert into batch (destination_id, holder, deadline, records)
    select $1, $2, clock_timestamp() + make_interval(secs => $4), count(*) from picked having count(*) > 0
    returning id, deadline
), moved as (
    update change c
    set state = 'in_flight', batch_id = o.id, sent_version = c.version, first_event_at = null, cause = null,
        first_try_at = coalesce(c.first_try_at, clock_timestamp())
    from picked p, opened o
    where c.lead_id = p.lead_id and c.destination_id = $1
), noted as (
    insert into write (batch_id, lead_id, destination_id, version, oldest_event_at, account_id)
    select o.id, p.lead_id, $1, p.version, p.first_event_at, p.account from picked p, opened o
)
select p.*, o.id as batch_id, o.deadline, k.key as account_key, coalesce(p.first_try_at, clock_timestamp()) as tried_at
from picked p cross join opened o left join account k on k.id = p.account

-- name: ours
select c.lead_id from change c join batch b on b.id = c.batch_id
where c.destination_id = $1 and c.batch_id = $2 and b.holder = $3
order by c.lead_id
for update of c

-- name: made_anew
-- Before the settle, which overwrites the id that we knew.
insert into history (actor, verb, object, reason, detail)
select 'fairturn', 'new record', 'lead ' || c.lead_id,
       format('its record %s in %s is gone: deleted there, or merged into another. Its key is now that of %s',
              c.record_id, $1, n.record_id),
       jsonb_build_object('destination', $1, 'before', c.record_id, 'now', n.record_id)
from unnest($3::bigint[], $4::text[]) as n (lead_id, record_id)
join change c on c.lead_id = n.lead_id and c.destination_id = $1 and c.batch_id = $2

-- name: settle
-- A verdict counts for the version that was sent. Version and owner_version may have moved on meanwhile; a newer owner
-- stays due, because owner_confirmed stops at what was sent. A record that was made anew without an owner belongs to the
-- integration's user: its owner is due, as a version of its own.
with v as (
    select *
    from unnest($3::bigint[], $4::text[], $5::float8[], $6::boolean[], $7::text[], $8::text[], $9::text[], $10::text[],
                $11::boolean[], $12::boolean[])
        as v (lead_id, kind, after, counts, code, message, record_id, record, anew, ownerless)
)
update change c
set version = c.version + v.ownerless::integer,
    owner_version = case when v.ownerless then c.version + 1 else c.owner_version end,
    state = case when v.kind = 'retry' or v.ownerless or c.version > c.sent_version then 'pending'
                 when v.kind = 'shadow' then 'done' else v.kind end,
    batch_id = null,
    first_event_at = case
        when v.kind in ('done', 'shadow') and (v.ownerless or c.version > c.sent_version)
            then coalesce(c.first_event_at, clock_timestamp())
        when v.kind in ('done', 'shadow') then null
        else least(c.first_event_at, w.oldest_event_at) end,
    due_at = case when v.kind = 'retry' then clock_timestamp() + make_interval(secs => v.after) else 'epoch' end,
    attempts = case
        when v.kind = 'retry' then c.attempts + v.counts::integer
        when v.kind = 'failed' and c.version <= c.sent_version then c.attempts + 1
        else 0 end,
    first_try_at = case when v.kind = 'retry' or (v.kind = 'failed' and c.version <= c.sent_version)
        then c.first_try_at end,
    failed_at = case when v.kind = 'failed' and c.version <= c.sent_version then clock_timestamp() end,
    confirmed = case when v.kind = 'done' then greatest(c.confirmed, c.sent_version) else c.confirmed end,
    owner_confirmed = case when v.kind = 'done'
        then greatest(c.owner_confirmed, least(c.owner_version, c.sent_version)) else c.owner_confirmed end,
    record = case when v.anew then v.record::jsonb
                  when v.kind = 'done' then coalesce(c.record, '{}') || v.record::jsonb else c.record end,
    record_id = case when v.kind = 'done' then coalesce(nullif(v.record_id, ''), c.record_id) else c.record_id end,
    cause = case when v.kind = 'retry' then coalesce(v.message, v.code) end,
    code = v.code,
    message = v.message
from v join write w on w.lead_id = v.lead_id and w.batch_id = $2
where c.destination_id = $1 and c.lead_id = v.lead_id and c.batch_id = $2

-- name: note
-- What the CRM said is a fact whoever holds the rows by now.
with n as (
    select * from unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[], $8::text[], $9::text[])
        as n (lead_id, outcome, code, message, record_id, created, owner, record)
)
update write w
set outcome = n.outcome, code = n.code, message = n.message, record_id = nullif(n.record_id, ''), created = n.created,
    owner = n.owner, record = n.record::jsonb, answered_at = clock_timestamp()
from n where w.batch_id = $1 and w.lead_id = n.lead_id

-- name: close
update batch
set settled_at = coalesce(settled_at, clock_timestamp()), calls = $2, shadow = $3, problem = coalesce($4, problem)
where id = $1

-- name: unblock
-- Not while a block stands: this answer may belong to a request that left before it.
update destination set failures = 0, blocked_until = null, blocked_cause = null, blocked_person = false
where id = $1 and failures > 0 and (blocked_until is null or blocked_until <= clock_timestamp())

-- name: block
update destination
set blocked_person = case when clock_timestamp() + make_interval(secs => $2) >= coalesce(blocked_until, 'epoch') then $4
                          else blocked_person end,
    blocked_until = greatest(blocked_until, clock_timestamp() + make_interval(secs => $2)), blocked_cause = $3,
    failures = failures + 1
where id = $1

-- name: stop
with stopped as (
    update destination
    set paused_at = clock_timestamp(), paused_by = 'fairturn', paused_reason = $2, failed_since = clock_timestamp()
    where id = $1 and paused_at is null
    returning id
)
insert into history (actor, verb, object, reason) select 'fairturn', 'pause', 'destination ' || id, $2 from stopped

-- name: recover
with late as materialized (
    select c.lead_id, c.destination_id, c.batch_id from change c join batch b on b.id = c.batch_id
    where c.destination_id = $1 and c.state = 'in_flight' and b.deadline < clock_timestamp()
    order by c.lead_id
    for update of c skip locked
), freed as (
    update change c
    set state = 'pending', batch_id = null, due_at = 'epoch', cause = 'the last request was never answered',
        first_event_at = least(c.first_event_at, w.oldest_event_at)
    from late l join write w on w.batch_id = l.batch_id and w.lead_id = l.lead_id
    where c.lead_id = l.lead_id and c.destination_id = l.destination_id
    returning c.lead_id
), noted as (
    update write w set outcome = 'unknown', message = 'no answer before the deadline'
    from late l where w.batch_id = l.batch_id and w.lead_id = l.lead_id
), closed as (
    update batch b set settled_at = clock_timestamp(), problem = 'no answer before the deadline'
    where b.id in (select batch_id from late) and b.settled_at is null
)
select count(*) from freed

-- name: pin
insert into destination as d (id, org) values ($1, $2)
on conflict (id) do update set org = coalesce(d.org, excluded.org)
returning org
