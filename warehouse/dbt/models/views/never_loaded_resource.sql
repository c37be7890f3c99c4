-- Grain: school, resource that was never loaded for a semester that is shown, or, at a school without such a semester, for
--   any semester.
with shown as (
    select * from {{ ref('shown_semester') }}
)

select distinct
    school_id,
    resource
from {{ ref('never_loaded') }}
left join shown using (school_id, semester_id)
where shown.semester_id is not null or school_id not in (select shown.school_id from shown)
