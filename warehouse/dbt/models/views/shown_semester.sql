-- Grain: school, semester.
-- Rules: the current semester, or else the last semester with data, which is one with a row in early_warning. A platform
--   may have several current semesters, for example of two kinds of school.
select
    semesters.school_id,
    semesters.semester_id,
    semesters.semester_name,
    semesters.first_day,
    semesters.last_day,
    semesters.last_year_semester_id
from {{ ref('dim_semester') }} as semesters
semi join {{ ref('early_warning') }} as judged
    on judged.school_id = semesters.school_id
    and judged.semester_id = semesters.semester_id
qualify
    rank() over (
        partition by semesters.school_id
        order by
            semesters.is_current desc,
            case when not semesters.is_current then semesters.first_day end desc nulls last
    ) = 1
