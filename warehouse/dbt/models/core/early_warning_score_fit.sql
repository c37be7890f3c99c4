-- Grain: school, outcome, teaching week, input.
-- Rules: the coefficients of marts.early_warning_score, as its yml says. An unchanged past gives unchanged
--   coefficients: nothing of a running semester is read, so that they change when a semester closes.
-- Source: core.early_warning_week, core.early_warning_outcome, core.early_warning_student.
with {{ score_cases() }},

{{ returned('fit_early_warning_score', 'cases', score_case_columns()) }}

select
    fields['school_id'] as school_id,
    fields['outcome'] as outcome,
    fields['week'] as week,
    fields['input'] as input,
    {%- for number in ('mean', 'spread', 'coefficient') %}
    cast(fields['{{ number }}'] as decimal(18, 6)) as {{ number }},
    {%- endfor %}
    cast(fields['penalty'] as decimal(9, 2)) as penalty,
    fields['fitted_on'] as fitted_on,
    fields['semesters'] as semesters,
    fields['students'] as students,
    fields['with_outcome'] as with_outcome
from returned
