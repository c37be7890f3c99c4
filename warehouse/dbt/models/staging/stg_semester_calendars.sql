-- Grain: school, semester. The same semester in v1, the day on which week 1 begins, and the weekday (1 is Monday) that
--   the platform calls day 1. The loads use the same calendar.
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
