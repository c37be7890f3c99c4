-- Grain: school, course class, student in it; without students who left it or whom the platform has deleted.
-- Rules: attendance and grade are those in this course class.
with members as (
    select distinct
        school_id,
        semester_id,
        course_class_id,
        student_id
    from {{ ref('bridge_class_student') }}
    where left_on is null
),

attended as (
    select
        school_id,
        course_class_id,
        student_id,
        count(*) as recorded,
        count(*) filter (where is_present) as present,
        count(*) filter (where is_absent) as absent,
        count(*) filter (where is_late) as late
    from {{ ref('fct_attendance') }}
    where counts_in_denominator
    group by all
)

select
    members.school_id,
    members.semester_id,
    members.course_class_id,
    members.student_id,
    students.student_number,
    coalesce(students.student_name, students.student_number, cast(members.student_id as varchar)) as student,
    classes.admin_class_id,
    classes.admin_class_name,
    attended.recorded,
    {{ rate('attended.present', 'attended.recorded') }} as attendance_rate,
    attended.absent,
    attended.late,
    grades.score_text,
    {{ percent('grades.real_score', 'grades.full_score', places=2) }} as grade_percent,
    grades.level as grade_level,
    {{ passed('grades') }} as passed
from members
left join {{ ref('dim_student') }} as students
    on students.school_id = members.school_id
    and students.student_id = members.student_id
left join attended
    on attended.school_id = members.school_id
    and attended.course_class_id = members.course_class_id
    and attended.student_id = members.student_id
left join {{ ref('fct_grade') }} as grades
    on grades.school_id = members.school_id
    and grades.course_class_id = members.course_class_id
    and grades.student_id = members.student_id
    and grades.source = 'class'
left join {{ ref('bridge_student_admin_class') }} as memberships
    on memberships.school_id = members.school_id
    and memberships.semester_id = members.semester_id
    and memberships.student_id = members.student_id
left join {{ ref('dim_admin_class') }} as classes
    on classes.school_id = memberships.school_id
    and classes.admin_class_id = memberships.admin_class_id
where students.is_deleted is not true
