-- Grain: school, outcome, teaching week of closed semesters.
-- Rules: how the score of the week does on students whom the fit has not seen, as the yml says.
-- Source: core.early_warning_score_unseen, core.early_warning_week.
{%- set columns = [
    'school_id', 'semester_id', 'week', 'student_id', 'outcome', 'fold', 'has_happened', 'chance', 'best_single', 'single_chance'
] %}
with cases as (
    select
        unseen.* replace (cast(chance as double) as chance, cast(single_chance as double) as single_chance),
        {{ level_rank('weeks.level') }} as level
    from {{ ref('early_warning_score_unseen') }} as unseen
    inner join {{ ref('early_warning_week') }} as weeks
        on weeks.school_id = unseen.school_id
        and weeks.semester_id = unseen.semester_id
        and weeks.week = unseen.week
        and weeks.student_id = unseen.student_id
),

{{ returned('judge_early_warning_score', 'cases', columns + ['level']) }}

select
    fields['school_id'] as school_id,
    schools.school_name,
    fields['outcome'] as outcome,
    fields['week'] as week,
    fields['semesters'] as semesters,
    fields['students'] as students,
    fields['with_outcome'] as with_outcome,
    {%- for auc in ('auc', 'level_auc', 'single_auc', 'auc_difference') %}
    {%- if auc == 'single_auc' %}
    fields['best_single'] as best_single,
    {%- endif %}
    {%- for end in ('', '_low', '_high') %}
    {{ rounded("fields['" ~ auc ~ end ~ "']") }} as {{ auc ~ end }},
    {%- endfor %}
    {%- endfor %}
    {%- for figure in ('slope', 'slope_low', 'slope_high', 'brier', 'base_rate_brier') %}
    {{ rounded("fields['" ~ figure ~ "']") }} as {{ figure }},
    {%- endfor %}
    fields['is_shown'] as is_shown
from returned
left join {{ ref('dim_school') }} as schools
    on schools.school_id = fields['school_id']
