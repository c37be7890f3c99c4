-- Grain: school, course class, teacher who teaches or taught the class.
-- Rules: the list of a class's teachers is v3's if it names anybody, else v1's. place: position in this list. The
--     interface has no roles among the teachers of a course class.
--   Memberships and their days come from v3 (bridge_class_member). Several memberships of a teacher become one, from
--     the first day of any to the last.
--   is_current: the teacher is on the list and has not left. In a class without a list, membership is enough. A teacher
--     who left after the last day of a semester that is over taught to the end, and counts as not having left.
-- Source: raw.classes, raw.v1_classes, raw.class_members, raw.teachers, core.dim_semester.
with course_classes as (
    select * from {{ ref('dim_course_class') }}
),

teaching_classes as (
    select * from {{ ref('dim_teaching_class') }}
),

members as (
    select * from {{ ref('bridge_class_member') }}
),

teachers as (
    select * from {{ ref('dim_teacher') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

classes as (
    select
        school_id,
        course_class_id,
        coalesce(course_classes.semester_id, teaching_classes.semester_id) as semester_id,
        coalesce(nullif(course_classes.teacher_ids, []), teaching_classes.teacher_ids, []) as teacher_ids
    from course_classes
    full join teaching_classes using (school_id, course_class_id)
),

listed as (
    select
        school_id,
        course_class_id,
        unnest(teacher_ids) as teacher_id,
        cast(generate_subscripts(teacher_ids, 1) as integer) as place
    from classes
),

-- The interface does not specify the values of member_type, so dim_teacher decides who is a teacher.
memberships as (
    select
        members.school_id,
        members.course_class_id,
        members.member_id as teacher_id,
        case when bool_and(members.joined_at is not null) then min(cast(members.joined_at as date)) end as joined_on,
        case when bool_and(members.left_at is not null) then max(cast(members.left_at as date)) end as left_on
    from members
    semi join teachers
        on teachers.school_id = members.school_id
        and teachers.teacher_id = members.member_id
    group by members.school_id, members.course_class_id, members.member_id
),

class_teachers as (
    select *
    from listed
    full join memberships using (school_id, course_class_id, teacher_id)
    where teacher_id is not null
)

select
    class_teachers.school_id,
    class_teachers.course_class_id,
    class_teachers.teacher_id,
    classes.semester_id,
    teachers.staff_number,
    teachers.teacher_name,
    class_teachers.place,
    class_teachers.joined_on,
    class_teachers.left_on,
    (
        class_teachers.left_on is null
        or coalesce(semesters.is_over and class_teachers.left_on > semesters.last_day, false)
    )
    and (class_teachers.place is not null or classes.teacher_ids = []) as is_current
from class_teachers
inner join classes
    on classes.school_id = class_teachers.school_id
    and classes.course_class_id = class_teachers.course_class_id
left join teachers
    on teachers.school_id = class_teachers.school_id
    and teachers.teacher_id = class_teachers.teacher_id
left join semesters
    on semesters.school_id = classes.school_id
    and semesters.semester_id = classes.semester_id
