{#-
    The rows of a seed in force for each school: its own where it has any, else the default ones (school_id
    empty). key: the column whose rows are replaced one by one; none: a school's rows replace the default
    set as a whole. Needs a CTE `schools`.
-#}
{% macro in_force(seed, key=none) -%}
    select
        schools.school_id,
        rules.* exclude (school_id)
    from schools
    inner join {{ seed }} as rules
        on rules.school_id = schools.school_id
        or (
            rules.school_id is null
            and not exists (
                select 1
                from {{ seed }} as own
                where own.school_id = schools.school_id
                {%- if key %} and own.{{ key }} = rules.{{ key }}{% endif %}
            )
        )
{%- endmacro %}
