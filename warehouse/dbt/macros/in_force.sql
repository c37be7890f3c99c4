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

{#-
    Steps in force for each school, each up to the next one, [lower, upper); the highest is open, and so is the
    lowest where it is said to be. Null is open.
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
