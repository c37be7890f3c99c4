-- Grain: school, semester, student: as early_warning.
select
    warnings.school_id,
    warnings.semester_id,
    semesters.semester_name,
    semesters.is_shown,
    semesters.newest_first,
    warnings.student_id,
    warnings.level,
    warnings.is_provisional,
    warnings.reasons_en,
    warnings.reasons_zh
from {{ ref('early_warning') }} as warnings
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
