-- Grain: school, custom field, value. The rules in force: a school's own rules replace the default rules as a whole.
with schools as (
    select * from {{ ref('stg_schools') }}
)

{{ in_force(ref('boarding_rules')) }}
