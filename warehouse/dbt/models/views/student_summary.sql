-- Grain: school, semester, student, measure: attendance_rate, score_rate, failed_courses.
-- Rules: the values of class and cohort are empty where they have few students. Of failed_courses they are the means of the
--   students.
select
    school_id,
    semester_id,
    semester_name,
    is_shown,
    student_id,
    1 as place,
    'attendance_rate' as measure,
    attendance_rate as student_value,
    class_rate as class_value,
    cohort_rate as cohort_value
from {{ ref('student_attendance') }}
union all
select
    school_id,
    semester_id,
    semester_name,
    is_shown,
    student_id,
    2 as place,
    'score_rate' as measure,
    score_rate as student_value,
    class_rate as class_value,
    cohort_rate as cohort_value
from {{ ref('student_grade') }}
union all
select
    school_id,
    semester_id,
    semester_name,
    is_shown,
    student_id,
    3 as place,
    'failed_courses' as measure,
    failed_courses as student_value,
    class_failed_courses as class_value,
    cohort_failed_courses as cohort_value
from {{ ref('student_grade') }}
