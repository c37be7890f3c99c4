-- Grain: school, tier. The tiers in force: a school's own as a whole, else the default ones.
-- Each tier reaches down to the next one, (lower_percent, upper_percent]; the lowest has 0 as well.
with schools as (
    select * from {{ ref('stg_schools') }}
),

tiers as (
    {{ in_force(ref('attendance_tiers')) }}
)

select
    school_id,
    tier,
    lag(upper_percent) over (partition by school_id order by upper_percent) as lower_percent,
    upper_percent
from tiers
