-- Our id in a CRM begins with its time, so that new ones go to the end of their index: a random one touches a page that
-- nobody else needs, which is read, logged whole and written for it alone. As uuidv7() does, from PostgreSQL 18 on.
alter table change alter column external_key set default
    'ft-' || lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0')
    || substr(replace(gen_random_uuid()::text, '-', ''), 13);
