{#-
    The rows of a seed in force for each school: its own rows, else the default rows (school_id empty). key: a school's
    row replaces the default row with the same value in this column; none: a school's rows replace the default rows as
    a whole. Needs a CTE `schools`.
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

{#-
    The steps in force for each school. A step covers [lower, upper), up to the next step. A null end is open: the highest
    step has no upper end, and with open_below the lowest step has no lower end.
-#}
{% macro steps_in_force(seed, lower, upper, open_below=false) -%}
with schools as (
    select * from {{ ref('stg_schools') }}
),

steps as (
    {{ in_force(seed) }}
)

select
    * {% if open_below %}replace (
        case when lag({{ lower }}) over in_school is not null then {{ lower }} end as {{ lower }}
    ){% endif %},
    lead({{ lower }}) over in_school as {{ upper }}
from steps
window in_school as (partition by school_id order by {{ lower }})
{%- endmacro %}
