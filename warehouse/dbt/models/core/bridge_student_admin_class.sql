-- Grain: school, semester, student.
-- Rules: the v3 interface does not say which administrative class a student is in, so it is inferred: the one
--   that most of the student's course classes are held for, counting only course classes of a single
--   administrative class; the smallest id where two are equal. Memberships that ended count only where the
--   student has no current one. A student of none such classes is, in the current semester, in the class whose
--   list in the v1 interface has him, which tells the present only; else there is no row.
-- Source: raw.class_members, raw.classes, raw.students, raw.v1_admin_classes.
with members as (
    select * from {{ ref('bridge_class_member') }}
),

classes as (
    select * from {{ ref('dim_course_class') }}
),

students as (
    select * from {{ ref('dim_student') }}
),

semesters as (
    select * from {{ ref('dim_semester') }} where is_current and not is_deleted
),

admin_classes as (
    select * from {{ ref('dim_admin_class') }}
),

v1_admin_classes as (
    select * from {{ ref('stg_v1_admin_classes') }} where not is_deleted
),

people as (
    select * from {{ ref('bridge_v1_person') }}
),

votes as (
    select
        members.school_id,
        classes.semester_id,
        members.member_id as student_id,
        classes.admin_class_ids[1] as admin_class_id,
        count(*) filter (where members.is_current) as current_class_count,
        count(*) as class_count
    from members
    inner join classes
        on classes.school_id = members.school_id
        and classes.course_class_id = members.course_class_id
    -- The values of member_type are not specified, so a student is whoever dim_student has.
    semi join students
        on students.school_id = members.school_id
        and students.student_id = members.member_id
    where
        len(classes.admin_class_ids) = 1
        and classes.semester_id is not null
    group by all
),

inferred as (
    select
        school_id,
        semester_id,
        student_id,
        arg_max(admin_class_id, (current_class_count, class_count, -admin_class_id)) as admin_class_id,
        cast(sum(class_count) as bigint) as class_count
    from votes
    group by school_id, semester_id, student_id
),

listed as (
    select
        school_id,
        v1_admin_class_id as admin_class_id,
        unnest(v1_student_ids) as v1_person_id
    from v1_admin_classes
)

select * from inferred

union all

select
    listed.school_id,
    semesters.semester_id,
    people.person_id as student_id,
    min(listed.admin_class_id) as admin_class_id,
    0 as class_count
from listed
semi join admin_classes using (school_id, admin_class_id)
inner join people using (school_id, v1_person_id)
inner join semesters using (school_id)
semi join students
    on students.school_id = listed.school_id
    and students.student_id = people.person_id
anti join inferred
    on inferred.school_id = listed.school_id
    and inferred.semester_id = semesters.semester_id
    and inferred.student_id = people.person_id
group by all
