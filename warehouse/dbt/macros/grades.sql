{#- Somebody of bridge_class_student is a member on a day; null: now. -#}
{% macro is_member(members, day) -%}
    ({{ members }}.joined_on is null or {{ day }} is null or {{ members }}.joined_on <= {{ day }})
        and ({{ members }}.left_on is null or {{ members }}.left_on > {{ day }})
{%- endmacro %}

{#-
    The CTEs that grades of course classes are grouped from, in statistics only: `grades`, with what each kind
    of group is told by. An unknown course, subject or cohort is a group too, so that parts make up the whole.
-#}
{% macro grades_with_groups() -%}
    class_grades as (
        select *
        from {{ ref('fct_grade') }}
        where
            source = 'class'
            and semester_id is not null
            and counts_in_statistics
    ),

    classes as (
        select * from {{ ref('dim_course_class') }}
    ),

    students as (
        select * from {{ ref('dim_student') }}
    ),

    grades as (
        select
            class_grades.*,
            nullif(coalesce(classes.course_name, class_grades.course_name), '') as course,
            classes.class_name,
            classes.subject_id,
            classes.subject_name,
            students.cohort_id,
            students.cohort_name
        from class_grades
        left join classes
            on classes.school_id = class_grades.school_id
            and classes.course_class_id = class_grades.course_class_id
        left join students
            on students.school_id = class_grades.school_id
            and students.student_id = class_grades.student_id
    )
{%- endmacro %}

{#- The kinds of groups of grades and the column that tells one group of a kind from another. -#}
{% macro grade_groups() -%}
    {{ return({
        'course_class': 'course_class_id', 'course': 'course', 'subject': 'subject_id', 'cohort': 'cohort_id'
    }) }}
{%- endmacro %}

{#- Which kind of group a row of grouping sets is. -#}
{% macro group_type(groups) -%}
    case
        {%- for type, column in groups.items() %}
        when grouping({{ column }}) = 0 then '{{ type }}'
        {%- endfor %}
        else 'school'
    end
{%- endmacro %}

{#- The key of a row of grouping sets within its kind, as text; '' is the unknown group, and the school. -#}
{% macro group_key(groups) -%}
    case
        {%- for column in groups.values() %}
        when grouping({{ column }}) = 0 then coalesce(cast({{ column }} as varchar), '')
        {%- endfor %}
        else ''
    end
{%- endmacro %}

{#- One grouping set a kind of group, and one for the school. -#}
{% macro group_sets(groups, also=[]) -%}
    {%- set always = ['school_id', 'semester_id'] + also -%}
    grouping sets (
        {%- for column in groups.values() %}
        ({{ (always + [column]) | join(', ') }}),
        {%- endfor %}
        ({{ always | join(', ') }})
    )
{%- endmacro %}

{#- Credits gained of a transcript's courses; null where there are published ones and none of them says what was gained. -#}
{% macro gained_credits() -%}
    if(count(gained_credit) > 0 or count(*) filter (where is_published) = 0, coalesce(sum(gained_credit), 0), null)
{%- endmacro %}
