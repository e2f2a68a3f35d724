-- What an operator asks for among a million leads, without a walk over all of them. Neither index is touched by the
-- lead that is assigned at once, as nearly all are: one holds those without a rep, the other is written when a CRM has
-- answered.
create index lead_without_rep on lead (status, id) where status <> 'assigned' and merged_into is null;
create index change_record on change (record_id) where record_id is not null;
