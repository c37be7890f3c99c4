-- Grain: school, student with attendance, grades or scores; without students whom the platform has deleted.
-- Rules: the class and has_left are those of the semesters that are shown.
with members as (
    select
        school_id,
        student_id,
        any_value(admin_class_id) as admin_class_id,
        any_value(admin_class_name) as admin_class_name,
        bool_or(has_left) as has_left
    from {{ ref('early_warning') }}
    inner join {{ ref('shown_semester') }} using (school_id, semester_id)
    group by all
)

select
    students.school_id,
    students.student_id,
    coalesce(students.student_name, students.student_number, cast(students.student_id as varchar)) as student,
    students.student_number,
    members.admin_class_name,
    members.admin_class_id,
    classes.head_teacher_name,
    students.cohort_name,
    students.cohort_id,
    members.has_left
from {{ ref('dim_student') }} as students
semi join {{ ref('early_warning') }} as judged
    on judged.school_id = students.school_id
    and judged.student_id = students.student_id
left join members
    on members.school_id = students.school_id
    and members.student_id = students.student_id
left join {{ ref('dim_admin_class') }} as classes
    on classes.school_id = members.school_id
    and classes.admin_class_id = members.admin_class_id
where not students.is_deleted
