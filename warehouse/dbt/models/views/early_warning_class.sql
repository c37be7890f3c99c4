-- Grain: school, semester, administrative class; students without one have a row, and deleted students do not count.
-- Rules: shares are of the students whose level is known. The cohort is that of the class, not of the students.
with students as (
    select
        judged.school_id,
        judged.semester_id,
        judged.admin_class_id,
        judged.admin_class_name,
        judged.level,
        judged.inputs_loaded
    from {{ ref('early_warning') }} as judged
    anti join {{ ref('dim_student') }} as deleted
        on deleted.school_id = judged.school_id
        and deleted.student_id = judged.student_id
        and deleted.is_deleted
),

levels as (
    select
        school_id,
        semester_id,
        admin_class_id,
        admin_class_name,
        {{ level_counts() }}
    from students
    group by all
)

select
    levels.school_id,
    levels.semester_id,
    semesters.semester_name,
    semesters.is_shown,
    classes.cohort_name,
    levels.admin_class_id,
    levels.admin_class_name,
    {{ level_columns('levels') }}
from levels
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
left join {{ ref('dim_admin_class') }} as classes
    on classes.school_id = levels.school_id
    and classes.admin_class_id = levels.admin_class_id
