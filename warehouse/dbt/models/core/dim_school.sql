-- Grain: school.
-- Rules: a school that the platform no longer has stays (is_deleted), as in every dimension, so that history keeps its
--   names.
-- Source: raw.schools.
select
    school_id,
    school_name,
    url,
    district,
    is_deleted,
    deleted_at
from {{ ref('stg_schools') }}
