-- Grain: school, indicator. The rules of early warning in force: a school's own row of the seed, else the
--   default.
with schools as (
    select * from {{ ref('stg_schools') }}
)

{{ in_force(ref('early_warning_rules'), key='indicator') }}
