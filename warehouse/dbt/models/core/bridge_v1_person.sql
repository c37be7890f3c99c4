-- Grain: school, person that the v1 interface names: a user, a student or teacher of a class, or a student with
--   attendance or a transcript.
-- Rules: person_id is the same person's id in the v3 interface, paired by macros/linked.sql; matched_by says how. A
--   person that v3 lacks keeps the v1 id, negative if v3 uses that id for another person. unmatched_v1 lists such
--   students and staff. Facts use person_id as student_id.
-- Source: raw.v1_users, raw.v1_class_students, raw.v1_admin_classes, raw.v1_classes, raw.attendance_records,
--   raw.transcript_courses, raw.reflections, raw.students, raw.teachers.
with users as (
    select * from {{ ref('stg_v1_users') }}
),

class_students as (
    select * from {{ ref('stg_v1_class_students') }}
),

admin_classes as (
    select * from {{ ref('stg_v1_admin_classes') }}
),

classes as (
    select * from {{ ref('stg_v1_classes') }}
),

records as (
    select * from {{ ref('stg_attendance_records') }}
),

transcript_courses as (
    select * from {{ ref('stg_transcript_courses') }}
),

reflections as (
    select * from {{ ref('stg_reflections') }}
),

students as (
    select * from {{ ref('stg_students') }}
),

teachers as (
    select * from {{ ref('stg_teachers') }}
),

-- If sources differ, the source nearest to the register of users is preferred.
mentions as (
    select
        school_id,
        v1_person_id,
        case role when 1 then 'student' when 2 then 'staff' when 8 then 'guardian' end as kind,
        user_number,
        person_name,
        is_deleted,
        1 as nearness
    from users
    union all
    select school_id, v1_student_id, 'student', student_number, student_name, false, 2 from class_students
    union all
    select
        school_id,
        unnest(v1_student_ids),
        'student',
        unnest(student_numbers),
        unnest(student_names),
        false,
        2
    from admin_classes
    union all
    select
        school_id,
        unnest(v1_teacher_ids),
        'staff',
        unnest(staff_numbers),
        unnest(teacher_names),
        false,
        3
    from classes
    union all
    select school_id, v1_student_id, 'student', max(student_number), null, false, 4
    from records
    group by school_id, v1_student_id
    union all
    select distinct school_id, v1_student_id, 'student', null, null, false, 5 from transcript_courses
),

people as (
    select
        school_id,
        v1_person_id,
        arg_min(kind, nearness) as kind,
        arg_min(user_number, nearness) as user_number,
        arg_min(person_name, nearness) as person_name,
        arg_min(is_deleted, nearness) as is_deleted
    from mentions
    where v1_person_id is not null
    group by school_id, v1_person_id
),

ours as (
    select school_id, kind, v1_person_id as id, user_number as code, null as name, is_deleted from people
),

theirs as (
    select
        school_id,
        arg_min(kind, nearness) as kind,
        id,
        arg_min(code, nearness) as code,
        null as name,
        arg_min(is_deleted, nearness) as is_deleted
    from (
        select school_id, 'student' as kind, student_id as id, student_number as code, is_deleted, 1 as nearness
        from students
        union all
        select school_id, 'staff', teacher_id, staff_number, is_deleted, 1 from teachers
        union all
        select
            school_id,
            case role when 'student' then 'student' when 'guardian' then 'guardian' else 'staff' end,
            reflection_id,
            user_number,
            is_deleted,
            2
        from reflections
    )
    group by school_id, id
),

{{ linked('ours', 'theirs', 'usin') }}

select
    people.school_id,
    people.v1_person_id,
    coalesce(
        linked.other_id,
        case when taken.id is not null then -people.v1_person_id else people.v1_person_id end
    ) as person_id,
    linked.matched_by,
    people.kind,
    people.user_number,
    people.person_name,
    people.is_deleted
from people
left join linked
    on linked.school_id = people.school_id
    and linked.id = people.v1_person_id
left join theirs as taken
    on taken.school_id = people.school_id
    and taken.id = people.v1_person_id
