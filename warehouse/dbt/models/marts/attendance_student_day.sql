-- Grain: school, semester, student, day with attendance.
-- Rules: recorded counts the records that count in rates. Each is present or absent; late and early_left are present.
--   is_absent_day: at least absent_day_percent (seeds.attendance_thresholds) of the day's recorded lessons were missed.
--     is_unexcused_day: as many were missed without leave. Both are null if no lesson is recorded.
--   lesson_marks: one sign for each recorded lesson, in their order (macros/attendance.sql).
--   period_absence_rate = 100 * absent / recorded.
-- Source: core.fct_attendance, core.dim_semester.
with attendance as (
    select * from {{ ref('fct_attendance') }} where semester_id is not null
),

thresholds as (
    select school_id, value as absent_day_percent
    from {{ ref('stg_attendance_thresholds') }}
    where threshold = 'absent_day_percent'
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

days as (
    select
        school_id,
        semester_id,
        student_id,
        date,
        any_value(week) as week,
        any_value(weekday) as weekday,
        {{ attendance_counts() }},
        {{ lesson_bits('is_present') }} as present_bits,
        {{ lesson_bits('is_absent and is_leave') }} as leave_bits,
        {{ lesson_bits('is_absent and is_leave is not true') }} as unexcused_bits
    from attendance
    group by school_id, semester_id, student_id, date
)

select
    days.school_id,
    days.semester_id,
    {{ semester_names() }},
    days.student_id,
    days.date,
    days.week,
    days.weekday,
    {{ in_words('weekday', 'days.weekday') }},
    {{ attendance_columns('days') }},
    {{ rate('days.absent', 'days.recorded') }} as period_absence_rate,
    case
        when days.recorded > 0 then 100 * days.absent >= thresholds.absent_day_percent * days.recorded
    end as is_absent_day,
    case
        when days.recorded > 0 then 100 * days.unexcused >= thresholds.absent_day_percent * days.recorded
    end as is_unexcused_day,
    {{ lesson_marks() }} as lesson_marks
from days
left join thresholds
    on thresholds.school_id = days.school_id
left join semesters
    on semesters.school_id = days.school_id
    and semesters.semester_id = days.semester_id
