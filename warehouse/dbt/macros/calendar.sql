{#-
    The first day of teaching week 1: the Monday of the week that the semester begins in, since the platform
    counts calendar weeks; with CAMPUS_BUILD_WEEK_START=start, the semester's first day itself.
-#}
{% macro week_1_on(first_day) -%}
    {%- if env_var('CAMPUS_BUILD_WEEK_START', 'monday') == 'start' -%}
    {{ first_day }}
    {%- else -%}
    cast(date_trunc('week', {{ first_day }}) as date)
    {%- endif -%}
{%- endmacro %}

{#- The teaching week of a day, from 1; null for a day before week 1. -#}
{% macro week_of(day, week_1_on) -%}
    case when {{ day }} >= {{ week_1_on }} then cast(({{ day }} - {{ week_1_on }}) // 7 + 1 as integer) end
{%- endmacro %}
