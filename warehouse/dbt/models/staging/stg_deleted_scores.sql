-- Grain: school, score that the platform no longer has, as it last was. A score that moved to another semester is here too,
--   by the assessment that it had before.
select
    _school_id as school_id,
    id as score_id,
    assessment_id,
    item_id as assessment_item_id,
    owner_id as student_id,
    coalesce(valid, true) as is_valid,
    {{ measure('score') }} as score,
    {{ word('score') }} as score_text,
    published_at,
    created_at,
    updated_at
from {{ source('raw', 'scores') }}
where _deleted_at is not null
qualify row_number() over (partition by _school_id, id, assessment_id order by _synced_at desc) = 1
