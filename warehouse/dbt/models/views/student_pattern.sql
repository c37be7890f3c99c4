-- Grain: school, semester, student, pattern of absence: weekday, lesson or course.
select
    patterns.school_id,
    patterns.semester_id,
    semesters.semester_name,
    semesters.is_shown,
    patterns.student_id,
    patterns.pattern_type,
    patterns.pattern_key,
    patterns.pattern_en,
    patterns.pattern_zh,
    patterns.absent,
    patterns.recorded,
    patterns.absence_rate,
    patterns.others_absence_rate,
    patterns.p_value
from {{ ref('attendance_student_pattern') }} as patterns
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
where patterns.is_pattern
