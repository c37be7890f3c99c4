-- Grain: school, class, person in the class.
-- Rules: who is in a class now, or was at the end of a semester that is over: macros/oneroster.sql has the reason.
--   The dates of a course class lie in its semester. A day of joining outside of it was entered early or late, and is
--   the first day. Administrative classes have no dates.
--   primary: the first on the list of a course class's teachers, since the interface has no roles among them; the head
--   teacher of an administrative class.
-- Source: core.bridge_class_student, core.bridge_class_teacher, core.bridge_admin_class_student,
--   core.bridge_admin_class_teacher.
with classes as (
    {{ classes_of_year() }}
),

homerooms as (
    {{ homerooms() }}
),

class_students as (
    {{ students_of_classes() }}
),

students as (
    {{ people('dim_student', 'student_id') }}
),

teachers as (
    {{ people('dim_teacher', 'teacher_id') }}
),

members as (
    select
        members.school_id,
        {{ sourced_id('class', ['course_class_id'], 'members') }} as class_id,
        {{ sourced_id('student', ['student_id'], 'members') }} as user_id,
        'class-' || members.course_class_id || '-student-' || members.student_id as place,
        'student' as role,
        null as is_primary,
        members.joined_on,
        members.first_day,
        members.last_day
    from class_students as members

    union all

    select
        members.school_id,
        {{ sourced_id('class', ['course_class_id'], 'classes') }},
        {{ sourced_id('teacher', ['teacher_id'], 'members') }},
        'class-' || classes.course_class_id || '-teacher-' || members.teacher_id,
        'teacher',
        row_number() over (
            partition by members.school_id, members.course_class_id
            order by members.place nulls last, members.teacher_id
        ) = 1,
        members.joined_on,
        classes.first_day,
        classes.last_day
    from {{ ref('bridge_class_teacher') }} as members
    inner join classes
        on classes.school_id = members.school_id
        and classes.course_class_id = members.course_class_id
    semi join teachers
        on teachers.school_id = members.school_id
        and teachers.teacher_id = members.teacher_id
    where members.is_current

    union all

    select
        members.school_id,
        {{ sourced_id('homeroom', ['admin_class_id'], 'members') }},
        {{ sourced_id('student', ['student_id'], 'members') }},
        'homeroom-' || members.admin_class_id || '-student-' || members.student_id,
        'student',
        null,
        null,
        null,
        null
    from {{ ref('bridge_admin_class_student') }} as members
    semi join homerooms
        on homerooms.school_id = members.school_id
        and homerooms.admin_class_id = members.admin_class_id
    semi join students
        on students.school_id = members.school_id
        and students.student_id = members.student_id
    where members.is_member

    union all

    select
        members.school_id,
        {{ sourced_id('homeroom', ['admin_class_id'], 'members') }},
        {{ sourced_id('teacher', ['teacher_id'], 'members') }},
        'homeroom-' || members.admin_class_id || '-teacher-' || members.teacher_id,
        'teacher',
        coalesce(members.role = 'head', false),
        null,
        null,
        null
    from {{ ref('bridge_admin_class_teacher') }} as members
    semi join homerooms
        on homerooms.school_id = members.school_id
        and homerooms.admin_class_id = members.admin_class_id
    semi join teachers
        on teachers.school_id = members.school_id
        and teachers.teacher_id = members.teacher_id
)

select
    school_id,
    cast(school_id as varchar) || '-enrollment-' || place as "sourcedId",
    {{ bulk_columns() }},
    class_id as "classSourcedId",
    {{ sourced_id('school') }} as "schoolSourcedId",
    user_id as "userSourcedId",
    role as "role",
    is_primary as "primary",
    case when joined_on between first_day and last_day then joined_on else first_day end as "beginDate",
    cast(last_day + 1 as date) as "endDate"
from members
