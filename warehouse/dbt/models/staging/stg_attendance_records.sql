-- Grain: school, attendance record. Live rows only. An empty label is none. A record that does not say whose
--   it is, or of which session, is no attendance; a check of raw.attendance_records shows such rows.
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
