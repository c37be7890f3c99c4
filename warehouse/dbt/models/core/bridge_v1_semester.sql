-- Grain: school, semester of the v1 interface.
-- Rules: the two interfaces may know a semester by different ids. matched_by tells what told that they are one:
--   campus.yaml (setting), the same outer_id, the same first and last day (dates), more than half of the days in
--   common (overlap), the name, or the id where the days do not speak against it. One that v3 does not have has
--   no matched_by; its semester_id is its v1 id, with a minus where that is another semester of v3's.
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
