-- Grain: school, semester, administrative class.
-- Rules: a class teacher is v1's head, or else all teachers of the class. A class with the grade, name and teacher of
--   another class has its id in its name.
with teachers as (
    select
        school_id,
        admin_class_id,
        string_agg(coalesce(teacher_name, staff_number), ', ' order by teacher_id) as class_teacher
    from {{ ref('bridge_admin_class_teacher') }}
    where role is distinct from 'deputy'
    group by all
),

classes as (
    select
        school_id,
        semester_id,
        semesters.is_shown,
        admin_class_id,
        admin_classes.admin_class_name,
        admin_classes.cohort_name as class_cohort,
        coalesce('grade ' || levels.grade_level, admin_classes.cohort_name) as class_grade,
        teachers.class_teacher
    from {{ ref('dim_admin_class') }} as admin_classes
    inner join {{ ref('semester') }} as semesters using (school_id)
    left join {{ ref('cohort_grade_level') }} as levels using (school_id, semester_id, cohort_id)
    left join teachers using (school_id, admin_class_id)
)

select
    *,
    admin_class_name || case when count(*) over alike > 1 then ' (' || admin_class_id || ')' else '' end as class_name
from classes
window alike as (partition by school_id, semester_id, class_grade, admin_class_name, class_teacher)
