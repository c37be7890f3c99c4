-- Grain: school. Tombstones kept (is_deleted).
select
    id as school_id,
    name as school_name,
    url,
    district,
    _deleted_at is not null as is_deleted,
    _deleted_at as deleted_at
from {{ source('raw', 'schools') }}
