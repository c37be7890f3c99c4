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

{#- The resources without which a level is not known for sure. -#}
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

{#- By how much something fell, 0 where it rose; null stays null, which greatest() would leave out. -#}
{% macro decline(amount) -%}
    cast(case when {{ amount }} is not null then greatest({{ amount }}, 0) end as decimal(9, 2))
{%- endmacro %}
