{#-
    The first day of teaching week 1: the Monday of the week that the semester begins in, or that first day
    itself where the setting attendance.weeks_begin is first_day. The loads count in the same way.
-#}
{% macro week_1_on(first_day) -%}
    {%- if env_var('CAMPUS_BUILD_WEEKS_BEGIN', 'monday') == 'first_day' -%}
    {{ first_day }}
    {%- else -%}
    cast(date_trunc('week', {{ first_day }}) as date)
    {%- endif -%}
{%- endmacro %}

{#- The teaching week of a day, from 1; a day outside the semester counts as its nearest week. -#}
{% macro week_of(day, semester) -%}
    case
        when {{ semester }}.week_count is not null
            then cast(
                least(greatest(({{ day }} - {{ semester }}.week_1_on) // 7 + 1, 1), {{ semester }}.week_count)
                as integer
            )
    end
{%- endmacro %}
