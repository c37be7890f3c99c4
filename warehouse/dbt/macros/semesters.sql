{#-
    The semester in core of a row of the v1 interface, whose semesters may have other ids than v3's; and the
    join that it takes. A semester that v1 does not list keeps its id. `rows`: the rows' alias.
-#}
{% macro core_semester(rows) -%}
    coalesce(own_semester.semester_id, {{ rows }}.semester_id)
{%- endmacro %}

{#- The weekday (1 is Monday) of a day of v1, whose day 1 may be another; 0 stays no day. -#}
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

{#- What a mart says of its school and semester beside their ids, of the columns of `dim_semester`. -#}
{% macro semester_names(semesters='semesters') -%}
    {{ semesters }}.school_name,
    {{ semesters }}.semester_name,
    coalesce({{ semesters }}.is_current, false) as is_current
{%- endmacro %}
