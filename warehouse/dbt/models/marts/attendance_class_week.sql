-- Grain: school, semester, course class, teaching week with sessions (week null: a semester without days).
-- Rules: rates come from sums. recorded_sessions and unrecorded_sessions are those whose roll was taken or
--   should have been; other_sessions were moved, fell on a day without school, or are not due yet.
--   recording_rate = 100 * recorded_sessions / (recorded_sessions + unrecorded_sessions).
-- Source: marts.attendance_class_session.
with sessions as (
    select * from {{ ref('attendance_class_session') }}
),

weeks as (
    select
        school_id,
        semester_id,
        any_value(semester_name) as semester_name,
        course_class_id,
        any_value(class_code) as class_code,
        any_value(course_name) as course_name,
        any_value(class_name) as class_name,
        any_value(subject_name) as subject_name,
        any_value(teacher_names) as teacher_names,
        week,
        {{ session_counts() }},
        {{ attendance_sums() }}
    from sessions
    group by school_id, semester_id, course_class_id, week
)

select
    *,
    {{ rate('recorded_sessions', '(recorded_sessions + unrecorded_sessions)') }} as recording_rate,
    {{ rate('present', 'recorded') }} as attendance_rate,
    {{ rate('late', 'present') }} as lateness_rate
from weeks
