-- Grain: school, student. Tombstones kept (is_deleted): scores and grades outlive a student's stay.
select
    _school_id as school_id,
    id as student_id,
    name as student_name,
    role,
    usin as student_number,
    structure_ids,
    pupil_id,
    graduates_in_id,
    outer_id,
    status,
    coalesce(deleted_at, _deleted_at) is not null as is_deleted,
    coalesce(deleted_at, _deleted_at) as deleted_at
from {{ source('raw', 'students') }}
