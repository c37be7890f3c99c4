-- Grain: school, lowest percentage of a step. The scale in force: a school's own as a whole, else the
--   default.
-- Each step reaches up to the next one, [lower_percent, upper_percent); the highest is open.
with schools as (
    select * from {{ ref('stg_schools') }}
),

scale as (
    {{ in_force(ref('gpa_scale')) }}
)

select
    school_id,
    lower_percent,
    lead(lower_percent) over (partition by school_id order by lower_percent) as upper_percent,
    grade_points
from scale
