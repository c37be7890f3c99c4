-- Grain: school, semester, lesson of the day.
-- Rules: name and times come from the timetable, else from the semester's own lists. An unreadable time is null.
-- Source: raw.timetable_lessons, raw.v1_semesters.
with timetable_lessons as (
    select * from {{ ref('stg_timetable_lessons') }}
),

semesters as (
    select * from {{ ref('stg_v1_semesters') }}
),

listed as (
    select
        school_id,
        semester_id,
        cast(unnest(range(1, len(lesson_schedules) + 1)) as integer) as lesson,
        unnest(lesson_schedules) as span,
        lesson_names
    from semesters
),

lessons as (
    select
        school_id,
        semester_id,
        lesson,
        coalesce(timetable_lessons.lesson_name, nullif(listed.lesson_names[lesson], '')) as lesson_name,
        coalesce(timetable_lessons.start_time, split_part(listed.span, '-', 1)) as starts,
        coalesce(timetable_lessons.end_time, split_part(listed.span, '-', 2)) as ends
    from timetable_lessons
    full join listed using (school_id, semester_id, lesson)
)

select
    school_id,
    semester_id,
    lesson,
    lesson_name,
    try_cast(trim(starts) as time) as start_time,
    try_cast(trim(ends) as time) as end_time,
    cast(date_diff('minute', start_time, end_time) as integer) as minutes
from lessons
