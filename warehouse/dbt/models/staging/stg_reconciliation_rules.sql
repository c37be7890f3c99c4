-- Grain: school, measure. The rules in force for comparing figures: a school's own row of the seed, else the default
--   row.
with schools as (
    select * from {{ ref('stg_schools') }}
)

{{ in_force(ref('reconciliation_rules'), key='measure') }}
