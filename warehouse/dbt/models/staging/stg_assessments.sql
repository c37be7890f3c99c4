-- Grain: school, assessment. Tombstones kept (is_deleted).
with {{ one_row_a_key(source('raw', 'assessments'), ['id']) }}

select
    _school_id as school_id,
    id as assessment_id,
    -- The class of the request; scope_id has the same class.
    class_id as course_class_id,
    nullif(semester_id, 0) as semester_id,
    type as assessment_type,
    name as assessment_name,
    scope_type,
    scope_id,
    status,
    {{ measure('full_score') }} as full_score,
    item_num as item_count,
    published_at,
    updated_at,
    _deleted_at is not null as is_deleted,
    _deleted_at as deleted_at,
    _synced_at as synced_at
from one_row_a_key
