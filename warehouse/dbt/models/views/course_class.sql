-- Grain: school, course class that the platform has not deleted.
select
    classes.school_id,
    classes.semester_id,
    semesters.semester_name,
    coalesce(semesters.is_shown, false) as is_shown,
    classes.course_class_id,
    concat_ws(' ', classes.course_name, classes.class_name) as course_class,
    classes.course_name,
    classes.class_name,
    classes.subject_name,
    classes.class_code,
    classes.teacher_names
from {{ ref('dim_course_class') }} as classes
left join {{ ref('semester') }} as semesters using (school_id, semester_id)
where not classes.is_deleted
