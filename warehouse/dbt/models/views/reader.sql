-- Grain: school, role, teacher, page that the teacher may read in the role.
-- Rules: a class-teacher reads the pages of the administrative classes of which the teacher is head or deputy, and of their
--   students; a teacher those of the course classes that the teacher teaches now. page_key is the id in the page's address.
with students as (
    select
        school_id,
        admin_class_id,
        student_id
    from {{ ref('student_standing') }}
    where is_shown
),

of_class_teachers as (
    select
        school_id,
        teachers.teacher_id,
        teachers.staff_number,
        teachers.teacher_name,
        admin_class_id,
        students.student_id
    from {{ ref('bridge_admin_class_teacher') }} as teachers
    inner join students using (school_id, admin_class_id)
)

select distinct
    school_id,
    'class-teacher' as role,
    teacher_id,
    staff_number,
    teacher_name,
    'class' as page_kind,
    cast(admin_class_id as varchar) as page_key
from of_class_teachers
union all
select
    school_id,
    'class-teacher' as role,
    teacher_id,
    staff_number,
    teacher_name,
    'student' as page_kind,
    cast(student_id as varchar) as page_key
from of_class_teachers
union all
select distinct
    school_id,
    'teacher' as role,
    teachers.teacher_id,
    teachers.staff_number,
    teachers.teacher_name,
    'course' as page_kind,
    cast(course_class_id as varchar) as page_key
from {{ ref('bridge_class_teacher') }} as teachers
inner join {{ ref('shown_semester') }} as semesters using (school_id, semester_id)
semi join {{ ref('course_class') }} as classes using (school_id, course_class_id)
where teachers.is_current
