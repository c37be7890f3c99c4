-- Grain: school, semester, student: as grade_student_growth.
select
    growth.school_id,
    growth.semester_id,
    semesters.semester_name,
    semesters.is_shown,
    semesters.newest_first,
    growth.student_id,
    {{ percent('grades.score_sum', 'grades.full_score_sum', places=2) }} as score_rate,
    growth.growth_percentile,
    growth.growth_percentile_low,
    growth.growth_percentile_high
from {{ ref('grade_student_growth') }} as growth
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
inner join {{ ref('grade_student_semester') }} as grades using (school_id, semester_id, student_id)
