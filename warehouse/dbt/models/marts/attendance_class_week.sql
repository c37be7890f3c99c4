-- Grain: school, semester, course class, teaching week with sessions (week null: a semester without days).
-- Rules: rates come from sums. recorded_sessions and unrecorded_sessions are those whose roll was taken or
--   should have been; other_sessions were moved, fell on a day without school, have no students, or are not due
--   yet.
--   recording_rate = 100 * recorded_sessions / (recorded_sessions + unrecorded_sessions).
-- Source: marts.attendance_class_session and dimensions.
with sessions as (
    select * from {{ ref('attendance_class_session') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

{{ classes_with_names() }},

weeks as (
    select
        school_id,
        semester_id,
        course_class_id,
        week,
        {{ session_counts() }},
        {{ attendance_sums() }}
    from sessions
    group by school_id, semester_id, course_class_id, week
)

select
    weeks.school_id,
    weeks.semester_id,
    {{ semester_names() }},
    weeks.course_class_id,
    classes.class_code,
    classes.course_name,
    classes.class_name,
    classes.subject_name,
    classes.teacher_names,
    weeks.week,
    {{ is_complete(last_day_of('weeks.week', 'semesters'), 'semesters') }} as is_complete,
    'all' as population,
    weeks.sessions,
    weeks.recorded_sessions,
    weeks.unrecorded_sessions,
    weeks.other_sessions,
    {{ attendance_columns('weeks') }},
    {{ rate('weeks.recorded_sessions', '(weeks.recorded_sessions + weeks.unrecorded_sessions)') }}
        as recording_rate,
    {{ rate('weeks.present', 'weeks.recorded') }} as attendance_rate,
    {{ rate('weeks.late', 'weeks.present') }} as lateness_rate
from weeks
left join classes
    on classes.school_id = weeks.school_id
    and classes.course_class_id = weeks.course_class_id
left join semesters
    on semesters.school_id = weeks.school_id
    and semesters.semester_id = weeks.semester_id
