-- Grain: school, semester, student, indicator that has a value: as early_warning_indicator.
select
    indicators.school_id,
    indicators.semester_id,
    semesters.semester_name,
    semesters.is_shown,
    indicators.student_id,
    indicators.place,
    indicators.indicator,
    indicators.value,
    indicators.level,
    indicators.limit_value,
    indicators.rank_from_worst,
    indicators.cohort_students
from {{ ref('early_warning_indicator') }} as indicators
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
