-- Grain: school, measure. How figures are compared, by the rules in force: a school's own row of the seed, else
--   the default.
with schools as (
    select * from {{ ref('stg_schools') }}
)

{{ in_force(ref('reconciliation_rules'), key='measure') }}
