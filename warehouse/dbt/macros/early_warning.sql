{#- Each indicator of early warning with what it rests on, for the rule's minimum, in the order of reasons. -#}
{% macro warning_indicators() -%}
    {{ return({
        'attendance_rate': 'attendance.days_recorded',
        'attendance_drop': 'least(attendance.recent_recorded, attendance.earlier_recorded)',
        'lateness_rate': 'attendance.present',
        'score_rate': 'grades.scored_courses',
        'score_drop': 'grades.scored_courses',
        'failed_courses': 'grades.counted_courses',
        'missing_rate': 'scores.expected'
    }) }}
{%- endmacro %}

{#- The levels that are known: the worst first. -#}
{% macro warning_levels() -%}
    {{ return(words()['level'] | reject('equalto', 'unknown') | list) }}
{%- endmacro %}

{#- The resources without which a level is uncertain. -#}
{% macro warning_inputs() -%}
    {{ return([
        'assessment_items', 'assessments', 'attendance_records', 'class_members', 'grades', 'scores', 'students'
    ]) }}
{%- endmacro %}

{#- Whether a value is beyond a limit of the CTE or table `rules`; null: there is no limit. -#}
{% macro is_beyond(value, limit) -%}
    case rules.worse
        when 'below' then {{ value }} < {{ limit }}
        when 'at_most' then {{ value }} <= {{ limit }}
        else {{ value }} >= {{ limit }}
    end
{%- endmacro %}

{#- A reason in words: the rule's template with the value and the limit that it is beyond, and whether it is provisional. -#}
{% macro reason(template, among, provisional) -%}
    replace(
        replace(replace({{ template }}, '{value}', {{ _plain('value') }}), '{limit}', {{ _plain('limit_value') }}),
        '{among}',
        case when is_by_cohort then replace('{{ among }}', '{percent}', {{ _plain('cohort_percent') }}) else '' end
    ) || if(is_provisional, '{{ provisional }}', '')
{%- endmacro %}

{#- A number without trailing zeros. -#}
{% macro _plain(number) -%}
    rtrim(rtrim(cast(cast({{ number }} as decimal(18, 2)) as varchar), '0'), '.')
{%- endmacro %}

{#- The size of a fall, 0 after a rise; null stays null, which greatest() would ignore. -#}
{% macro decline(amount) -%}
    cast(case when {{ amount }} is not null then greatest({{ amount }}, 0) end as decimal(9, 2))
{%- endmacro %}

{#- The CTE `valued`: one row a student and indicator, of the columns of a CTE of students; also: what else tells the rows apart. -#}
{% macro warning_values(indicators, also=[]) -%}
    valued as (
        select
            school_id,
            semester_id,
            student_id,
            {%- for column in also %}
            {{ column }},
            {%- endfor %}
            begun_percent,
            lowers_score_rate,
            unnest(
                [
                    {%- for indicator in warning_indicators() %}
                    {
                        'place': {{ loop.index }},
                        'indicator': '{{ indicator }}',
                        'value': cast({{ indicator }} as decimal(9, 2)),
                        'rests_on': cast({{ indicator }}_rests_on as bigint),
                        'is_provisional': {{
                            {'score_rate': 'has_pending', 'score_drop': 'has_pending', 'failed_courses': 'has_pending_failed'}
                            .get(indicator, 'false')
                        }}
                    }{{ ',' if not loop.last }}
                    {%- endfor %}
                ],
                recursive := true
            )
        from {{ indicators }}
    )
{%- endmacro %}

{#- The rule of each row of `valued`, and whether enough is known to judge. -#}
{% macro ruled_columns() -%}
rules.* exclude (school_id, indicator)
            replace (
                if(valued.indicator = 'missing_rate' and valued.lowers_score_rate, 'grades', rules.area) as area
            ),
        coalesce(valued.rests_on >= coalesce(rules.minimum, 0), false)
            -- Null: no item has a full score, or it is not known.
            and coalesce(
                valued.begun_percent >= rules.minimum_begun,
                rules.minimum_begun is null
                or {{ if_loaded(['scores', 'assessment_items'], 'true') }},
                false
            )
            and rules.indicator is not null as is_told
{%- endmacro %}

{#- The CTEs `ranked` and `judged`: the level of each row of `ruled`; also: what else tells the rows apart. -#}
{% macro warning_judgement(also=[]) -%}
    {%- set by = also | map('string') | join(', ') ~ (', ' if also else '') -%}
    ranked as (
        select
            *,
            bool_and(has_left is not null) over (partition by school_id, semester_id, {{ by }}indicator, cohort_id)
                as is_cohort_known,
            case when is_told and cohort_id is not null and is_cohort_known then rank() over worst_first end
                as rank_from_worst,
            -- The window ends with the last of those who have the same value.
            count(*) over worst_first as as_bad_or_worse,
            case when is_told and cohort_id is not null and is_cohort_known then count(*) over in_cohort end
                as cohort_students
        from ruled
        window
            in_cohort as (partition by school_id, semester_id, {{ by }}indicator, cohort_id, has_left, is_told),
            worst_first as (
                partition by school_id, semester_id, {{ by }}indicator, cohort_id, has_left, is_told
                order by case when worse = 'at_least' then -value else value end
            )
    ),
    
    judged as (
        select
            rules.*,
            case
                when rules.cohort_percent is null then true
                when rules.is_cohort_known
                    then coalesce(
                        100 * (rules.as_bad_or_worse - 1) < rules.cohort_percent * (rules.cohort_students - 1), false
                    )
            end as is_among_worst,
            case
                when not rules.is_told then null
                when {{ is_beyond('rules.value', 'rules.at_risk') }} then 'at_risk'
                when {{ is_beyond('rules.value', 'rules.warning') }} and is_among_worst then 'warning'
                when {{ is_beyond('rules.value', 'rules.warning') }} and is_among_worst is null then null
                when {{ is_beyond('rules.value', 'rules.watch') }} then 'watch'
                else 'none'
            end as level,
            level = 'warning' and rules.cohort_percent is not null as is_by_cohort,
            case level
                when 'at_risk' then rules.at_risk
                when 'warning' then rules.warning
                when 'watch' then rules.watch
            end as limit_value
        from ranked as rules
    )
{%- endmacro %}

{#- What the level of a student is made of: the columns of a group of rows of `judged`. -#}
{% macro warning_level_sums() -%}
    count(level) as indicators_known,
        count(distinct area) filter (where level in ('at_risk', 'warning')) as warning_areas,
        coalesce(bool_or(level = 'at_risk'), false) as is_grave,
        coalesce(bool_or(level = 'warning' and suffices), false) as is_enough,
        count(*) filter (where level <> 'none') as reason_count
{%- endmacro %}

{#- The level of a row of `levels`, which has these columns, or none; inputs_loaded: a column of the same SELECT. -#}
{% macro warning_level() -%}
    case
        when coalesce(levels.indicators_known, 0) = 0 then 'unknown'
        when levels.is_grave then 'at_risk'
        when levels.is_enough or levels.warning_areas >= 2 then 'warning'
        when not inputs_loaded then 'unknown'
        when levels.reason_count > 0 then 'watch'
        else 'none'
    end
{%- endmacro %}

{% macro warning_inputs_loaded() -%}
    not coalesce(list_has_any(semesters.never_loaded, {{ warning_inputs() }}), false)
{%- endmacro %}
