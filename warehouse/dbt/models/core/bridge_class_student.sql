-- Grain: school, course class, student: who belongs or belonged to a class, from when to when.
-- Rules: memberships are v3's (bridge_class_member); where somebody has several, from the first day of any to
--   the last. Rosters are entered late, or again, so whoever has attendance or a score in the class before
--   the first day is a member from then on. A class that v3 does not have has the students whom v1 shows now,
--   with no dates.
-- Source: raw.class_members, raw.v1_class_students, raw.attendance_records, raw.scores.
with members as (
    select * from {{ ref('bridge_class_member') }}
),

students as (
    select * from {{ ref('dim_student') }}
),

v1_students as (
    select * from {{ ref('stg_v1_class_students') }}
),

classes as (
    select * from {{ ref('dim_teaching_class') }}
),

people as (
    select * from {{ ref('bridge_v1_person') }}
),

attended as (
    select school_id, course_class_id, student_id, min(date) as first_on, count(*) as attendance_records
    from {{ ref('fct_attendance') }}
    group by school_id, course_class_id, student_id
),

scored as (
    select school_id, course_class_id, student_id, cast(min(created_at) as date) as first_on
    from {{ ref('fct_score') }}
    where score is not null
    group by school_id, course_class_id, student_id
),

memberships as (
    select
        members.school_id,
        members.course_class_id,
        members.member_id as student_id,
        any_value(members.semester_id) as semester_id,
        -- Whoever has no day of joining was there from the start.
        case when bool_and(members.joined_at is not null) then min(cast(members.joined_at as date)) end as joined_on,
        case when bool_and(members.left_at is not null) then max(cast(members.left_at as date)) end as left_on
    from members
    -- The values of member_type are not specified, so a student is whoever dim_student has.
    semi join students
        on students.school_id = members.school_id
        and students.student_id = members.member_id
    group by members.school_id, members.course_class_id, members.member_id

    union all

    select
        v1_students.school_id,
        classes.course_class_id,
        people.person_id as student_id,
        classes.semester_id,
        null as joined_on,
        null as left_on
    from v1_students
    inner join classes
        on classes.school_id = v1_students.school_id
        and classes.v1_class_id = v1_students.v1_class_id
    inner join people
        on people.school_id = v1_students.school_id
        and people.v1_person_id = v1_students.v1_student_id
    anti join members
        on members.school_id = classes.school_id
        and members.course_class_id = classes.course_class_id
)

select
    memberships.school_id,
    memberships.course_class_id,
    memberships.student_id,
    memberships.semester_id,
    case
        when memberships.joined_on is not null
            then least(memberships.joined_on, attended.first_on, scored.first_on)
    end as joined_on,
    memberships.left_on,
    coalesce(attended.attendance_records, 0) as attendance_records
from memberships
left join attended
    on attended.school_id = memberships.school_id
    and attended.course_class_id = memberships.course_class_id
    and attended.student_id = memberships.student_id
left join scored
    on scored.school_id = memberships.school_id
    and scored.course_class_id = memberships.course_class_id
    and scored.student_id = memberships.student_id
