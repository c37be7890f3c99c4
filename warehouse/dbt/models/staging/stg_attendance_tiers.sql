-- Grain: school, tier. The tiers in force: a school's own tiers replace the default tiers as a whole.
-- A tier covers (lower_percent, upper_percent]. The lowest tier also covers 0, and the highest ends at 100.
with schools as (
    select * from {{ ref('stg_schools') }}
),

tiers as (
    {{ in_force(ref('attendance_tiers')) }}
)

select
    school_id,
    tier,
    level,
    lag(upper_percent) over in_school as lower_percent,
    case when lead(tier) over in_school is null then 100 else upper_percent end as upper_percent
from tiers
window in_school as (partition by school_id order by upper_percent)
