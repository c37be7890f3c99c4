-- Grain: school, course class, kind of member, member, membership.
-- Rules: ended memberships stay, with left_at, so a transfer in mid-semester is visible. A member who left a class and
--   joined it again has several memberships; membership 1 is the last. left_at is the platform's date of deletion,
--   else the time at which a sync first missed the row.
--   stored_at: start of the first sync that saw a membership of the member in the class with this day of joining.
-- Source: raw.class_members, raw.classes, quality.past_rows.
with members as (
    select * from {{ ref('stg_class_members') }}
),

classes as (
    select * from {{ ref('dim_course_class') }}
),

earlier as (
    select
        _school_id as school_id,
        cast(row ->> 'class_id' as bigint) as course_class_id,
        row ->> 'type' as member_type,
        cast(row ->> 'reflection_id' as bigint) as member_id,
        cast(row ->> 'created_at' as timestamp) as joined_at,
        min(known_from) as known_from
    from {{ source('quality', 'past_rows') }}
    where
        resource = 'class_members'
        and row ->> '_deleted_at' is null
        and row is not null
    group by all
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
    members.updated_at,
    -- least() ignores null.
    least(members.synced_at, earlier.known_from) as stored_at
from members
left join classes
    on classes.school_id = members.school_id
    and classes.course_class_id = members.course_class_id
left join earlier
    on earlier.school_id = members.school_id
    and earlier.course_class_id = members.course_class_id
    and earlier.member_type = members.member_type
    and earlier.member_id = members.member_id
    and earlier.joined_at is not distinct from members.joined_at
