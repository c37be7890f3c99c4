-- Grain: school, semester, teaching day of the week (1 is Monday). Live rows only.
select
    _school_id as school_id,
    {{ core_semester('rows') }} as semester_id,
    cast({{ weekday_of('day') }} as integer) as weekday,
    nullif(label, '') as weekday_name
from {{ source('raw', 'timetable_days') }} as rows
{{ join_core_semester('rows') }}
where _deleted_at is null
