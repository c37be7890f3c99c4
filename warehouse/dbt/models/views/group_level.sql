-- Grain: school, group of students (the school, a cohort, an administrative class) of the semesters that are shown; without
--   students whom the platform has deleted.
-- Rules: judged are the students with a level; levels are not known where an input was never loaded.
select
    school_id,
    {{ set_group_type() }} as group_type,
    {{ set_group_key() }} as group_key,
    bool_and(inputs_loaded) as inputs_loaded,
    count(*) as students,
    count(*) filter (where level = 'at_risk') as at_risk,
    count(*) filter (where level = 'warning') as warning,
    count(*) filter (where level = 'unknown') as unknown,
    count(*) filter (where level <> 'unknown') as judged
from {{ ref('early_warning') }}
semi join {{ ref('shown_semester') }} using (school_id, semester_id)
anti join (from {{ ref('dim_student') }} where is_deleted) using (school_id, student_id)
{{ by_group('school_id') }}
