-- Grain: school, semester, weekday, lesson.
-- Rules: week_rate is the attendance rate of the lesson on all weekdays.
with lessons as (
    select
        *,
        left(cast(start_time as varchar), 5) || '–' || left(cast(end_time as varchar), 5) as period,
        cast(sum(present) over of_lesson as bigint) as week_present,
        cast(sum(recorded) over of_lesson as bigint) as week_recorded
    from {{ ref('attendance_heatmap') }}
    window of_lesson as (partition by school_id, semester_id, lesson)
)

select
    lessons.school_id,
    lessons.semester_id,
    lessons.semester_name,
    semesters.is_shown,
    lessons.lesson,
    lessons.lesson_name,
    lessons.period,
    {{ rate('lessons.week_present', 'lessons.week_recorded') }} as week_rate,
    lessons.weekday,
    lessons.attendance_rate,
    lessons.lateness_rate
from lessons
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
