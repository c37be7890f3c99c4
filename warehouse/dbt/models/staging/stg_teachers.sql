-- Grain: school, teacher. Tombstones kept. Phone numbers stay in raw: no model needs them.
select
    _school_id as school_id,
    id as teacher_id,
    name as teacher_name,
    role,
    usin as staff_number,
    structure_ids,
    department_names,
    outer_id,
    status,
    coalesce(deleted_at, _deleted_at) is not null as is_deleted,
    coalesce(deleted_at, _deleted_at) as deleted_at
from {{ source('raw', 'teachers') }}
