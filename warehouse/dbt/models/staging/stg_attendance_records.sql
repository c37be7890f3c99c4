-- Grain: school, attendance record. Live rows only. An empty label is none. A record that does not say whose
--   it is, or of which session, is no attendance; a check of raw.attendance_records shows such rows.
select
    _school_id as school_id,
    id as attendance_id,
    class_id as v1_class_id,
    student_id as v1_student_id,
    nullif(usin, '') as student_number,
    checked_at as date,
    cast(lesson as integer) as lesson,
    status,
    nullif(trim(absence_label), '') as absence_label,
    coalesce(created_date + try_cast(created_time as time), created_date) as marked_at,
    _synced_at as synced_at
from {{ source('raw', 'attendance_records') }}
where
    _deleted_at is null
    and class_id is not null
    and student_id is not null
    and checked_at is not null
    and lesson is not null
