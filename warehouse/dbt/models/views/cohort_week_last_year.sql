-- Grain: school, semester, cohort, teaching week in which the same grade has attendance of the year before.
-- Rules: the grade is the grade level of the cohort. Several cohorts may have had it in that year.
with weeks as (
    select * from {{ ref('attendance_group_week') }} where group_type = 'cohort'
),

earlier as (
    select
        weeks.school_id,
        weeks.semester_id,
        weeks.group_id as cohort_id,
        weeks.grade_level,
        weeks.week,
        cast(sum(earlier.recorded) as bigint) as recorded,
        cast(sum(earlier.present) as bigint) as present
    from weeks
    inner join {{ ref('dim_semester') }} as semesters using (school_id, semester_id)
    inner join weeks as earlier
        on earlier.school_id = weeks.school_id
        and earlier.semester_id = semesters.last_year_semester_id
        and earlier.grade_level = weeks.grade_level
        and earlier.week = weeks.week
    where earlier.recorded > 0
    group by all
)

select
    school_id,
    semester_id,
    cohort_id,
    grade_level,
    week,
    {{ rate('present', 'recorded') }} as last_year_rate
from earlier
