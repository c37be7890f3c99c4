-- Grain: school, score. Live rows only. score: null: not scored, unless score_text has a word instead (raw's _extra);
--   0: zero points.
with {{ one_row_a_key(source('raw', 'scores'), ['id'], alive_only=true) }}

select
    _school_id as school_id,
    id as score_id,
    assessment_id,
    item_id as assessment_item_id,
    type as score_type,
    owner_id as student_id,
    evaluator_id,
    -- Only an explicit false takes a score out of statistics.
    coalesce(valid, true) as is_valid,
    invalid_type_id,
    invalid_reason,
    {{ measure('score') }} as score,
    {{ word('score') }} as score_text,
    {{ measure('gained_score') }} as gained_score,
    tag,
    review,
    self_review,
    rank,
    rank_base,
    status,
    published_at,
    created_at,
    updated_at
from one_row_a_key
