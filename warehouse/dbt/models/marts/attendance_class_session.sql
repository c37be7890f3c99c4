-- Grain: school, course class, date, lesson: a session that was scheduled, or that has records.
-- Rules: states are those of core.fct_class_session. Only recorded sessions have counts and rates; the others are in no
--   numerator and no denominator. attendance_rate = 100 * present / recorded, lateness_rate = 100 * late / present.
--   Names and teachers come from v3, else from v1. Sessions without a semester are left out.
-- Source: core.fct_class_session and dimensions.
with sessions as (
    select * from {{ ref('fct_class_session') }} where semester_id is not null
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

lessons as (
    select * from {{ ref('dim_lesson') }}
),

{{ classes_with_names() }}

select
    sessions.school_id,
    sessions.semester_id,
    {{ semester_names() }},
    sessions.course_class_id,
    classes.class_code,
    classes.course_name,
    classes.class_name,
    classes.subject_name,
    classes.teacher_ids,
    classes.teacher_names,
    sessions.date,
    sessions.week,
    sessions.weekday,
    {{ in_words('weekday', 'sessions.weekday') }},
    sessions.lesson,
    lessons.lesson_name,
    lessons.start_time,
    sessions.is_scheduled,
    sessions.state,
    sessions.members,
    sessions.records,
    sessions.unrecorded_members,
    {{ attendance_columns('sessions') }},
    {{ rate('sessions.present', 'sessions.recorded') }} as attendance_rate,
    {{ rate('sessions.late', 'sessions.present') }} as lateness_rate,
    sessions.first_marked_at,
    sessions.last_marked_at,
    sessions.platform_attendance_rate
from sessions
left join classes
    on classes.school_id = sessions.school_id
    and classes.course_class_id = sessions.course_class_id
left join semesters
    on semesters.school_id = sessions.school_id
    and semesters.semester_id = sessions.semester_id
left join lessons
    on lessons.school_id = sessions.school_id
    and lessons.semester_id = sessions.semester_id
    and lessons.lesson = sessions.lesson
