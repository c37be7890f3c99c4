{#-
    True if a status means that an administrative class is archived or disabled. The interface does not list the
    values. These are the words that structures use, and the numbers that users use.
-#}
{% macro is_archived(status) -%}
    coalesce(lower({{ status }}) in ('archived', 'disabled', '2', '4'), false)
{%- endmacro %}

{#-
    True if a list of students counts; `students`: its length. Platforms send an empty list for "unknown" too. So an
    empty list counts only if the platform counts no students, and another class of the school has a list with students.
-#}
{% macro is_list(students) -%}
    {{ students }} > 0
    or (
        {{ students }} = 0
        and coalesce(admin_classes.student_count, 0) = 0
        and max({{ students }}) over (partition by admin_classes.school_id) > 0
    )
{%- endmacro %}

{#- The CTE `v1_listed`: the students on v1's lists of classes that are not deleted. -#}
{% macro v1_listed() -%}
    v1_listed as (
        select
            lists.school_id,
            lists.admin_class_id,
            people.person_id as student_id
        from (
            select
                school_id,
                v1_admin_class_id as admin_class_id,
                unnest(v1_student_ids) as v1_person_id
            from {{ ref('stg_v1_admin_classes') }}
            where not is_deleted
        ) as lists
        inner join {{ ref('bridge_v1_person') }} as people
            on people.school_id = lists.school_id
            and people.v1_person_id = lists.v1_person_id
    )
{%- endmacro %}
