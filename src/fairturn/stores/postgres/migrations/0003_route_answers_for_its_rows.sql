-- A foreign key looks its parent up once per row: a third of PostgreSQL's work on a lead. Nothing deletes any of these
-- parents, and whoever writes such a row has made or locked its parent in the same transaction.
alter table lead drop constraint lead_account_id_fkey;
alter table lead_key drop constraint lead_key_lead_id_fkey;
alter table assignment
    drop constraint assignment_pool_id_fkey,
    drop constraint assignment_lead_id_fkey,
    drop constraint assignment_share_hash_fkey;
alter table change
    drop constraint change_lead_id_fkey,
    drop constraint change_destination_id_fkey;
