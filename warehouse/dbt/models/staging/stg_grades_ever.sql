-- Grain: school, grade, including grades that the platform no longer has (is_deleted). The change log leads back from
--   these rows.
with {{ one_row_a_key(source('raw', 'grades'), ['id']) }}

select
    _school_id as school_id,
    id as grade_id,
    semester_id,
    source,
    source_id,
    owner_id as student_id,
    {{ measure('score') }} as score,
    {{ word('score') }} as score_text,
    {{ measure('suggest_score') }} as suggest_score,
    level,
    status,
    pass_status,
    published_at,
    _deleted_at is not null as is_deleted
from one_row_a_key
