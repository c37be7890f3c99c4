-- Grain: school, profile of chronic absence. The profiles in force: a school's own row of the seed, else the default
--   row.
with schools as (
    select * from {{ ref('stg_schools') }}
)

{{ in_force(ref('attendance_profiles'), key='profile') }}
