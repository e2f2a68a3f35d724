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
-- statement_timestamp() where a day is added up: it stands still, so that the index is entered by it.
select coalesce(d.lease_holder = $2 and d.lease_until > clock_timestamp(), false) as held,
       clock_timestamp() as now,
       case when d.paused_at is not null then coalesce(d.paused_reason, 'paused by ' || d.paused_by) end as paused,
       d.blocked_until, d.org, d.failures, d.sizes, d.daily_calls,
       (select count(*) from change c
        where c.destination_id = d.id and c.state = 'failed'
          and c.failed_at > greatest(d.failed_since, statement_timestamp() - interval '1 hour')) as failed_hour,
       (select coalesce(sum(b.calls), 0) from batch b
        where b.destination_id = d.id and b.taken_at > statement_timestamp() - interval '24 hours')
       + (select coalesce(sum(k.calls), 0) from look_up k
          where k.destination_id = d.id and k.at > statement_timestamp() - interval '24 hours') as calls_day
from destination d where d.id = $1

-- name: learn
update destination set sizes = $2 where id = $1

-- name: release
update destination set lease_holder = null, lease_until = null where id = $1 and lease_holder = $2

-- name: flying
-- An account may have been joined into another since the request left: compare what both have become. So may a lead:
-- the one that took it over writes the same record, and waits.
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
    select c.lead_id, c.first_event_at, c.due_at, c.priority, c.record_type, r.account
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
-- What is due at once has 'epoch', and is in no index of this order.
select c.lead_id, c.first_event_at, c.due_at, c.priority, c.record_type, null::bigint as account
from change c join lead l on l.id = c.lead_id and l.merged_into is null
where c.destination_id = $1 and c.state = 'pending' and c.due_at > 'epoch' and c.due_at > $2
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
-- A statement of its own, after the claim: route writes a lead's fields and its change's version in one transaction,
-- and only a snapshot younger than the lock shows both as they belong together.
with picked as materialized (
    select c.lead_id, c.version, c.attempts, c.record_id, c.record_type, coalesce(c.record, lost.record) as record,
           c.found, c.owner as owner_known, c.refused, c.first_event_at, c.first_try_at,
           c.owner_version > c.owner_confirmed as owner_due,
           case when c.record_id is not null
                then c.found_at is null or c.found_at < clock_timestamp() - make_interval(secs => $6)
                     -- A lead that was held a while is one that somebody may have taken out of the queue meanwhile.
                     or c.owner_version > c.owner_confirmed and c.found_at < c.owner_at - interval '1 minute'
                -- It was sent before, and perhaps written. Said once more it does no harm; saying something else, it
                -- may let a field go back. And it may have an owner by now who is not ours.
                else coalesce(lost.version < c.version, false)
                     or c.owner_version > c.owner_confirmed and c.sent_version is not null
                        and coalesce(c.owner_at < clock_timestamp() - make_interval(secs => $6), true) end as reread,
           c.external_key as key, l.fields, l.status, l.rep_id, l.pool_id, l.rule_id, l.reason, l.created_at,
           l.park ->> $1 as park, l.mode, r.account
    from change c
    join lead l on l.id = c.lead_id
    left join account a on a.id = l.account_id
    cross join lateral (select case when a.merged_into is null then a.id else account_root(a.id) end as account) r
    left join lateral (
        -- As it was sent when nobody could tell whether it arrived.
        select min(w.version) as version,
               (array_agg(w.record order by w.batch_id desc) filter (where w.record is not null))[1] as record
        from write w
        where w.lead_id = c.lead_id and w.destination_id = $1 and w.outcome = 'unknown'
    ) lost on c.record_id is null and c.sent_version is not null
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
select p.*, o.id as batch_id, o.deadline, k.key as account_key, coalesce(p.first_try_at, clock_timestamp()) as tried_at,
       g.id as given_id, g.pool_id as given_pool, g.seq as given_seq, g.rule_id as given_rule, g.reason as given_reason,
       g.at as given_at, e.received_at
from picked p cross join opened o left join account k on k.id = p.account
left join lateral (
    -- A lead that met others may have its rep from one of those.
    select a.id, a.pool_id, a.seq, a.rule_id, a.reason, a.at from assignment a
    where a.lead_id in (select p.lead_id union all select y.id from lead y where y.merged_into = p.lead_id)
      and a.kind in ('turn', 'credit', 'kept', 'owner') and a.rep_id = p.rep_id
    order by a.id desc limit 1
) g on p.status = 'assigned'
left join lateral (select min(received_at) as received_at from event where lead_id = p.lead_id) e on true

-- name: ours
-- The state is that of every row with a batch; said, it lets the index of those in flight be entered.
select c.lead_id from change c join batch b on b.id = c.batch_id
where c.destination_id = $1 and c.state = 'in_flight' and c.batch_id = $2 and b.holder = $3
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
-- stays due, because owner_confirmed stops at what was sent. An owner is due once more, as a version of its own, where
-- a record was made anew without one, and where somebody else's was found $3 seconds or less after a person decided
-- ours: then that is the newer decision, and only what we knew of theirs was old. A turn is no such decision: whoever
-- took the lead in the CRM before it came keeps it. Of a record that we never read we knew nothing: its owner was there
-- first.
with v as (
    select v.*, array(select jsonb_object_keys(v.record::jsonb)) as taken, c.version > c.sent_version as moved,
           c.version + 1 as next, w.oldest_event_at,
           v.ownerless or (v.stands and c.owner is not null
                           and coalesce(c.owner_at >= b.taken_at - make_interval(secs => $3), false)
                           and assigned_by_person(v.lead_id)) as again
    from unnest($4::bigint[], $5::text[], $6::float8[], $7::boolean[], $8::text[], $9::text[], $10::text[], $11::text[],
                $12::boolean[], $13::boolean[], $14::boolean[], $15::text[], $16::text[], $17::text[], $18::text[],
                $19::text[], $20::boolean[])
        as v (lead_id, kind, after, counts, code, message, record_id, record, anew, ownerless, sent, record_type, found,
              owner, without, refused, stands)
    join write w on w.lead_id = v.lead_id and w.batch_id = $2
    join batch b on b.id = w.batch_id
    join change c on c.lead_id = v.lead_id and c.destination_id = $1 and c.batch_id = $2
)
update change c
set version = case when v.again then v.next else c.version end,
    owner_version = case when v.again then v.next else c.owner_version end,
    state = case when v.kind = 'retry' or v.again or v.moved then 'pending'
                 when v.kind = 'shadow' then 'done' else v.kind end,
    batch_id = null,
    first_event_at = case
        when v.kind in ('done', 'shadow') and (v.again or v.moved) then coalesce(c.first_event_at, clock_timestamp())
        when v.kind in ('done', 'shadow') then null
        else least(c.first_event_at, v.oldest_event_at) end,
    due_at = case when v.kind = 'retry' then clock_timestamp() + make_interval(secs => v.after) else 'epoch' end,
    attempts = case
        when v.kind = 'retry' then c.attempts + v.counts::integer
        when v.kind = 'failed' and not v.moved then c.attempts + 1
        else 0 end,
    first_try_at = case when v.kind = 'retry' or (v.kind = 'failed' and not v.moved) then c.first_try_at end,
    failed_at = case when v.kind = 'failed' and not v.moved then clock_timestamp() end,
    confirmed = case when v.kind = 'done' then greatest(c.confirmed, c.sent_version) else c.confirmed end,
    owner_confirmed = case when v.kind = 'done'
        then greatest(c.owner_confirmed, least(c.owner_version, c.sent_version)) else c.owner_confirmed end,
    record = case when v.anew then v.record::jsonb
                  when v.kind = 'done' then coalesce(c.record, '{}') || v.record::jsonb else c.record end,
    record_id = case when v.kind = 'done' then coalesce(nullif(v.record_id, ''), c.record_id) else c.record_id end,
    record_type = case when v.anew then v.record_type
                       when v.kind = 'done' then coalesce(v.record_type, c.record_type) else c.record_type end,
    -- What was read, and over it what was written after the reading.
    found = case when v.kind <> 'done' or not v.sent then c.found
                 else case when v.anew then '{}' else coalesce(c.found, '{}') end
                      || coalesce(v.found::jsonb, '{}') || v.record::jsonb end,
    found_at = case when v.kind = 'done' and v.sent then clock_timestamp() else c.found_at end,
    owner = case when v.kind <> 'done' then c.owner when v.anew then v.owner else coalesce(v.owner, c.owner) end,
    -- A field that it has taken since is no more among those that it did not take.
    without = case when v.kind <> 'done' then c.without
                   else nullif(case when v.anew then '{}' else coalesce(c.without, '{}') - v.taken end
                               || coalesce(v.without::jsonb, '{}'), '{}') end,
    refused = case when v.kind <> 'done' then c.refused
                   else nullif(case when v.anew then '{}' else coalesce(c.refused, '{}') - v.taken end
                               || coalesce(v.refused::jsonb, '{}'), '{}') end,
    cause = case when v.kind = 'retry' then coalesce(v.message, v.code) end,
    code = v.code,
    message = v.message
from v
where c.destination_id = $1 and c.lead_id = v.lead_id and c.batch_id = $2

-- name: note
-- What the CRM said is a fact whoever holds the rows by now.
with n as (
    select * from unnest($3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[], $9::text[],
                         $10::text[], $11::text[], $12::text[])
        as n (lead_id, outcome, code, message, record_id, created, owner, record, without, stands)
)
update write w
set outcome = n.outcome, code = n.code, message = n.message, record_id = nullif(n.record_id, ''), created = n.created,
    owner = n.owner, record = n.record::jsonb, answered_at = clock_timestamp(), without = n.without::jsonb,
    -- Ours follows at once where it is the newer decision (see settle).
    owner_stands = case when c.owner is not null and c.owner_at >= b.taken_at - make_interval(secs => $2)
                             and assigned_by_person(w.lead_id) then null else n.stands end
from n, batch b, change c
where w.batch_id = $1 and w.lead_id = n.lead_id and b.id = w.batch_id
  and c.lead_id = w.lead_id and c.destination_id = w.destination_id

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
