-- Grain: school, period of views.last_school_day, course class, date, lesson.
-- Rules: the lessons of the seven days up to the day whose roll was to be taken.
select
    rolls.school_id,
    rolls.semester_id,
    periods.period,
    rolls.course_class_id,
    rolls.course_name,
    rolls.class_name,
    rolls.teacher_names,
    rolls.date,
    rolls.weekday,
    rolls.lesson,
    rolls.state
from {{ ref('attendance_class_session') }} as rolls
inner join {{ ref('last_school_day') }} as periods
    on periods.school_id = rolls.school_id
    and rolls.date between periods.date - 6 and periods.date
where rolls.state in ('recorded', 'unrecorded')
