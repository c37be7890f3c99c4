-- Grain: school, group of students (the school, a cohort, an administrative class), teaching week of the semesters that are
--   shown; weeks in which nothing was recorded are left out.
-- Rules: the group above a class is its cohort, the group above a cohort is the school. The same grade a year before is
--   known of a cohort whose grade level is known, by the teaching week.
with weeks as (
    select
        school_id,
        group_type,
        group_id,
        week,
        any_value(group_name) as group_name,
        bool_and(is_complete) as is_complete,
        cast(sum(recorded) as bigint) as recorded,
        cast(sum(present) as bigint) as present
    from {{ ref('attendance_group_week') }}
    inner join {{ ref('shown_semester') }} using (school_id, semester_id)
    where week is not null and recorded > 0
    group by all
),

last_year as (
    select
        now.school_id,
        now.group_type,
        now.group_id,
        now.week,
        max(now.grade_level) as grade_level,
        cast(sum(earlier.recorded) as bigint) as recorded,
        cast(sum(earlier.present) as bigint) as present
    from {{ ref('attendance_group_week') }} as now
    inner join {{ ref('shown_semester') }} as semesters using (school_id, semester_id)
    inner join {{ ref('attendance_group_week') }} as earlier
        on earlier.school_id = now.school_id
        and earlier.semester_id = semesters.last_year_semester_id
        and earlier.group_type = now.group_type
        and earlier.grade_level = now.grade_level
        and earlier.week = now.week
    where now.group_type = 'cohort' and earlier.recorded > 0
    group by all
),

classes as (
    select school_id, admin_class_id, cohort_id from {{ ref('dim_admin_class') }}
)

select
    weeks.school_id,
    weeks.group_type,
    weeks.group_id,
    case when weeks.group_type = 'school' then '' else cast(weeks.group_id as varchar) end as group_key,
    weeks.group_name,
    weeks.week,
    weeks.is_complete,
    weeks.recorded,
    weeks.present,
    {{ rate('weeks.present', 'weeks.recorded') }} as attendance_rate,
    {{ rate('above.present', 'above.recorded') }} as above_rate,
    {{ rate('last_year.present', 'last_year.recorded') }} as last_year_rate,
    last_year.grade_level
from weeks
left join classes
    on classes.school_id = weeks.school_id
    and weeks.group_type = 'admin_class'
    and classes.admin_class_id = weeks.group_id
left join weeks as above
    on above.school_id = weeks.school_id
    and above.week = weeks.week
    and (
        (weeks.group_type = 'cohort' and above.group_type = 'school')
        or (weeks.group_type = 'admin_class' and above.group_type = 'cohort' and above.group_id = classes.cohort_id)
    )
left join last_year
    on last_year.school_id = weeks.school_id
    and last_year.group_type = weeks.group_type
    and last_year.group_id = weeks.group_id
    and last_year.week = weeks.week
