-- Grain: school, teaching class of the v1 interface, student who is in the class now. stg_class_members (v3) has the
--   students who have left, with dates.
with {{ one_row_a_key(source('raw', 'v1_class_students'), ['class_id', 'student_id'], alive_only=true) }}

select
    _school_id as school_id,
    class_id as v1_class_id,
    student_id as v1_student_id,
    nullif(usin, '') as student_number,
    name as student_name,
    _synced_at as synced_at
from one_row_a_key
