-- Grain: school, closed semester, teaching week, rule, outcome, group of students.
-- Rules: as marts.early_warning_backtest, of the students of a group: gender, boarding, or cohort, beside all others of
--   its kind of groups. The formulas are in the descriptions of the columns. The verdict rests on recall and false
--   alarms (equal opportunity), in a week that is chosen beforehand: precision differs where only base rates do.
-- Source: core.early_warning_week, core.early_warning_outcome, core.early_warning_student.
with {{ backtest_cases() }},

thresholds as (
    select school_id, max(value) filter (where threshold = 'small_group_students') as small_group
    from {{ ref('stg_attendance_thresholds') }}
    group by school_id
),

grouped as (
    select
        cases.*,
        unnest(['gender', 'boarding', 'cohort']) as group_type,
        unnest([
            case when students.gender in ('m', 'f') then students.gender else 'unknown' end,
            case students.is_boarding when true then 'boarding' when false then 'day' else 'unknown' end,
            coalesce(cast(cases.cohort_id as varchar), 'unknown')
        ]) as group_code,
        students.cohort_name
    from cases
    left join {{ ref('early_warning_student') }} as students
        on students.school_id = cases.school_id
        and students.semester_id = cases.semester_id
        and students.student_id = cases.student_id
),

counted as (
    select
        school_id,
        semester_id,
        week,
        outcome,
        group_type,
        group_code,
        any_value(cohort_name) filter (where group_type = 'cohort') as cohort_name,
        week = {{ backtest_verdict_week('any_value(week_count)') }} as is_verdict_week,
        {{ backtest_counts() }}
    from grouped
    group by school_id, semester_id, week, outcome, group_type, group_code
),

{{ backtest_rows() }},

compared as (
    select
        rows.*,
        flagged - hits as false_alarms,
        students - with_outcome as without,
        {%- for count in ('hits', 'flagged', 'with_outcome', 'students') %}
        cast(sum({{ count }}) over whole - {{ count }} as bigint) as other_{{ count }},
        {%- endfor %}
        sum(judged) over whole - judged as other_judged,
        count(*) over whole as groups,
        row_number() over (whole order by group_code) as group_number,
        other_flagged - other_hits as other_false_alarms,
        other_students - other_with_outcome as other_without,
        bool_or({{ is_few(
            ['students', 'judged', 'with_outcome', 'flagged', 'hits', 'with_outcome - hits', 'flagged - hits'],
            'thresholds.small_group'
        ) }}) over whole as is_suppressed
    from rows
    left join thresholds
        on thresholds.school_id = rows.school_id
    window whole as (partition by rows.school_id, semester_id, week, outcome, rule, group_type)
),

{%- set shares = {
    'precision': ('hits', 'flagged'),
    'recall': ('hits', 'with_outcome'),
    'false_alarm_rate': ('false_alarms', 'without')
} %}
-- The comparisons that carry the verdict. Of two groups each is compared with the other, which is one comparison.
comparisons as (
    select
        school_id,
        semester_id,
        week,
        rule,
        outcome,
        group_type,
        if(groups = 2, null, group_code) as group_code,
        share,
        list_sum(list_filter(weights, lambda weight: weight <= 1.0000001)) / list_sum(weights) as p_value
    from (
        select
            *,
            unnest(
                [
                    {%- for share in ('recall', 'false_alarm_rate') %}
                    {%- set part, whole = shares[share] %}
                    {
                        'share': '{{ share }}',
                        'smaller': least({{ whole }}, other_{{ whole }}),
                        'weights': {{ table_weights(part, whole, 'other_' ~ part, 'other_' ~ whole) }}
                    }{{ ',' if not loop.last }}
                    {%- endfor %}
                ],
                recursive := true
            )
        from compared
        where
            is_verdict_week
            and least(judged, other_judged) > 0
            and (groups > 2 or group_number = 1)
    ) as tables
    where smaller >= {{ backtest_minimum() }}
),

ordered as (
    select
        *,
        count(*) over family as comparisons,
        row_number() over (family order by p_value, group_type, group_code, share) as rank
    from comparisons
    window family as (partition by school_id, semester_id, rule, outcome)
),

-- By Holm's method, for all comparisons of the rule and outcome.
adjusted as (
    select
        *,
        least(max((comparisons - rank + 1) * p_value) over (
            partition by school_id, semester_id, rule, outcome order by rank
        ), 1) as adjusted_p_value
    from ordered
),

verdicts as (
    select
        school_id,
        semester_id,
        week,
        rule,
        outcome,
        group_type,
        group_code,
        max(adjusted_p_value) filter (where share = 'recall') as recall_p_value,
        max(adjusted_p_value) filter (where share = 'false_alarm_rate') as false_alarm_rate_p_value
    from adjusted
    group by school_id, semester_id, week, rule, outcome, group_type, group_code
)

select
    compared.school_id,
    compared.semester_id,
    {{ semester_names() }},
    compared.week,
    compared.is_verdict_week,
    compared.rule_type,
    compared.rule,
    compared.outcome,
    {{ backtest_is_contained('compared') }} as is_contained,
    compared.group_type,
    compared.group_code,
    {{ in_words('group', 'coalesce(compared.cohort_name, compared.group_code)') }},
    coalesce(compared.is_suppressed, true) as is_suppressed,
    {{ backtest_shares('compared') }},
    {%- set is_judged = 'compared.judged > 0' %}
    case when {{ is_judged }} then {{ rate('compared.false_alarms', 'compared.without') }} end as false_alarm_rate,
    {%- for end in ('low', 'high') %}
    case when {{ is_judged }} then {{ wilson_limit('compared.false_alarms', 'compared.without', end) }} end as false_alarm_rate_{{ end }},
    {%- endfor %}
    {%- for share, (part, whole) in shares.items() %}
    {%- set counts = ('compared.' ~ part, 'compared.' ~ whole, 'compared.other_' ~ part, 'compared.other_' ~ whole) %}
    {%- set is_judged = 'least(compared.judged, compared.other_judged) > 0' %}
    case when {{ is_judged }} then {{ rounded(rate_difference(*counts), places=2) }} end as {{ share }}_difference,
    {%- for end in ('low', 'high') %}
    case when {{ is_judged }} then {{ newcombe_limit(*counts, end=end) }} end as {{ share }}_difference_{{ end }},
    {%- endfor %}
    {%- endfor %}
    {{ rounded('verdicts.recall_p_value', places=6) }} as recall_p_value,
    {{ rounded('verdicts.false_alarm_rate_p_value', places=6) }} as false_alarm_rate_p_value,
    least(verdicts.recall_p_value, verdicts.false_alarm_rate_p_value) <= 0.05 as is_distinguishable
from compared
left join verdicts
    on verdicts.school_id = compared.school_id
    and verdicts.semester_id = compared.semester_id
    and verdicts.week = compared.week
    and verdicts.rule = compared.rule
    and verdicts.outcome = compared.outcome
    and verdicts.group_type = compared.group_type
    and verdicts.group_code is not distinct from if(compared.groups = 2, null, compared.group_code)
left join {{ ref('dim_semester') }} as semesters
    on semesters.school_id = compared.school_id
    and semesters.semester_id = compared.semester_id
