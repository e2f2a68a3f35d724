-- name: stage
create temporary table came (place integer, lead_id bigint, at timestamptz, delivery bytea, event bytea, body bytea,
                             serial bigint, again boolean);
create temporary table person (lead_id bigint, number bigint, company integer, email text, mailbox text, key bytea, account text,
                               employees integer, country text, pool text);
create index on came (lead_id);
create index on person (lead_id)

-- name: accounts
with fresh as (
    select account, min(lead_id) as first from person p
    where account is not null and not exists (select from account_key k where k.key = p.account)
    group by account order by 2
), made as (
    insert into account (key) select account from fresh order by first returning id, key
)
insert into account_key (key, account_id) select key, id from made

-- name: waiting
-- Who waits for a turn, in order.
select p.lead_id, p.pool, k.account_id from person p left join account_key k on k.key = p.account order by p.lead_id

-- name: deliveries
-- Bytes whose retention has passed are gone.
insert into delivery (id, source_id, received_at, content_type, body)
select delivery, $1, at, 'application/json', case when at > clock_timestamp() - interval '30 days' then body end
from came order by serial

-- name: events
insert into event (id, serial, delivery_id, item, source_id, lane, received_at, state, lead_id)
overriding system value
select event, serial, delivery, 0, $1, 'batch', at, 'routed', lead_id from came order by serial

-- name: keys
insert into lead_key (digest, kind, value, lead_id) select key, 'email', mailbox, lead_id from person

-- name: leads
-- Of each field the latest event's word: that of the update, where one came, since it speaks of all of them.
insert into lead (id, created_at, source_id, status, fields, account_id, rep_id, pool_id, rule_id, reason, assigned_at)
select p.lead_id, c.at + interval '0.3 s', $1, 'assigned',
       jsonb_build_object(
           'email', jsonb_build_array(p.email, s.at, 0, s.event),
           'phone', jsonb_build_array('+1202555' || lpad((p.number % 10000)::text, 4, '0'), s.at, 0, s.event),
           'company', jsonb_build_array('Company ' || p.company, s.at, 0, s.event),
           'country', jsonb_build_array(p.country, s.at, 0, s.event),
           'campaign', jsonb_build_array(case when u.lead_id is null then 'spring' else 'renewal-0' end, s.at, 0, s.event),
           'employees', jsonb_build_array(p.employees, s.at, 0, s.event),
           'last_name', jsonb_build_array('Lee ' || p.number, s.at, 0, s.event),
           'first_name', jsonb_build_array('Ann', s.at, 0, s.event),
           'lead_source', jsonb_build_array('Web', s.at, 0, s.event)),
       k.account_id, a.rep_id, p.pool, case p.pool when $2 then 'large-companies' else 'everyone-else' end, a.reason,
       c.at + interval '0.3 s'
from person p
join came c on c.lead_id = p.lead_id and not c.again
join assignment a on a.lead_id = p.lead_id and a.kind in ('turn', 'credit', 'kept')
left join came u on u.lead_id = p.lead_id and u.again
cross join lateral (
    select (extract(epoch from coalesce(u.at, c.at)) * 1000000)::bigint as at,
           lpad(to_hex(coalesce(u.serial, c.serial)), 16, '0') || '.' || encode(coalesce(u.event, c.event), 'hex') as event
    offset 0
) s
left join account_key k on k.key = p.account
order by p.lead_id

-- name: batches
insert into batch (id, destination_id, holder, taken_at, deadline, settled_at, records, calls)
select $1 + place / $2, $3, 'b7a3f3d0-0000-4000-8000-000000000001', min(at) + interval '2 s', min(at) + interval '67 s',
       min(at) + interval '2.5 s', count(*), 1
from came group by place / $2 order by 1

-- name: changes
-- Written, but for one in two thousand that the CRM would not take.
insert into change (lead_id, destination_id, state, version, owner_version, owner_confirmed, sent_version, confirmed,
                    record, record_id, external_key, account_id, attempts, first_try_at, code, message, failed_at,
                    found, found_at, owner_at)
select l.id, $1, case when bad.bad then 'failed' else 'done' end, v.version, 1, case when bad.bad then 0 else 1 end,
       v.version, case when bad.bad then 0 else v.version end, r.record, case when bad.bad then null else key.made end,
       key.made, l.account_id, case when bad.bad then 1 else 0 end, case when bad.bad then v.at end,
       case when bad.bad then 'FIELD_CUSTOM_VALIDATION_EXCEPTION' end,
       case when bad.bad then 'Country is required for leads of this record type' end,
       case when bad.bad then v.at end, r.record, case when bad.bad then null else v.at end, l.assigned_at
from person p
join lead l on l.id = p.lead_id
cross join lateral (select l.id % 2000 = 7 as bad) bad
join (select lead_id, count(*)::integer as version, max(at) + interval '2.4 s' as at from came group by lead_id) v
  on v.lead_id = p.lead_id
cross join lateral (select {external_key} as made where l.id is not null) key
cross join lateral (
    select case when not bad.bad then jsonb_build_object(
        'email', p.email, 'phone', '+1202555' || lpad((p.number % 10000)::text, 4, '0'),
        'company', 'Company ' || p.company, 'country', p.country, 'employees', p.employees,
        'campaign', case v.version when 1 then 'spring' else 'renewal-0' end, 'last_name', 'Lee ' || p.number,
        'first_name', 'Ann', 'lead_source', 'Web', 'owner', l.rep_id, 'domain_kind', 'other',
        'email_domain', split_part(p.email, '@', 2),
        'email_kind', case when p.account is null then 'free' else 'work' end) end as record
    offset 0
) r
order by l.id

-- name: writes
insert into write (batch_id, lead_id, destination_id, version, oldest_event_at, account_id, owner, record, outcome,
                   code, message, record_id, created, answered_at)
select $1 + c.place / $2, c.lead_id, $3, case when c.again then 2 else 1 end, c.at, h.account_id,
       case when not c.again then h.record ->> 'owner' end,
       case when c.again then jsonb_build_object('campaign', h.record -> 'campaign')
            else h.record || '{"campaign": "spring"}' end,
       case when h.state = 'failed' then 'refused' else 'written' end, h.code, h.message, h.record_id, not c.again,
       c.at + interval '2.4 s'
from came c join change h on h.lead_id = c.lead_id and h.destination_id = $3
order by c.place

-- name: made_key
select pg_get_expr(d.adbin, d.adrelid) from pg_attrdef d
join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
where d.adrelid = 'change'::regclass and a.attname = 'external_key'

-- name: places
select (select coalesce(max(id), 0) from lead) as lead, (select coalesce(max(serial), 0) from event) as serial,
       (select coalesce(max(id), 0) from batch) as batch

-- name: sequences
select setval('lead_id', $1), setval('event_serial_seq', $2), setval('batch_id', $3)

-- name: references
-- The foreign keys, and those of route's tables, which have none.
select * from (values ('event', 'delivery_id', 'delivery', 'id'), ('event', 'lead_id', 'lead', 'id'),
                      ('lead', 'account_id', 'account', 'id'), ('lead_key', 'lead_id', 'lead', 'id'),
                      ('assignment', 'lead_id', 'lead', 'id'), ('assignment', 'pool_id', 'pool', 'id'),
                      ('assignment', 'share_hash', 'share_set', 'hash'), ('change', 'lead_id', 'lead', 'id'),
                      ('change', 'destination_id', 'destination', 'id')) as r (here, key, there, its)
union
select c.conrelid::regclass::text as here, a.attname::text as key, c.confrelid::regclass::text as there, f.attname::text as its
from pg_constraint c
join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
join pg_attribute f on f.attrelid = c.confrelid and f.attnum = c.confkey[1]
where c.contype = 'f' and c.connamespace = 'public'::regnamespace
order by 1, 2

-- name: kinds
-- Of rows up to lead $1 and of those behind it: which columns hold what, and which fields a lead has.
with sample as (
    select 'lead' as of, to_jsonb(l) as row, id > $1 as routed from lead l where id between $1 - 300 and $1 + 300
    union all
    select 'a lead''s fields', fields, id > $1 from lead where id between $1 - 300 and $1 + 300
    union all
    select 'lead_key', to_jsonb(k), lead_id > $1 from lead_key k where lead_id between $1 - 300 and $1 + 300
    union all
    select 'event', to_jsonb(e), lead_id > $1 from event e where lead_id between $1 - 300 and $1 + 300
    union all
    select 'delivery', to_jsonb(d), e.lead_id > $1 from delivery d join event e on e.delivery_id = d.id
    where d.body is not null and e.lead_id between $1 - 300 and $1 + 300
    union all
    select 'assignment', to_jsonb(a), lead_id > $1 from assignment a
    where kind = 'turn' and lead_id between $1 - 300 and $1 + 300
)
select of || '.' || key || ' ' || jsonb_typeof(value) as kind, bool_or(routed) as routed, bool_or(not routed) as filled
from sample cross join jsonb_each(row)
group by 1 order by 1
