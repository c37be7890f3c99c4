-- Grain: school, administrative class, tier of attendance of its students in the semesters that are shown.
with students as (
    select
        school_id,
        admin_class_id,
        attendance_tier as tier,
        any_value(coalesce(class_title, admin_class)) as class_title,
        count(*) as students
    from {{ ref('student_standing') }}
    where is_shown and admin_class_id is not null and attendance_tier is not null
    group by all
)

select
    students.school_id,
    students.admin_class_id,
    classes.cohort_name,
    students.class_title,
    students.tier,
    coalesce(tiers.upper_percent, 1000) as tier_order,
    students.students
from students
left join {{ ref('dim_admin_class') }} as classes using (school_id, admin_class_id)
left join {{ ref('stg_attendance_tiers') }} as tiers using (school_id, tier)
