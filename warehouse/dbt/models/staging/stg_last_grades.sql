-- Grain: school. The last grade that a home's files set: the school's own row, else the one for all schools.
with schools as (
    select * from {{ ref('stg_schools') }}
)

{{ in_force(ref('last_grades')) }}
