-- Grain: school, course class, kind of member, member. Memberships that ended are kept, with the time they
--   ended.
with {{ one_row_a_key(source('raw', 'class_members'), ['class_id', 'type', 'reflection_id']) }}

select
    _school_id as school_id,
    class_id as course_class_id,
    type as member_type,
    reflection_id as member_id,
    class_together as is_class_together,
    created_at as joined_at,
    coalesce(deleted_at, _deleted_at) as left_at,
    updated_at
from one_row_a_key
