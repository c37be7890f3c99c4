-- Grain: school, course class, kind of member, member, membership.
-- Rules: ended memberships stay, with left_at, so a transfer in mid-semester is visible. A member who left a class and
--   joined it again has several memberships; membership 1 is the last. left_at is the platform's date of deletion,
--   else the time at which a sync first missed the row.
-- Source: raw.class_members, raw.classes.
with members as (
    select * from {{ ref('stg_class_members') }}
),

classes as (
    select * from {{ ref('dim_course_class') }}
)

select
    members.school_id,
    members.course_class_id,
    members.member_type,
    members.member_id,
    members.membership,
    classes.semester_id,
    members.is_class_together,
    members.joined_at,
    members.left_at,
    members.left_at is null as is_current,
    members.updated_at
from members
left join classes
    on classes.school_id = members.school_id
    and classes.course_class_id = members.course_class_id
