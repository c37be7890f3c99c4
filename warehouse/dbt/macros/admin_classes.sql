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
