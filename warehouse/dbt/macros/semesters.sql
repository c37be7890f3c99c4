{#-
    The id in core of the semester of a v1 row, since v1 and v3 may have different ids for a semester. It needs the join
    below. A semester that v1 does not list keeps its id. `rows`: the alias of the rows.
-#}
{% macro core_semester(rows) -%}
    coalesce(own_semester.semester_id, {{ rows }}.semester_id)
{%- endmacro %}

{#- The weekday (1 is Monday) of a day of v1, whose day 1 may be another weekday. 0, which is no day, stays 0. -#}
{% macro weekday_of(day) -%}
    case
        when {{ day }} between 1 and 7 then ({{ day }} + coalesce(own_semester.day_1_is, 1) - 2) % 7 + 1
        else {{ day }}
    end
{%- endmacro %}

{% macro join_core_semester(rows) -%}
    left join {{ ref('stg_semester_calendars') }} as own_semester
        on own_semester.school_id = {{ rows }}._school_id
        and own_semester.v1_semester_id = {{ rows }}.semester_id
{%- endmacro %}

{#- The columns of `dim_semester` that a mart shows beside the ids of school and semester. -#}
{% macro semester_names(semesters='semesters') -%}
    {{ semesters }}.school_name,
    {{ semesters }}.semester_name,
    coalesce({{ semesters }}.is_current, false) as is_current
{%- endmacro %}
