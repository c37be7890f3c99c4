{#-
    Whether a status says that an administrative class is archived or disabled. The interface does not list the
    values: these are the words of structures, and the numbers of users.
-#}
{% macro is_archived(status) -%}
    coalesce(lower({{ status }}) in ('archived', 'disabled', '2', '4'), false)
{%- endmacro %}

{#-
    Whether a list of so many students is one. Platforms send an empty list for "not told" as well: so it is
    where the platform counts students, and where no class of the school has a list with anybody in it.
-#}
{% macro is_list(students) -%}
    {{ students }} > 0
    or (
        {{ students }} = 0
        and coalesce(admin_classes.student_count, 0) = 0
        and max({{ students }}) over (partition by admin_classes.school_id) > 0
    )
{%- endmacro %}
