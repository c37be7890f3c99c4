-- Grain: school, user of any role. Tombstones kept. Phone numbers stay in raw: no model needs them.
select
    _school_id as school_id,
    id as reflection_id,
    name as reflection_name,
    role,
    usin as user_number,
    structure_ids,
    outer_id,
    status,
    coalesce(deleted_at, _deleted_at) is not null as is_deleted,
    coalesce(deleted_at, _deleted_at) as deleted_at
from {{ source('raw', 'reflections') }}
