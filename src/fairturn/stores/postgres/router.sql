-- name: moment
select clock_timestamp() as now,
       (select jsonb_object_agg(id, coalesce(paused_reason, 'paused')) from rep where paused_at is not null) as paused

-- name: claim
-- SKIP LOCKED claims work, not turns: stations share the journal, and a station that dies frees its events at once.
-- A sync event is its caller's for a few seconds; after that any station takes it.
select e.id, e.serial, e.source_id, e.lane, e.received_at, coalesce(e.body, d.body) as body,
       clock_timestamp() as now, (select jsonb_object_agg(id, coalesce(paused_reason, 'paused')) from rep
                                  where paused_at is not null) as paused
from event e join delivery d on d.id = e.delivery_id
where e.state = 'pending' and (e.lane = 'batch' or e.received_at < clock_timestamp() - interval '5 seconds')
order by e.serial
limit $1
for update of e skip locked

-- name: claim_these
select e.id, e.serial, e.source_id, e.lane, e.received_at, coalesce(e.body, d.body) as body,
       clock_timestamp() as now, (select jsonb_object_agg(id, coalesce(paused_reason, 'paused')) from rep
                                  where paused_at is not null) as paused
from event e join delivery d on d.id = e.delivery_id
where e.id = any($1::bytea[]) and e.state = 'pending'
order by e.serial
for update of e skip locked

-- name: due
select id, clock_timestamp() as now, (select jsonb_object_agg(id, coalesce(paused_reason, 'paused')) from rep
                                   where paused_at is not null) as paused
from lead
where status = 'waiting' and wait_until <= clock_timestamp() and merged_into is null
order by id
limit $1
for no key update skip locked

-- name: existing
-- Our external id on a record there leads to the lead that the record was made for.
select e.lead_id, e.destination_id, e.email, e.state, e.since, e.answered_at, e.people, e.why,
       (select jsonb_object_agg(c.external_key, coalesce(l.merged_into, l.id))
        from jsonb_array_elements(e.people) as p (person)
        join change c on c.destination_id = e.destination_id and c.external_key = p.person ->> 'key'
        join lead l on l.id = c.lead_id) as ours
from existing e where e.lead_id = any($1::bigint[])

-- name: orphans
select id from lead
where status = 'held' and merged_into is null and (pool_id <> all($1::text[]) or rule_id <> all($2::text[]))
order by id
limit $3

-- name: bind
-- Updating the row that is there locks it, in the order of the keys: from here on these leads are ours until we commit.
-- $4 numbers those who start a lead: one of whom no key is known gets the next id, and each of its keys leads there.
with arrived as materialized (
    select * from unnest($1::bytea[], $2::text[], $3::text[], $4::integer[]) as n (digest, kind, value, newcomer)
), fresh as materialized (
    select newcomer, nextval('lead_id') as id
    from (
        select newcomer from arrived where newcomer is not null
        except
        select a.newcomer from arrived a join lead_key k on k.digest = a.digest
        order by newcomer
    ) as unknown
)
insert into lead_key (digest, kind, value, lead_id)
select a.digest, a.kind, a.value, f.id from arrived a left join fresh f on f.newcomer = a.newcomer
order by a.digest
on conflict (digest) do update set digest = excluded.digest
returning digest, lead_id, (xmax <> 0) as existed

-- name: signals
select e.id, e.serial, e.source_id, e.lane, e.received_at, coalesce(e.body, d.body) as body
from event e join delivery d on d.id = e.delivery_id
where e.state = 'waiting' and e.keys && $1::bytea[]
order by e.serial
-- Waited for, not skipped: the station that has one may roll back, and then nobody would come for it.
for update of e

-- name: new_leads
select nextval('lead_id') from generate_series(1, $1::integer)

-- name: leads
select id, created_at, source_id, status, fields, account_id, rep_id, pool_id, rule_id, reason, wait_until, merged_into,
       priority, mode
from lead where id = any($1::bigint[])
order by id
for no key update

-- name: account_keys
select k.key, k.account_id from account_key k where k.key = any($1::text[])

-- name: new_accounts
insert into account (key) select unnest($1::text[]) returning id, key

-- name: bind_accounts
insert into account_key (key, account_id)
select * from unnest($1::text[], $2::bigint[])
on conflict (key) do nothing

-- name: join_accounts
with joined as (
    update account a set merged_into = j.stays
    from unnest($1::bigint[], $2::bigint[]) as j (gone, stays)
    where a.id = j.gone or a.merged_into = j.gone
    returning j.gone, j.stays
), keys as (
    update account_key k set account_id = j.stays from (select distinct gone, stays from joined) j
    where k.account_id = j.gone
), leads as (
    update lead l set account_id = j.stays from (select distinct gone, stays from joined) j where l.account_id = j.gone
)
update change c set account_id = j.stays from (select distinct gone, stays from joined) j where c.account_id = j.gone

-- name: lock_pools
select id from pool where id = any($1::text[]) order by id for update

-- name: facts
-- $3: the pools are locked before anything is read.
select config, paused, pools, members, credits, sticky, held from turn_facts($1, $2, $3)

-- name: free
-- Leads whose owner kept them without paying for it. A lead that met others may have its rep from one of those.
select lead from (
    select distinct on (lead) lead, kind, counts from (
        select coalesce(l.merged_into, l.id) as lead, a.kind, a.counts, a.id
        from assignment a join lead l on l.id = a.lead_id
        where l.id = any($1::bigint[]) or l.merged_into = any($1::bigint[])
    ) given
    order by lead, id desc
) newest
where kind = 'kept' and not counts

-- name: held
select l.id, l.created_at, l.source_id, l.status, l.fields, l.account_id, l.rep_id, l.pool_id, l.rule_id, l.reason,
       l.wait_until, l.merged_into, l.priority, l.mode
from unnest($1::text[], $3::bigint[]) as p (id, after)
cross join lateral (
    select * from lead
    where pool_id = p.id and status = 'held' and merged_into is null and id > p.after
    order by id
    limit $2
    for no key update skip locked
) l

-- name: serve
select p.id,
       exists (select from lead l where l.pool_id = p.id and l.status = 'held' and l.merged_into is null) as held,
       exists (select from rotation r join rep on rep.id = r.rep_id
               where r.pool_id = p.id and rep.paused_at is null) as present
from pool p

-- name: update_leads
update lead l
set status = n.status, fields = n.fields, account_id = n.account_id, rep_id = n.rep_id, pool_id = n.pool_id,
    rule_id = n.rule_id, reason = n.reason, park = coalesce(n.park, l.park), wait_until = n.wait_until,
    held_at = case when n.status = 'held' then coalesce(l.held_at, clock_timestamp()) end,
    assigned_at = case when n.status = 'assigned' and l.rep_id is distinct from n.rep_id then clock_timestamp()
                       else l.assigned_at end,
    priority = n.priority, mode = n.mode
from unnest($1::bigint[], $2::text[], $3::jsonb[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[],
            $9::jsonb[], $10::timestamptz[], $11::text[], $12::text[])
     as n (id, status, fields, account_id, rep_id, pool_id, rule_id, reason, park, wait_until, priority, mode)
where l.id = n.id

-- name: own_keys
update lead_key k set lead_id = n.lead_id from unnest($1::bytea[], $2::bigint[]) as n (digest, lead_id)
where k.digest = n.digest

-- name: wait
update event set state = 'waiting', keys = $2::bytea[], expires_at = $3::timestamptz where id = $1

-- name: quarantine
update event e set state = 'quarantined', problem = n.problem, expires_at = null
from unnest($1::bytea[], $2::text[]) as n (id, problem) where e.id = n.id and e.state in ('pending', 'waiting')

-- name: merge_leads
-- The older stays; keys, events and rows of the younger move to it.
with gone as (
    update lead l set merged_into = m.older
    from unnest($1::bigint[], $2::bigint[]) as m (younger, older)
    where l.id = m.younger or l.merged_into = m.younger
    returning m.younger, m.older
), keys as (
    update lead_key k set lead_id = m.older from (select distinct younger, older from gone) m
    where k.lead_id = m.younger
), questions as (
    -- The older has its own, or is asked about anew.
    delete from existing e using (select distinct younger from gone) m where e.lead_id = m.younger
)
update event e set lead_id = m.older from (select distinct younger, older from gone) m where e.lead_id = m.younger

-- name: written
-- All that most batches write, in one round trip: the leads that begin here, what became of the events, the turns, and
-- what the destinations are to be told. A column of one value comes once, one without any value not at all; unnest
-- fills both up with null.
--
-- Changes. In flight: touch the version only; settle alone changes the state. One that failed stays failed until a
-- person retries it, or until the lead itself changes: a new chance. A destination that is new to the lead hears of
-- its owner with whatever comes first: an update alone would leave the record to the integration's own user. Of a lead
-- that waited nothing was written so far: its change is as old as its first event, and keeps company no longer than
-- that.
with made as (
    insert into lead (id, source_id, status, fields, account_id, rep_id, pool_id, rule_id, reason, park, wait_until,
                      held_at, assigned_at, priority, mode)
    select id, coalesce(source_id, ($2::text[])[1]), status, fields, account_id, rep_id, pool_id, rule_id, reason, park,
           wait_until, case when status = 'held' then clock_timestamp() end,
           case when status = 'assigned' then clock_timestamp() end,
           coalesce(priority, ($12::text[])[1]), coalesce(mode, ($13::text[])[1])
    from (
        select id, source_id, coalesce(status, ($3::text[])[1]) as status, fields, account_id, rep_id,
               case when cardinality($7) = 1 then ($7::text[])[1] else pool_id end as pool_id,
               case when cardinality($8) = 1 then ($8::text[])[1] else rule_id end as rule_id,
               case when cardinality($9) = 1 then ($9::text[])[1] else reason end as reason,
               park, wait_until, priority, mode
        from unnest($1::bigint[], $2::text[], $3::text[], $4::jsonb[], $5::bigint[], $6::text[], $7::text[], $8::text[],
                    $9::text[], $10::jsonb[], $11::timestamptz[], $12::text[], $13::text[])
             as n (id, source_id, status, fields, account_id, rep_id, pool_id, rule_id, reason, park, wait_until,
                   priority, mode)
    ) n
), routed as (
    update event e
    set state = 'routed', lead_id = n.lead_id, expires_at = null,
        marks = case when n.marks is null then e.marks
                     else e.marks || array(select jsonb_array_elements_text(n.marks::jsonb)) end
    from unnest($14::bytea[], $15::bigint[], $16::text[]) as n (id, lead_id, marks) where e.id = n.id
), shared as (
    insert into share_set (hash, members)
    select hash, members::jsonb from unnest($17::bytea[], $18::text[]) as n (hash, members)
    on conflict (hash) do nothing
), given as (
    insert into assignment (pool_id, seq, kind, rep_id, lead_id, share_hash, eligible, rule_id, counts, reason, actor,
                            config)
    select case when cardinality($19) = 1 then ($19::text[])[1] else pool_id end, seq,
           coalesce(kind, ($21::text[])[1]), rep_id, lead_id,
           case when cardinality($24) = 1 then ($24::bytea[])[1] else share_hash end, eligible::text[],
           case when cardinality($26) = 1 then ($26::text[])[1] else rule_id end,
           coalesce(counts, ($27::boolean[])[1]), coalesce(reason, ($28::text[])[1]), $29, $30
    from unnest($19::text[], $20::bigint[], $21::text[], $22::text[], $23::bigint[], $24::bytea[], $25::text[],
                $26::text[], $27::boolean[], $28::text[])
         as n (pool_id, seq, kind, rep_id, lead_id, share_hash, eligible, rule_id, counts, reason)
), balanced as (
    update rotation r set balance = n.balance, settled = n.settled
    from unnest($31::text[], $32::text[], $33::numeric[], $34::bigint[]) as n (pool_id, rep_id, balance, settled)
    where r.pool_id = n.pool_id and r.rep_id = n.rep_id
      and (r.balance, r.settled) is distinct from (n.balance, n.settled)
), moved as (
    update pool p set seq = n.seq, total = n.total, given = n.given, last_rep = n.last
    from unnest($35::text[], $36::bigint[], $37::integer[], $38::bigint[], $39::text[])
         as n (id, seq, total, given, last)
    where p.id = n.id
), told as (
    insert into change (lead_id, destination_id, state, version, owner_version, owner_at, account_id, priority,
                        first_event_at)
    select n.lead_id, d.id, 'pending', 1, o.due::integer, case when o.due then clock_timestamp() end,
           n.account_id, n.priority, coalesce(
               -- The snapshot does not see the events of this very batch as routed: they are n.oldest.
               case when n.waited then least(
                   (select min(e.received_at) from event e where e.lead_id = n.lead_id), n.oldest) end,
               n.oldest, clock_timestamp())
    from unnest($40::bigint[], $41::boolean[], $42::bigint[], $43::text[], $44::timestamptz[], $46::boolean[])
         as n (lead_id, owner, account_id, priority, oldest, waited)
    cross join unnest($45::text[]) as d (id)
    cross join lateral (
        select n.owner or not exists (
            select from change c where c.lead_id = n.lead_id and c.destination_id = d.id
        ) as due
    ) o
    on conflict (lead_id, destination_id) do update
    set state = case when change.state = 'in_flight' then 'in_flight' else 'pending' end,
        version = change.version + 1,
        owner_version = case when excluded.owner_version > 0 then change.version + 1 else change.owner_version end,
        owner_at = coalesce(excluded.owner_at, change.owner_at),
        account_id = excluded.account_id,
        priority = excluded.priority,
        first_event_at = least(change.first_event_at, excluded.first_event_at),
        attempts = case when change.state = 'failed' then 0 else change.attempts end,
        first_try_at = case when change.state = 'failed' then null else change.first_try_at end,
        due_at = case when change.state in ('failed', 'done') then 'epoch' else change.due_at end,
        failed_at = null
)
select pg_notify('fairturn_change', '') where cardinality($40::bigint[]) > 0

-- name: close_credits
update credit c set closed_seq = n.seq, outcome = n.how
from unnest($1::bigint[], $2::bigint[], $3::text[]) as n (id, seq, how) where c.id = n.id

-- name: open_credits
insert into credit (pool_id, rep_id, kind, opened_seq, lead_id)
select n.pool_id, n.rep_id, n.kind, n.seq, a.lead_id
from unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) with ordinality as n (pool_id, rep_id, kind, seq, place)
left join assignment a on a.pool_id = n.pool_id and a.seq = n.seq
order by n.place

-- name: keep_owners
-- Whoever owns the record there keeps it: no owner is due.
update change set owner_confirmed = owner_version where lead_id = any($1::bigint[])

-- name: take_over
-- The record that is there already is written from here on, unless we may have made one of our own by now. A record
-- that the event named itself was not read yet. $7: asked for after the last try, so that one of our own would have
-- been found.
update change c
set record_id = n.record_id, record_type = n.record_type, owner = n.owner,
    found = case when e.lead_id is not null then n.found end, found_at = e.answered_at
from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::jsonb[], $6::text[])
     as n (lead_id, destination_id, record_id, record_type, found, owner)
left join existing e on e.lead_id = n.lead_id and e.destination_id = n.destination_id and e.state = 'answered'
where c.lead_id = n.lead_id and c.destination_id = n.destination_id
  and c.confirmed = 0 and c.state <> 'in_flight' and c.record_id is null
  and (c.attempts = 0 and c.first_try_at is null
       or $7 and e.lead_id is not null
          and not exists (select from jsonb_array_elements(e.people) p where p ->> 'key' = c.external_key))

-- name: ask
-- With another address, while the question is open, the clock runs on.
insert into existing as e (lead_id, destination_id, email, state)
select * from (select unnest($1::bigint[]), unnest($2::text[]), unnest($3::text[]), 'due') as n
on conflict (lead_id, destination_id) do update
set email = excluded.email, state = 'due', people = '[]', why = null, answered_at = null,
    since = case when e.state = 'due' then e.since else clock_timestamp() end

-- name: settled
-- What came of the questions of leads that go on; those still open are given up.
update existing e
set why = n.why, state = case when e.state = 'due' then 'unknown' else e.state end,
    answered_at = coalesce(e.answered_at, clock_timestamp())
from unnest($1::bigint[], $2::text[], $3::text[]) as n (lead_id, destination_id, why)
where e.lead_id = n.lead_id and e.destination_id = n.destination_id

-- name: set_aside
update lead set status = 'ignored', wait_until = null, held_at = null, reason = $2
where id = $1 and status in ('waiting', 'held') and merged_into is null
returning true

-- name: set_aside_event
-- The newest event that made the lead what it is: read again, it brings the lead back.
update event set state = 'quarantined', problem = $2
where id = (select id from event where lead_id = $1 and state = 'routed' order by serial desc limit 1)

-- name: notify
select pg_notify($1, '')

-- name: foster
-- A lead that was never told to a destination, and takes over one that was, gets a row there for `adopt`.
insert into change (lead_id, destination_id, state, version)
select $2::bigint, y.destination_id, 'done', 1 from change y
where y.lead_id = $1
  and (y.confirmed > 0 or y.attempts > 0 or y.state = 'in_flight'
       or coalesce(y.record_id, y.first_try_at::text) is not null)
on conflict (lead_id, destination_id) do nothing

-- name: adopt
-- The younger of two leads that met has a record in the CRM, or may have one soon, and the older has none: they swap
-- their external ids, and the older takes the record over. It counts as tried from here on. (The key's constraint is
-- deferred to the commit.)
with pair as (
    select o.lead_id as older, y.lead_id as younger, o.destination_id, o.external_key as older_key,
           y.external_key as younger_key, y.record_id, y.record_type, y.record, y.found, y.found_at, y.owner, y.without,
           y.refused,
           -- Found there under an owner who keeps it, and never given one of ours: then nobody gives it one now.
           y.owner is not null and y.owner_version = y.owner_confirmed and not exists (
               select from write w
               where w.lead_id = y.lead_id and w.destination_id = y.destination_id and w.owner is not null
           ) as kept
    from change o join change y using (destination_id)
    where o.lead_id = $2 and y.lead_id = $1
      and o.confirmed = 0 and o.attempts = 0 and o.state <> 'in_flight' and o.record_id is null
      and o.first_try_at is null
      and (y.confirmed > 0 or y.attempts > 0 or y.state = 'in_flight'
           or coalesce(y.record_id, y.first_try_at::text) is not null)
)
update change c
set external_key = case when c.lead_id = p.older then p.younger_key else p.older_key end,
    record_id = case when c.lead_id = p.older then p.record_id end,
    record_type = case when c.lead_id = p.older then p.record_type end,
    record = case when c.lead_id = p.older then p.record end,
    found = case when c.lead_id = p.older then p.found end,
    found_at = case when c.lead_id = p.older then p.found_at end,
    owner = case when c.lead_id = p.older then p.owner end,
    refused = case when c.lead_id = p.older then p.refused end,
    without = case when c.lead_id = p.older then p.without end,
    owner_confirmed = case when c.lead_id = p.older and p.kept then c.owner_version else c.owner_confirmed end,
    attempts = case when c.lead_id = p.older then 1 else c.attempts end
from pair p
where c.destination_id = p.destination_id and c.lead_id in (p.older, p.younger)

-- name: in_crm
-- Locked until the merge is committed: nothing of them may leave between the question and what follows from it.
with mine as materialized (
    select lead_id, confirmed, attempts, state, record_id, first_try_at from change
    where lead_id = any($1::bigint[])
    order by lead_id, destination_id
    for update
)
select distinct lead_id from mine
where confirmed > 0 or attempts > 0 or state = 'in_flight' or coalesce(record_id, first_try_at::text) is not null

-- name: pause
update rep set paused_at = clock_timestamp(), paused_by = $2, paused_reason = $3
where id = $1 and paused_at is null
returning true

-- name: note
insert into history (actor, verb, object, reason) values ($1, $2, $3, $4)

-- name: keeps_owner
select exists (select from assignment where lead_id = $1 and kind = 'returned' and starts_with(reason, $2))
    or exists (select from event where lead_id = $1 and lane = 'sync')
