-- Grain: school, semester, group of students (the school, a cohort, or students without one), tier; the lowest tier first.
-- Rules: students who have left count. The last tier are students without records. Students whose tier is not known
--   count in no tier, but in the number of the group.
with counts as (
    select
        school_id,
        semester_id,
        grouping(cohort_id) = 1 as is_school,
        cohort_id,
        cohort_name,
        count(*) as students
    from {{ ref('attendance_student_semester') }}
    group by grouping sets ((school_id, semester_id, cohort_id, cohort_name), (school_id, semester_id))
),

by_tier as (
    select
        school_id,
        semester_id,
        grouping(cohort_id) = 1 as is_school,
        cohort_id,
        tier,
        count(*) as students
    from {{ ref('attendance_student_semester') }}
    group by grouping sets ((school_id, semester_id, cohort_id, tier), (school_id, semester_id, tier))
),

tiers as (
    select school_id, tier, upper_percent as tier_order from {{ ref('stg_attendance_tiers') }}
    union all
    select school_id, 'unrecorded', 101 from {{ ref('dim_school') }}
)

select
    counts.school_id,
    counts.semester_id,
    semesters.semester_name,
    semesters.is_shown,
    counts.is_school,
    case when counts.is_school then schools.school_name else counts.cohort_name end as cohort_name,
    counts.cohort_id,
    counts.students,
    tiers.tier,
    tiers.tier_order,
    coalesce(by_tier.students, 0) as tier_students,
    {{ rate('coalesce(by_tier.students, 0)', 'counts.students') }} as tier_percent
from counts
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
inner join {{ ref('dim_school') }} as schools using (school_id)
inner join tiers on tiers.school_id = counts.school_id
left join by_tier
    on by_tier.school_id = counts.school_id
    and by_tier.semester_id = counts.semester_id
    and by_tier.is_school = counts.is_school
    and by_tier.cohort_id is not distinct from counts.cohort_id
    and by_tier.tier = tiers.tier
