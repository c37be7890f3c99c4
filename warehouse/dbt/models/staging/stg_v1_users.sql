-- Grain: school, user of the v1 interface (students, teachers, guardians). Tombstones kept (is_deleted).
--   What identifies a person beyond name and number stays in raw: no model needs it.
select
    _school_id as school_id,
    id as v1_person_id,
    name as person_name,
    nullif(usin, '') as user_number,
    role,
    status,
    outer_id,
    _deleted_at is not null as is_deleted,
    _deleted_at as deleted_at
from {{ source('raw', 'v1_users') }}
