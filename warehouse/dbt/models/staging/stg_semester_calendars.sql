-- Grain: school, semester. Which semester of v1 it is, and where its weeks begin, and which weekday
--   (1 is Monday) the platform calls day 1: as the loads have it.
select
    _school_id as school_id,
    semester_id,
    v1_semester_id,
    matched_by,
    week_1_on,
    weeks_begin,
    weeks_known_by,
    cast(day_1_is as integer) as day_1_is
from {{ source('quality', 'semester_calendars') }}
