-- Grain: school, teaching class of the v1 interface, date, lesson. Live rows only. The platform's statistics are null
--   if they were not requested.
select
    _school_id as school_id,
    class_id as v1_class_id,
    {{ core_semester('rows') }} as semester_id,
    date,
    cast(lesson as integer) as lesson,
    scheduled as is_scheduled,
    {{ measure('attendance_rate') }} as attendance_rate,
    normal as normal_count,
    late as late_count,
    absent as absent_count,
    _synced_at as synced_at
from {{ source('raw', 'attendance_sessions') }} as rows
{{ join_core_semester('rows') }}
where _deleted_at is null
