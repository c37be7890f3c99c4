-- Grain: school.
-- Rules: as in every dimension, a row that the platform no longer has stays, with is_deleted, so that history
--   keeps its names.
-- Source: raw.schools.
select
    school_id,
    school_name,
    url,
    district,
    is_deleted,
    deleted_at
from {{ ref('stg_schools') }}
