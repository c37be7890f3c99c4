-- Grain: school, semester, teaching week, cohort; a week without cohorts has one row.
-- Rules: the figures of the school stand in each row of its week, and those of the cohort beside them.
with weeks as (
    select * from {{ ref('attendance_group_week') }} where group_type = 'school'
),

cohorts as (
    select * from {{ ref('attendance_group_week') }} where group_type = 'cohort'
),

days as (
    select
        school_id,
        semester_id,
        week,
        min(date) as first_day
    from {{ ref('dim_date') }}
    group by all
)

select
    weeks.school_id,
    weeks.semester_id,
    weeks.semester_name,
    semesters.is_shown,
    weeks.week,
    days.first_day,
    weeks.is_complete,
    weeks.days_in_session,
    weeks.partial_days,
    weeks.average_daily_attendance,
    weeks.recorded,
    weeks.absent,
    weeks.on_leave,
    weeks.late,
    weeks.lateness_rate,
    weeks.attendance_rate,
    cohorts.group_id as cohort_id,
    cohorts.group_name as cohort_name,
    cohorts.attendance_rate as cohort_rate,
    'grade ' || last_year.grade_level as grade,
    last_year.last_year_rate
from weeks
inner join {{ ref('semester') }} as semesters
    on semesters.school_id = weeks.school_id
    and semesters.semester_id = weeks.semester_id
left join days
    on days.school_id = weeks.school_id
    and days.semester_id = weeks.semester_id
    and days.week = weeks.week
left join cohorts
    on cohorts.school_id = weeks.school_id
    and cohorts.semester_id = weeks.semester_id
    and cohorts.week = weeks.week
left join {{ ref('cohort_week_last_year') }} as last_year
    on last_year.school_id = cohorts.school_id
    and last_year.semester_id = cohorts.semester_id
    and last_year.cohort_id = cohorts.group_id
    and last_year.week = cohorts.week
