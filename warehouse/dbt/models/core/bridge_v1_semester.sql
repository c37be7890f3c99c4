-- Grain: school, semester of the v1 interface.
-- Rules: the two interfaces may have different ids for a semester. matched_by says how both were matched:
--     setting    campus.yaml names the pair
--     outer_id   both have the same outer_id
--     dates      both have the same first and last day
--     overlap    more than half of their days are common
--     name       both have the same name
--     id         both have the same id, and the days do not contradict it
--   A semester that v3 lacks has no matched_by and keeps its v1 id, negative if v3 uses that id for another semester.
-- Source: raw.v1_semesters, raw.semesters, quality.semester_calendars.
select
    school_id,
    v1_semester_id,
    semester_id,
    matched_by,
    semester_name,
    first_day,
    last_day,
    is_deleted
from {{ ref('stg_v1_semesters') }}
