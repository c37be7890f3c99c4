-- Grain: school, talk or measure: as intervention_outcome.
select
    outcomes.*,
    semesters.is_shown
from {{ ref('intervention_outcome') }} as outcomes
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
