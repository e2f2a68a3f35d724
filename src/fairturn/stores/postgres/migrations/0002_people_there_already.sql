-- Orgs that are not empty: whom a CRM knows already, what it would not take, how much it can swallow.
alter table lead drop constraint lead_status_check;
alter table lead add constraint lead_status_check
    check (status in ('waiting', 'held', 'assigned', 'parked', 'ignored', 'owned'));

-- Whether a destination knows a lead's person: asked before its first turn, outside any lock.
create table existing (
    lead_id        bigint not null references lead (id),
    destination_id text not null references destination (id),
    email          text not null,                                  -- the address that is asked for, casefolded
    state          text not null check (state in ('due', 'answered', 'unknown')),
    since          timestamptz not null default clock_timestamp(),
    answered_at    timestamptz,
    people         jsonb not null default '[]',                    -- the records there, as answered
    why            text,                                           -- what came of it, in words
    primary key (lead_id, destination_id)
);
create index existing_due on existing (destination_id, since) where state = 'due';

-- Look-ups count towards the day's requests as writes do.
create table look_up (
    id             bigint generated always as identity primary key,
    destination_id text not null references destination (id),
    at             timestamptz not null default clock_timestamp(),
    asked          integer not null,
    found          integer not null,
    calls          integer not null
);
create index look_up_at on look_up (destination_id, at);

alter table change
    add column record_type   text,                                 -- null: the destination's own
    add column found         jsonb,                                -- the CRM's values, as last read or written
    add column found_at      timestamptz,
    add column owner         text,                                 -- the CRM's owner id, as last read or written
    add column owner_at      timestamptz,                          -- when the assignment was made that it is due for
    add column without       jsonb,                                -- field -> the CRM's words: what it did not take
    add column refused       jsonb;                                -- field -> the value that it did not take
create index change_without on change (destination_id, lead_id) where without is not null;
alter table write
    add column without      jsonb,
    add column owner_stands text;                                  -- somebody else's owner, who was left
alter table destination
    add column sizes jsonb not null default '{}',                  -- object -> [records, broke, broke_at]
    add column blocked_person boolean not null default false,      -- the block ends by somebody's correction alone
    add column daily_calls integer check (daily_calls > 0);        -- a person's limit, before that of the settings

-- Whether the lead's latest assignment was a person's own decision, and not a turn or a rule.
create function assigned_by_person(which bigint) returns boolean language sql stable as $$
    select coalesce((select actor !~ '^(route-[0-9]+|sync|fairturn)$' from assignment
                     where lead_id = which order by id desc limit 1), false)
$$;
