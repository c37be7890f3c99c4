-- Grain: school, course class, kind of member, member, membership (1: the last, 2: the one before). Ended memberships
--   stay, with the time of their end.
-- Rows that were loaded before memberships were numbered count as membership 1.
with numbered as (
    select * replace (coalesce(membership, 1) as membership)
    from {{ source('raw', 'class_members') }}
),

{{ one_row_a_key('numbered', ['class_id', 'type', 'reflection_id', 'membership']) }}

select
    _school_id as school_id,
    {{ class_member_columns() }},
    _synced_at as synced_at
from one_row_a_key
