-- The journal: requests as they came, and the events in them.
create table delivery (
    id           bytea primary key check (octet_length(id) = 16),  -- hash of (source, body)
    source_id    text not null,
    received_at  timestamptz not null default clock_timestamp(),
    content_type text not null,
    body         bytea                                             -- null once retention.raw has passed
);
create index delivery_raw on delivery (received_at) where body is not null;

create table event (
    id           bytea primary key check (octet_length(id) = 16),  -- hash of (source, dedupe value or the item as JSON)
    serial       bigint generated always as identity,
    delivery_id  bytea not null,
    item         integer not null check (item >= 0),
    source_id    text not null,
    lane         text not null check (lane in ('batch', 'sync')),
    received_at  timestamptz not null default clock_timestamp(),
    body         bytea,                                            -- null = the delivery's bytes are clean JSON
    marks        text[] not null default '{}',
    state        text not null check (state in ('pending', 'routed', 'waiting', 'expired', 'quarantined')),
    problem      text,
    lead_id      bigint,
    keys         bytea[] not null default '{}',                    -- of a signal that waits for its lead
    expires_at   timestamptz,
    check ((state = 'waiting') = (expires_at is not null)),
    check (state <> 'quarantined' or problem is not null),
    check (state <> 'routed' or lead_id is not null)
);
create unique index event_pending on event (serial) where state = 'pending';
create index event_waiting on event using gin (keys) where state = 'waiting';
create index event_expiry on event (expires_at) where state = 'waiting';
create index event_lead on event (lead_id) where lead_id is not null;
create index event_quarantined on event (serial) where state = 'quarantined';
create index event_received on event (received_at);
create index event_raw on event (received_at) where body is not null;

-- Accounts: keys that proved to be one company stay joined.
create table account (
    id          bigint generated always as identity primary key,
    key         text not null,                                     -- the key that made it: what the CRM is told
    merged_into bigint references account (id),
    check (merged_into is null or merged_into < id)
);
create table account_key (
    key        text primary key check (length(key) <= 255),
    account_id bigint not null references account (id)
);
-- The account that this one was joined into, however often.
create function account_root(start bigint) returns bigint language sql stable strict as $$
    with recursive up (id, merged_into) as (
        select id, merged_into from account where id = start
        union all
        select a.id, a.merged_into from up join account a on a.id = up.merged_into
    )
    select id from up where merged_into is null
$$;

-- Leads.
create sequence lead_id as bigint;
create table lead (
    id           bigint primary key default nextval('lead_id'),
    created_at   timestamptz not null default clock_timestamp(),
    source_id    text not null,
    status       text not null check (status in ('waiting', 'held', 'assigned', 'parked', 'ignored')),
    fields       jsonb not null,                                   -- field -> [value, event time in µs, rank, event]
    account_id   bigint references account (id),
    rep_id       text,
    pool_id      text,
    rule_id      text,
    reason       text,
    park         jsonb,                                            -- destination -> queue, of a parked lead
    wait_until   timestamptz,
    held_at      timestamptz,
    assigned_at  timestamptz,
    priority     text not null default 'normal' check (priority in ('high', 'normal', 'bulk')),
    mode         text not null default 'live' check (mode in ('live', 'shadow')),
    merged_into  bigint references lead (id),
    check ((status = 'assigned') = (rep_id is not null)),
    check (status <> 'held' or pool_id is not null),
    check ((status = 'waiting') = (wait_until is not null)),
    check (merged_into is null or merged_into < id)                -- the older stays
);
create index lead_held on lead (pool_id, id) where status = 'held' and merged_into is null;
create index lead_waiting on lead (wait_until) where status = 'waiting' and merged_into is null;
create index lead_account on lead (account_id, assigned_at desc) where status = 'assigned';
create index lead_created on lead (created_at);
create index lead_merged on lead (merged_into) where merged_into is not null;

create table lead_key (
    digest  bytea primary key check (octet_length(digest) = 16),
    kind    text not null,
    value   text not null check (length(value) <= 500),
    lead_id bigint references lead (id) deferrable initially deferred  -- null: a signal named it, no lead yet
);
create index lead_key_lead on lead_key (lead_id);

-- Configurations as they were; the newest is in force.
create table config_version (
    id         integer generated always as identity primary key,
    digest     bytea not null,
    body       text not null,
    actor      text not null,
    created_at timestamptz not null default clock_timestamp()
);

-- The rotation: what a pool owes each member.
create table rep (
    id            text primary key,
    paused_at     timestamptz,
    paused_by     text,
    paused_reason text,
    check ((paused_at is null) = (paused_by is null))
);
create table pool (
    id    text primary key,
    seq   bigint not null default 0 check (seq >= 0),              -- of the last entry
    total integer not null default 0 check (total >= 0),           -- weight of those who shared the last turn
    given bigint not null default 0 check (given between 0 and seq), -- leads that got a rep: turn, credit, kept
    last_rep text                                                  -- who got the last of them
);
create table rotation (
    pool_id     text not null references pool (id),
    rep_id      text not null references rep (id),
    position    integer not null,
    -- Share accrued - turns taken, in 1/(U·W) leads. Heavy weights under a narrow filter pass 64 bits.
    balance     numeric(60) not null default 0,
    settled     bigint,                                            -- pool.given as the rep's last settlement left it
    primary key (pool_id, rep_id),
    unique (pool_id, position)
);
create table share_set (
    hash    bytea primary key check (octet_length(hash) = 16),
    members jsonb not null                                         -- [[rep, weight, position], ...]
);
create table assignment (
    id         bigint generated always as identity primary key,
    pool_id    text references pool (id),                          -- null: an owner named by a rule
    seq        bigint,
    kind       text not null check (kind in
               ('turn', 'credit', 'kept', 'returned', 'paid', 'forgiven', 'joined', 'left', 'owner')),
    rep_id     text not null,
    lead_id    bigint references lead (id),
    share_hash bytea references share_set (hash),
    eligible   text[],                                             -- null: all who share
    rule_id    text,
    reason     text not null,
    counts     boolean not null default true,                      -- false: kept or returned without touching credit
    actor      text not null,
    config     integer,
    at         timestamptz not null default clock_timestamp(),
    unique (pool_id, seq),
    check ((pool_id is null) = (seq is null)),
    check ((kind = 'owner') = (pool_id is null)),
    check ((kind in ('turn', 'credit', 'kept', 'returned', 'owner')) = (lead_id is not null)),
    check ((kind in ('turn', 'paid', 'joined', 'left')) = (share_hash is not null))
);
create index assignment_lead on assignment (lead_id) where lead_id is not null;
create table credit (
    id         bigint generated always as identity primary key,
    pool_id    text not null references pool (id),
    rep_id     text not null,
    kind       text not null check (kind in ('owed', 'debt')),
    lead_id    bigint references lead (id),
    opened_seq bigint not null,
    closed_seq bigint,
    outcome    text check (outcome in ('settled', 'cancelled', 'forgiven', 'left')),
    check ((closed_seq is null) = (outcome is null))
);
create index credit_open on credit (pool_id, id) where closed_seq is null;

-- The ledger: what a destination does not yet know of a lead.
create table destination (
    id            text primary key,
    org           text,                                            -- the org that answered first
    paused_at     timestamptz,
    paused_by     text,
    paused_reason text,
    lease_holder  uuid,
    lease_until   timestamptz,
    blocked_until timestamptz,                                     -- outage or limit: nobody sends before
    blocked_cause text,
    failures      integer not null default 0,                      -- requests failed in a row
    failed_since  timestamptz not null default 'epoch',        -- failed writes count towards the ceiling from here
    joined_at     timestamptz not null default clock_timestamp(),  -- leads that changed since are written there
    left_at       timestamptz,                                     -- it is not in the settings in force
    check ((paused_at is null) = (paused_by is null))
);
create sequence batch_id as bigint;
create table batch (
    id             bigint primary key default nextval('batch_id'),
    destination_id text not null references destination (id),
    holder         uuid not null,
    taken_at       timestamptz not null default clock_timestamp(),
    deadline       timestamptz not null,
    settled_at     timestamptz,
    records        integer not null check (records > 0),
    calls          integer,
    shadow         boolean not null default false,
    problem        text
);
create index batch_taken on batch (destination_id, taken_at);
create index batch_open on batch (destination_id) where settled_at is null;
create table change (
    lead_id         bigint not null references lead (id),
    destination_id  text not null references destination (id),
    state           text not null check (state in ('pending', 'in_flight', 'done', 'failed')),
    version         integer not null check (version > 0),
    owner_version   integer not null default 0,                    -- the version that an assignment made
    owner_confirmed integer not null default 0,                    -- the last owner_version the CRM took
    sent_version    integer,
    confirmed       integer not null default 0,                    -- the last version the CRM confirmed
    record          jsonb,                                         -- as last confirmed
    record_id       text,                                          -- the CRM's
    external_key    text not null default 'ft-' || replace(gen_random_uuid()::text, '-', ''),  -- ours, in the CRM
    account_id      bigint,
    priority        text not null default 'normal' check (priority in ('high', 'normal', 'bulk')),
    first_event_at  timestamptz,                                   -- oldest event that is not in a request
    due_at          timestamptz not null default 'epoch',      -- not before
    attempts        integer not null default 0,                    -- counted ones, since the last success
    first_try_at    timestamptz,                                   -- of the attempts
    batch_id        bigint references batch (id),
    cause           text,                                          -- why it waits
    code            text,                                          -- the CRM's words at the last refusal
    message         text,
    failed_at       timestamptz,
    primary key (lead_id, destination_id),
    unique (destination_id, external_key) deferrable initially deferred,  -- two leads that meet may swap
    check ((state = 'in_flight') = (batch_id is not null)),
    check ((state = 'failed') = (failed_at is not null)),
    check (state <> 'pending' or first_event_at is not null),
    check (confirmed <= version and owner_confirmed <= owner_version and owner_version <= version)
);
create index change_pending on change (destination_id, priority, first_event_at) where state = 'pending';
create index change_due on change (destination_id, due_at) where state = 'pending' and due_at > 'epoch';
create index change_flying on change (destination_id, batch_id) where state = 'in_flight';
create index change_failed on change (destination_id, failed_at) where state = 'failed';
create table write (
    batch_id        bigint not null references batch (id),
    lead_id         bigint not null references lead (id),
    destination_id  text not null,
    version         integer not null,
    oldest_event_at timestamptz not null,
    account_id      bigint,                                        -- as sent: no other request may touch it meanwhile
    owner           text,                                          -- as sent; null = not part of this write
    record          jsonb,                                         -- as sent
    outcome         text check (outcome in ('written', 'refused', 'later', 'unknown', 'shadow', 'same')),
    code            text,
    message         text,
    record_id       text,
    created         boolean,
    answered_at     timestamptz,
    primary key (batch_id, lead_id)
);
create index write_lead on write (lead_id);
create index write_answered on write (destination_id, answered_at);

-- Acts of people, and of Fairturn where a person must know.
create table history (
    id     bigint generated always as identity primary key,
    at     timestamptz not null default clock_timestamp(),
    actor  text not null,
    verb   text not null,
    object text not null,
    reason text,
    detail jsonb not null default '{}'
);
