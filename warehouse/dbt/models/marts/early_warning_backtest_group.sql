-- Grain: school, closed semester, teaching week, rule, outcome, group of students.
-- Rules: as marts.early_warning_backtest, of the students of a group: gender, boarding, or cohort. Each group is held
--   against all other students of its kind of groups: *_difference = the group's share less that of the others, in
--   percentage points, with 95% intervals by Newcombe's method from Wilson's. false_alarm_rate: of those without the
--   outcome, how many were flagged. is_distinguishable: one of the three intervals leaves out zero, each of them wider by
--   2.394 / 1.960, so that three comparisons together are wrong in 5% of the cases (Bonferroni).
--   is_suppressed: where fewer students than small_group_students (seeds.attendance_thresholds), but not nobody, enter
--   one of the counts of a group of the kind, no group of the kind is shown where a file leaves the house.
-- Source: core.early_warning_week, core.early_warning_outcome, core.early_warning_student.
{%- set shares = {
    'precision': ('hits', 'flagged'),
    'recall': ('hits', 'with_outcome'),
    'false_alarm_rate': ('false_alarms', 'without')
} %}
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

limits as (
    select
        *,
        {%- for share, (part, whole) in shares.items() %}
        {{ rate(part, whole) }} as {{ share }}_here,
        {{ rate('other_' ~ part, 'other_' ~ whole) }} as {{ share }}_elsewhere,
        {%- for end in ('low', 'high') %}
        {{ wilson_limit(part, whole, end) }} as {{ share }}_here_{{ end }},
        {{ wilson_limit('other_' ~ part, 'other_' ~ whole, end) }} as {{ share }}_elsewhere_{{ end }},
        {%- endfor %}
        {%- endfor %}
    from compared
)

select
    limits.school_id,
    limits.semester_id,
    {{ semester_names() }},
    limits.week,
    limits.rule_type,
    limits.rule,
    limits.outcome,
    {{ backtest_is_contained('limits') }} as is_contained,
    limits.group_type,
    limits.group_code,
    {{ in_words('group', 'coalesce(limits.cohort_name, limits.group_code)') }},
    coalesce(limits.is_suppressed, true) as is_suppressed,
    {{ backtest_shares('limits') }},
    limits.false_alarm_rate_here as false_alarm_rate,
    limits.false_alarm_rate_here_low as false_alarm_rate_low,
    limits.false_alarm_rate_here_high as false_alarm_rate_high,
    {%- for share in shares %}
    cast(limits.{{ share }}_here - limits.{{ share }}_elsewhere as decimal(9, 2)) as {{ share }}_difference,
    {{ newcombe_limit('limits.' ~ share, 'low') }} as {{ share }}_difference_low,
    {{ newcombe_limit('limits.' ~ share, 'high') }} as {{ share }}_difference_high,
    {%- endfor %}
    {%- for share in shares %}
    {{ 'or ' if not loop.first }}coalesce(
        {{ share }}_difference > 1.2214 * ({{ share }}_difference - {{ share }}_difference_low)
        or -{{ share }}_difference > 1.2214 * ({{ share }}_difference_high - {{ share }}_difference),
        false
    )
    {%- endfor %} as is_distinguishable
from limits
left join {{ ref('dim_semester') }} as semesters
    on semesters.school_id = limits.school_id
    and semesters.semester_id = limits.semester_id
