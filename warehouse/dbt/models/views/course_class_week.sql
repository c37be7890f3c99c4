-- Grain: school, semester, course class, teaching week.
-- Rules: semester_rate is that of all weeks, and weeks_below the number of weeks with the verdict below. week_state is so
--   far where the week is not over.
with weeks as (
    select
        *,
        cast(sum(present) over of_class as bigint) as semester_present,
        cast(sum(recorded) over of_class as bigint) as semester_recorded,
        count(*) filter (where verdict = 'below') over of_class as weeks_below
    from {{ ref('attendance_class_week') }}
    window of_class as (partition by school_id, semester_id, course_class_id)
)

select
    weeks.school_id,
    weeks.semester_id,
    weeks.semester_name,
    semesters.is_shown,
    weeks.course_name,
    weeks.class_name,
    weeks.teacher_names,
    weeks.course_class_id,
    weeks.weeks_below,
    {{ rate('weeks.semester_present', 'weeks.semester_recorded') }} as semester_rate,
    weeks.week,
    {{ so_far('weeks') }} as week_state,
    weeks.sessions,
    weeks.recorded_sessions,
    weeks.unrecorded_sessions,
    weeks.attendance_rate,
    weeks.lateness_rate,
    weeks.recording_rate
from weeks
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
