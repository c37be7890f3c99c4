{#- True if a row of bridge_class_student is a membership on a day; null: now. -#}
{% macro is_member(members, day) -%}
    ({{ members }}.joined_on is null or {{ day }} is null or {{ members }}.joined_on <= {{ day }})
        and ({{ members }}.left_on is null or {{ members }}.left_on > {{ day }})
{%- endmacro %}

{#-
    The CTE `grades`: grades of course classes that count in statistics, with the columns of each kind of group. An
    unknown course, subject or cohort is a group too, so that parts make up the whole.
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

{#- The kinds of groups of grades, each with the column that identifies a group. -#}
{% macro grade_groups() -%}
    {{ return({
        'course_class': 'course_class_id', 'course': 'course', 'subject': 'subject_id', 'cohort': 'cohort_id'
    }) }}
{%- endmacro %}

{#- The kind of group of a row of grouping sets. -#}
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

{#- A grouping set for each kind of group, and one for the school. -#}
{% macro group_sets(groups, also=[]) -%}
    {%- set always = ['school_id', 'semester_id'] + also -%}
    grouping sets (
        {%- for column in groups.values() %}
        ({{ (always + [column]) | join(', ') }}),
        {%- endfor %}
        ({{ always | join(', ') }})
    )
{%- endmacro %}

{#- Credits gained in courses of a transcript. Null if courses are published and no course has gained credits. -#}
{% macro gained_credits() -%}
    if(count(gained_credit) > 0 or count(*) filter (where is_published) = 0, coalesce(sum(gained_credit), 0), null)
{%- endmacro %}

{#- True if a grade is passed: by the platform's verdict, else by the percentage against the limit. -#}
{% macro is_passed(pass_status, score_percent, pass_percent) -%}
    case
        when {{ pass_status }} = 'passed' then true
        when {{ pass_status }} = 'failed' then false
        else {{ score_percent }} >= {{ pass_percent }}
    end
{%- endmacro %}

{#- Counts and sums of a group of a student's course grades, joined to the CTE `points` (points of their items). -#}
{% macro course_sums() -%}
    count(*) filter (where counts_in_statistics) as counted_courses,
        count(score_percent) filter (where counts_in_statistics) as scored_courses,
        count(*) filter (where status = 'pending') as pending_courses,
        count(*) filter (where counts_in_statistics and not is_passed) as failed_courses,
        count(*) filter (where counts_in_statistics and not is_passed and status = 'pending') as pending_failed_courses,
        sum(points.item_points) filter (where counts_in_statistics) as item_points,
        sum(points.begun_points) filter (where counts_in_statistics) as begun_points,
        sum(real_score) filter (where counts_in_statistics and score_percent is not null) as score_sum,
        sum(full_score) filter (where counts_in_statistics and score_percent is not null) as full_score_sum,
        sum(score_percent * weight) filter (where counts_in_statistics) as weighted_percent_sum,
        sum(weight) filter (where counts_in_statistics and score_percent is not null) as weight_sum
{%- endmacro %}

{#- The student's z score in the last earlier semester that has one, of joined `grades` and `semesters`. -#}
{% macro earlier_z_score() -%}
    lag(grades.z_score_in_cohort ignore nulls) over (
        partition by grades.school_id, grades.student_id
        order by semesters.first_day, grades.semester_id
    )
{%- endmacro %}

{#- The assessments whose grades are sums of scores, so that a missing score counts as zero points. -#}
{% macro summed_assessments() -%}
    select distinct school_id, assessment_id
    from {{ ref('fct_grade_by_items') }}
    where rule in ('sum_of_leaves', 'sum_of_tops')
{%- endmacro %}
