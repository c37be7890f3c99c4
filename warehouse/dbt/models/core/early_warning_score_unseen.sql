-- Grain: school, closed semester, teaching week, student, outcome that is known.
-- Rules: the chances of students by a fit that has not seen their semester, as the yml says.
-- Source: core.early_warning_week, core.early_warning_outcome, core.early_warning_student.
with {{ score_cases() }},

{{ returned('unseen_early_warning_chances', 'cases', score_case_columns()) }}

select
    fields['school_id'] as school_id,
    fields['semester_id'] as semester_id,
    fields['week'] as week,
    fields['student_id'] as student_id,
    fields['outcome'] as outcome,
    fields['fold'] as fold,
    fields['has_happened'] as has_happened,
    cast(fields['chance'] as decimal(9, 6)) as chance,
    fields['best_single'] as best_single,
    cast(fields['single_chance'] as decimal(9, 6)) as single_chance
from returned
