-- Grain: school, student, day with a roll, of the semesters that are shown.
-- Rules: marks has the mark of each lesson, in the order of lessons.
select
    school_id,
    student_id,
    week,
    weekday,
    date,
    list(mark order by lesson, course_class_id) as marks
from {{ ref('student_lesson') }}
group by all
