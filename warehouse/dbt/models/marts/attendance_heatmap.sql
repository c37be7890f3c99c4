-- Grain: school, semester, weekday, lesson with sessions.
-- Rules: rates come from sums over all classes and weeks. Sessions without a record are in no numerator and no
--   denominator.
-- Source: marts.attendance_class_session, raw.timetable_days and dimensions.
with sessions as (
    select * from {{ ref('attendance_class_session') }}
),

weekdays as (
    select * from {{ ref('stg_timetable_days') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

lessons as (
    select * from {{ ref('dim_lesson') }}
),

cells as (
    select
        school_id,
        semester_id,
        weekday,
        lesson,
        {{ session_counts() }},
        {{ attendance_sums() }}
    from sessions
    group by school_id, semester_id, weekday, lesson
)

select
    cells.school_id,
    cells.semester_id,
    {{ semester_names() }},
    coalesce(semesters.is_over, false) as is_complete,
    cells.weekday,
    weekdays.weekday_name,
    {{ in_words('weekday', 'cells.weekday') }},
    cells.lesson,
    lessons.lesson_name,
    lessons.start_time,
    lessons.end_time,
    'all' as population,
    cells.sessions,
    cells.recorded_sessions,
    cells.unrecorded_sessions,
    cells.other_sessions,
    {{ attendance_columns('cells') }},
    {{ rate('cells.present', 'cells.recorded') }} as attendance_rate,
    {{ rate('cells.late', 'cells.present') }} as lateness_rate
from cells
left join semesters
    on semesters.school_id = cells.school_id
    and semesters.semester_id = cells.semester_id
left join weekdays
    on weekdays.school_id = cells.school_id
    and weekdays.semester_id = cells.semester_id
    and weekdays.weekday = cells.weekday
left join lessons
    on lessons.school_id = cells.school_id
    and lessons.semester_id = cells.semester_id
    and lessons.lesson = cells.lesson
