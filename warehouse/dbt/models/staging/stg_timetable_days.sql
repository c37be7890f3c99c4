-- Grain: school, semester, teaching day of the week (1 is Monday). Live rows only.
select
    _school_id as school_id,
    semester_id,
    cast(day as integer) as weekday,
    nullif(label, '') as weekday_name
from {{ source('raw', 'timetable_days') }}
where _deleted_at is null
