{#- The numbers that marts.early_warning_score is made of, in the order of warehouse/publish/models/score_fit.py. -#}
{% macro score_inputs() -%}
    {{ return([
        'attendance_rate', 'lateness_rate', 'missing_rate', 'score_rate', 'failed_last_semester', 'earlier_z_score'
    ]) }}
{%- endmacro %}

{#- The weeks from one fit to the next. Fits of all weeks would hold a file's whole past in memory. -#}
{% macro score_weeks() -%}
    4
{%- endmacro %}

{#- The CTE `cases`: a row a student and week with a fit, of closed semesters, with what a function of Python takes. -#}
{% macro score_cases() -%}
    cases as (
        select
            weeks.school_id,
            weeks.semester_id,
            -- The order of semesters. dim_semester changes each night, and nothing is to be fitted anew for that.
            min(weeks.ends_on) over (partition by weeks.school_id, weeks.semester_id) as first_day,
            weeks.week,
            weeks.student_id,
            {%- for number in score_inputs() + ['attendance_drop', 'score_drop'] %}
            cast({{ 'students' if number == 'earlier_z_score' else 'weeks' }}.{{ number }} as double) as {{ number }},
            {%- endfor %}
            cast(weeks.failed_courses as double) as failed_so_far,
            outcomes.failed_courses,
            outcomes.chronic_absence
        from {{ ref('early_warning_week') }} as weeks
        inner join {{ ref('early_warning_outcome') }} as outcomes
            on outcomes.school_id = weeks.school_id
            and outcomes.semester_id = weeks.semester_id
            and outcomes.week = weeks.week
            and outcomes.student_id = weeks.student_id
        left join {{ ref('early_warning_student') }} as students
            on students.school_id = weeks.school_id
            and students.semester_id = weeks.semester_id
            and students.student_id = weeks.student_id
        where weeks.week % {{ score_weeks() }} = 0
    )
{%- endmacro %}

{#- The CTE `returned`: the rows that a function of Python (warehouse/publish/models/sql_functions.py) returns for those
    of a CTE, in the column `fields`. -#}
{% macro returned(function, rows, columns) -%}
    returned as (
        select
            unnest({{ function }}(list({
                {%- for column in columns %}
                '{{ column }}': {{ column }}{{ ',' if not loop.last }}
                {%- endfor %}
            }))) as fields
        from {{ rows }}
    )
{%- endmacro %}

{% macro score_case_columns() -%}
    {{ return(
        ['school_id', 'semester_id', 'first_day', 'week', 'student_id'] + score_inputs()
        + ['attendance_drop', 'score_drop', 'failed_so_far', 'failed_courses', 'chronic_absence']
    ) }}
{%- endmacro %}
