-- Grain: school, semester of the v1 interface. Tombstones kept (is_deleted).
select
    _school_id as school_id,
    id as v1_semester_id,
    name as semester_name,
    cast(start_at as date) as first_day,
    cast(end_in as date) as last_day,
    lesson_schedules,
    lesson_names,
    -- Empty says nothing, as does null.
    case when len(lesson_days) > 0 then lesson_days end as teaching_weekdays,
    _deleted_at is not null as is_deleted,
    _deleted_at as deleted_at
from {{ source('raw', 'v1_semesters') }}
