-- Grain: school, attendance record. Live rows only. An empty label is null. Records without a student or a session are
--   left out; a check of raw.attendance_records shows them.
select
    _school_id as school_id,
    {{ attendance_record_columns() }},
    _synced_at as synced_at
from {{ source('raw', 'attendance_records') }}
where
    _deleted_at is null
    and class_id is not null
    and student_id is not null
    and checked_at is not null
    and lesson is not null
