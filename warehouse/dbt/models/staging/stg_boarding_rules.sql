-- Grain: school, custom field, value. The rules in force: a school's own as a whole, else the default ones.
with schools as (
    select * from {{ ref('stg_schools') }}
)

{{ in_force(ref('boarding_rules')) }}
