-- Grain: school, semester with students.
-- Rules: students who have left do not count. Shares are of the students whose level is known.
with levels as (
    select
        school_id,
        semester_id,
        is_complete,
        {{ level_counts() }}
    from {{ ref('early_warning') }}
    where has_left is not true
    group by all
)

select
    levels.school_id,
    levels.semester_id,
    semesters.semester_name,
    semesters.is_shown,
    semesters.newest_first,
    levels.is_complete,
    {{ level_columns('levels') }}
from levels
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
