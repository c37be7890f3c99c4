-- Grain: school, grade name. The names in force: a school's own row of the seed, else the default.
with schools as (
    select * from {{ ref('stg_schools') }}
)

{{ in_force(ref('grade_names'), key='grade_name') }}
