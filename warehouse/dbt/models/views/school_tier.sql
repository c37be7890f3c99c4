-- Grain: school, tier of attendance with enough students to identify none; the lowest tier first.
-- Rules: of the students of views.attendance_tier in the semesters that are shown.
select
    school_id,
    tier,
    tier_order,
    cast(sum(tier_students) as bigint) as students
from {{ ref('attendance_tier') }}
where is_school and is_shown
group by all
having sum(tier_students) > 0 and not {{ is_few(['sum(tier_students)'], 5) }}
