-- Grain: school, semester, date: every day of a semester, first and last included.
-- Rules: teaching weeks count from 1 (macros/calendar.sql). A teaching day is a weekday with lessons: by the
--   semester, else by its timetable, else unknown. The platform has no holidays; core.fct_class_session shows
--   whether school was held on a day. A semester of more than two years has no rows, since its days are implausible.
-- Source: raw.semesters, raw.v1_semesters, raw.timetable_days.
with semesters as (
    select * from {{ ref('dim_semester') }}
),

timetable_days as (
    select * from {{ ref('stg_timetable_days') }}
),

days as (
    select
        school_id,
        semester_id,
        week_1_on,
        week_count,
        teaching_weekdays,
        cast(unnest(generate_series(first_day, last_day, interval 1 day)) as date) as date
    from semesters
    where last_day - first_day between 0 and 731
),

timetables as (
    select school_id, semester_id, list(weekday) as weekdays
    from timetable_days
    group by school_id, semester_id
)

select
    days.school_id,
    days.semester_id,
    days.date,
    {{ week_of('days.date', 'days') }} as week,
    cast(isodow(days.date) as integer) as weekday,
    timetable_days.weekday_name,
    {{ in_words('weekday', 'isodow(days.date)') }},
    list_contains(coalesce(days.teaching_weekdays, timetables.weekdays), isodow(days.date)) as is_teaching_day
from days
left join timetables
    on timetables.school_id = days.school_id
    and timetables.semester_id = days.semester_id
left join timetable_days
    on timetable_days.school_id = days.school_id
    and timetable_days.semester_id = days.semester_id
    and timetable_days.weekday = isodow(days.date)
