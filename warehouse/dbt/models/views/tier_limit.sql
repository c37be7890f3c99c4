-- Grain: school, tier of attendance.
select
    school_id,
    tier,
    {{ number_text('lower_percent') }} as lower,
    {{ number_text('upper_percent') }} as upper,
    upper_percent as tier_order
from {{ ref('stg_attendance_tiers') }}
