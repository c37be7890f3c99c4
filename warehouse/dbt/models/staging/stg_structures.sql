-- Grain: school, structure. Tombstones kept (is_deleted).
select
    _school_id as school_id,
    id as structure_id,
    -- Sent by some platforms only; 0 is the top.
    nullif(parent_id, 0) as parent_structure_id,
    type as structure_type,
    name as structure_name,
    path,
    depth,
    seq,
    weight,
    graduates_in_id,
    outer_id,
    status,
    created_at,
    updated_at,
    _deleted_at is not null as is_deleted,
    _deleted_at as deleted_at
from {{ source('raw', 'structures') }}
