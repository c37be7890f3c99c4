-- Grain: school, assessment item. Tombstones kept (is_deleted).
with {{ one_row_a_key(source('raw', 'assessment_items'), ['id']) }}

select
    _school_id as school_id,
    id as assessment_item_id,
    assessment_id,
    -- 0 is the top of the tree.
    nullif(pid, 0) as parent_item_id,
    type as item_type,
    name as item_name,
    description,
    sort,
    {{ measure('full_score') }} as full_score,
    {{ measure('initial_score') }} as initial_score,
    weight,
    stage_id,
    scoring_type,
    -- The specification names the values (sum, avg, weighted_avg), but no field.
    lower(json_extract_string(_extra, '$.compute_type')) as compute_type,
    display_type,
    list_transform(tags, lambda tag: tag.name) as tags,
    published_at,
    _deleted_at is not null as is_deleted,
    _deleted_at as deleted_at,
    _synced_at as synced_at
from one_row_a_key
