{#- The rules that marts.early_warning_backtest judges: type, area (of an indicator: that of its rule in force), and whether
    a row of core.early_warning_week is flagged; the condition begins with a column that is null where the rule judges not. -#}
{% macro backtest_rules() -%}
    {%- set rules = {
        'level_warning': ('level', 'all', 'level_risk >= 2'),
        'level_at_risk': ('level', 'all', 'level_risk >= 3'),
        'attendance_reasons': ('area', 'attendance', 'attendance_reasons_risk >= 2'),
        'grades_reasons': ('area', 'grades', 'grades_reasons_risk >= 2'),
        'failed_last_semester': ('baseline', 'earlier', 'failed_last_semester'),
        'worst_tenth_attendance': ('baseline', 'attendance', 'is_worst_tenth')
    } -%}
    {%- for indicator in warning_indicators() -%}
        {%- do rules.update({indicator: ('indicator', none, indicator ~ "_level in ('warning', 'at_risk')")}) -%}
    {%- endfor -%}
    {{ return(rules) }}
{%- endmacro %}

{#- The outcomes, and the areas of the rules that look at the same thing in the same semester, or the rules. -#}
{% macro backtest_outcomes() -%}
    {{ return({
        'chronic_absence': ['attendance', 'all'],
        'failed_courses': ['grades', 'missing_rate', 'all'],
        'mean_drop': ['grades', 'missing_rate', 'all'],
        'failed_or_chronic': ['attendance', 'grades', 'missing_rate', 'all'],
        'has_left': [],
        'failed_next': []
    }) }}
{%- endmacro %}

{#- What a level or an area is judged by as a whole, beside a single indicator. -#}
{% macro backtest_composites() -%}
    {{ return(['level', 'attendance_reasons', 'grades_reasons']) }}
{%- endmacro %}

{#- A level as a number; null: unknown. -#}
{% macro level_rank(level) -%}
    {{ warning_levels() | length }} - list_position({{ warning_levels() }}, {{ level }})
{%- endmacro %}

{#- The fewest students with the outcome, and without: of a share, of an interval of an area, and of a verdict. -#}
{% macro backtest_minimum(of='share') -%}
    {{ {'share': var('fewest_of_share'), 'interval': 15, 'verdict': 30}[of] }}
{%- endmacro %}

{#- The week whose verdicts count, chosen beforehand so that many weeks are not many trials. -#}
{% macro backtest_verdict_week(week_count) -%}
    least(8, {{ week_count }})
{%- endmacro %}

{#-
    The CTE `flags`: core.early_warning_week with a column for each rule (whether it flags, and how many weeks before
    the end of the semester it first did) and each <indicator>_risk (the greater the worse; null: not judged), and the
    CTE `cases`: a row of it and outcome that is known.
-#}
{% macro backtest_cases() -%}
    rules_by_school as (
        select
            school_id,
            {%- for indicator in warning_indicators() %}
            max(area) filter (where indicator = '{{ indicator }}') as {{ indicator }}_area,
            max(if(worse in ('below', 'at_most'), -1, 1)) filter (where indicator = '{{ indicator }}') as {{ indicator }}_sign{{ ',' if not loop.last }}
            {%- endfor %}
        from {{ ref('stg_early_warning_rules') }}
        group by school_id
    ),

    risks as (
        select
            weeks.*,
            {{ level_rank('weeks.level') }} as level_risk,
            {%- for indicator in warning_indicators() %}
            case when weeks.{{ indicator }}_level is not null then rules.{{ indicator }}_sign * cast(weeks.{{ indicator }} as double) end
                as {{ indicator }}_risk,
            {%- endfor %}
            {%- for area in ('attendance', 'grades') %}
            greatest(
                {%- for indicator in warning_indicators() %}
                case
                    when {{ "if(weeks.missing_lowers_grades, 'grades', rules.missing_rate_area)" if indicator == 'missing_rate' else 'rules.' ~ indicator ~ '_area' }} = '{{ area }}'
                        then {{ level_rank('weeks.' ~ indicator ~ '_level') }}
                end{{ ',' if not loop.last }}
                {%- endfor %}
            ) as {{ area }}_reasons_risk{{ ',' if not loop.last }}
            {%- endfor %}
        from {{ ref('early_warning_week') }} as weeks
        left join rules_by_school as rules
            on rules.school_id = weeks.school_id
    ),

    flags as (
        select
            weeks.*,
            semesters.week_count,
            {%- for rule, (type, area, condition) in backtest_rules().items() %}
            coalesce({{ condition }}, false) as flags_{{ rule }},
            semesters.week_count - min(weeks.week) filter (where {{ condition }}) over so_far as lead_{{ rule }}{{ ',' if not loop.last }}
            {%- endfor %}
        from risks as weeks
        inner join {{ ref('dim_semester') }} as semesters
            on semesters.school_id = weeks.school_id
            and semesters.semester_id = weeks.semester_id
        window so_far as (
            partition by weeks.school_id, weeks.semester_id, weeks.student_id order by weeks.week
        )
    ),

    cases as (
        select *
        from (
            select
                flags.*,
                unnest(['{{ backtest_outcomes() | join("', '") }}']) as outcome,
                unnest([{% for outcome in backtest_outcomes() %}outcomes.{{ outcome }}{{ ', ' if not loop.last }}{% endfor %}]) as has_happened
            from flags
            inner join {{ ref('early_warning_outcome') }} as outcomes
                on outcomes.school_id = flags.school_id
                and outcomes.semester_id = flags.semester_id
                and outcomes.week = flags.week
                and outcomes.student_id = flags.student_id
        ) as pairs
        where has_happened is not null
    )
{%- endmacro %}

{#- The CTE `rows`: a row a rule of the CTE `counted`, which has `backtest_counts`. -#}
{% macro backtest_rows() -%}
    rows as (
        select by_rule.* replace (coalesce(rules.area, by_rule.area) as area)
        from (
            select
                counted.* exclude (rules),
                unnest(counted.rules, recursive := true)
            from counted
        ) as by_rule
        left join {{ ref('stg_early_warning_rules') }} as rules
            on rules.school_id = by_rule.school_id
            and rules.indicator = by_rule.rule
    )
{%- endmacro %}

{#- The counts of a group of `cases`, a struct for each rule, to be unnested. -#}
{% macro backtest_counts() -%}
    count(*) as students,
    count(*) filter (where has_happened) as with_outcome,
    [
        {%- for rule, (type, area, condition) in backtest_rules().items() %}
        {
            'rule_type': '{{ type }}',
            'rule': '{{ rule }}',
            'area': {{ "'" ~ area ~ "'" if area else 'cast(null as varchar)' }},
            'judged': count({{ condition.split(' ')[0] }}),
            'judged_with_outcome': count({{ condition.split(' ')[0] }}) filter (where has_happened),
            'flagged': count(*) filter (where flags_{{ rule }}),
            'hits': count(*) filter (where flags_{{ rule }} and has_happened),
            'lead_weeks': quantile_disc(if(flags_{{ rule }} and has_happened, lead_{{ rule }}, null), 0.5)
        }{{ ',' if not loop.last }}
        {%- endfor %}
    ] as rules
{%- endmacro %}

{#- Whether the rule of a row looks at what the outcome is made of: missing scores lower grades too. -#}
{% macro backtest_is_contained(rows) -%}
    case {{ rows }}.outcome
        {%- for outcome, areas in backtest_outcomes().items() %}
        when '{{ outcome }}' then {{ 'coalesce(list_has_any([' ~ rows ~ '.area, ' ~ rows ~ '.rule], [\'' ~ areas | join("', '") ~ '\']), false)' if areas else 'false' }}
        {%- endfor %}
    end
{%- endmacro %}

{#- The shares of a row of counts, with their intervals. -#}
{% macro backtest_shares(rows) -%}
    {%- set hits, flagged, with_outcome = rows ~ '.hits', rows ~ '.flagged', rows ~ '.with_outcome' -%}
    {%- set students = rows ~ '.students' -%}
    {{ students }},
    {{ with_outcome }},
    {{ rate(with_outcome, students) }} as base_rate,
    {{ wilson_limit(with_outcome, students, 'low') }} as base_rate_low,
    {{ wilson_limit(with_outcome, students, 'high') }} as base_rate_high,
    {{ rows }}.judged,
    {#- A rule that could judge nobody, as failed_last_semester in the first semester, has missed nobody. #}
    {%- set judged = rows ~ '.judged > 0' %}
    {{ flagged }},
    {{ hits }},
    case when {{ judged }} then {{ with_outcome }} - {{ hits }} end as missed,
    {{ flagged }} - {{ hits }} as false_alarms,
    {{ ratio('(' ~ flagged ~ ' - ' ~ hits ~ ')', hits, places=2) }} as false_alarms_per_hit,
    {{ rate(hits, flagged) }} as precision,
    {{ wilson_limit(hits, flagged, 'low') }} as precision_low,
    {{ wilson_limit(hits, flagged, 'high') }} as precision_high,
    case when {{ judged }} then {{ rate(hits, with_outcome) }} end as recall,
    case when {{ judged }} then {{ wilson_limit(hits, with_outcome, 'low') }} end as recall_low,
    case when {{ judged }} then {{ wilson_limit(hits, with_outcome, 'high') }} end as recall_high,
    cast({{ rows }}.lead_weeks as integer) as lead_weeks
{%- endmacro %}
