-- Grain: school, course class, kind of member, member, membership (1: the last, 2: the one before). Memberships
--   that ended are kept, with the time they ended.
-- Rows that were read before memberships were numbered have no number.
with numbered as (
    select * replace (coalesce(membership, 1) as membership)
    from {{ source('raw', 'class_members') }}
),

{{ one_row_a_key('numbered', ['class_id', 'type', 'reflection_id', 'membership']) }}

select
    _school_id as school_id,
    class_id as course_class_id,
    type as member_type,
    reflection_id as member_id,
    membership,
    class_together as is_class_together,
    created_at as joined_at,
    coalesce(deleted_at, _deleted_at) as left_at,
    updated_at
from one_row_a_key
