-- Grain: school, period (last, week_before or last_semester).
-- Rules: the last school day is the last day of the semesters that are shown on which enough students were recorded:
--   session_day_percent (seeds.attendance_thresholds) of the usual number. It is compared with the same weekday a week
--   before, and with the same weekday of the same teaching week in the semester before; of semesters that overlap, before
--   the one with the greatest id.
with days as (
    select
        school_id,
        date,
        max(semester_id) as semester_id,
        arg_max(week, semester_id) as week,
        any_value(weekday) as weekday,
        count(distinct student_id) as students
    from {{ ref('attendance_student_day') }}
    inner join {{ ref('shown_semester') }} using (school_id, semester_id)
    where recorded > 0
    group by all
),

usual as (
    select school_id, quantile_cont(students, 0.5) as students from days
    group by all
),

limits as (
    select school_id, any_value(value) as session_day_percent
    from {{ ref('stg_attendance_thresholds') }}
    where threshold = 'session_day_percent'
    group by all
),

last_days as (
    select days.*
    from days
    inner join usual using (school_id)
    inner join limits using (school_id)
    where 100 * days.students >= usual.students * limits.session_day_percent
    qualify row_number() over (partition by days.school_id order by days.date desc) = 1
),

earlier as (
    select
        now.school_id,
        now.semester_id,
        arg_max(before.semester_id, before.first_day) as before_id
    from {{ ref('dim_semester') }} as now
    inner join {{ ref('dim_semester') }} as before
        on before.school_id = now.school_id
        and before.first_day < now.first_day
    group by all
)

select school_id, 'last' as period, date from last_days
union all
select school_id, 'week_before' as period, date - 7 as date from last_days
union all
select
    last_days.school_id,
    'last_semester' as period,
    days_before.date
from last_days
inner join earlier using (school_id, semester_id)
inner join {{ ref('dim_date') }} as days_before
    on days_before.school_id = earlier.school_id
    and days_before.semester_id = earlier.before_id
    and days_before.week = last_days.week
    and days_before.weekday = last_days.weekday
