-- Grain: school, semester.
-- Rules: newest_first puts the current semester first, then the latest.
select
    semesters.school_id,
    semesters.semester_id,
    semesters.semester_name,
    semesters.first_day,
    semesters.is_current,
    calendars.v1_semester_id,
    shown.semester_id is not null as is_shown,
    row_number() over (
        partition by semesters.school_id
        order by semesters.is_current desc, semesters.first_day desc nulls last, semesters.semester_id
    ) as newest_first
from {{ ref('dim_semester') }} as semesters
left join {{ ref('stg_semester_calendars') }} as calendars
    on calendars.school_id = semesters.school_id
    and calendars.semester_id = semesters.semester_id
left join {{ ref('shown_semester') }} as shown
    on shown.school_id = semesters.school_id
    and shown.semester_id = semesters.semester_id
