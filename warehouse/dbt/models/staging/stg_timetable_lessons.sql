-- Grain: school, semester, lesson of the day. Live rows only.
select
    _school_id as school_id,
    {{ core_semester('rows') }} as semester_id,
    cast(lesson as integer) as lesson,
    nullif(label, '') as lesson_name,
    -- Some platforms send the span alone, such as 08:30-09:15.
    coalesce(nullif(start_time, ''), split_part(time, '-', 1)) as start_time,
    coalesce(nullif(end_time, ''), split_part(time, '-', 2)) as end_time
from {{ source('raw', 'timetable_lessons') }} as rows
{{ join_core_semester('rows') }}
where _deleted_at is null
