-- Grain: school, part of a name. What examinations are known by: a school's own as a whole, else the default ones.
with schools as (
    select * from {{ ref('stg_schools') }}
)

{{ in_force(ref('examination_names')) }}
