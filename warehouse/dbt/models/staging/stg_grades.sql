-- Grain: school, grade. Live rows only. Null: not given ("" is null too, with the original in raw's _extra).
with {{ one_row_a_key(source('raw', 'grades'), ['id'], alive_only=true) }}

select
    _school_id as school_id,
    id as grade_id,
    semester_id,
    source,
    source_id,
    stage_id,
    owner_id as student_id,
    name as course_name,
    csin as class_code,
    {{ measure('full_score') }} as full_score,
    {{ measure('score') }} as score,
    {{ measure('real_score') }} as platform_real_score,
    {{ measure('suggest_score') }} as suggest_score,
    {{ measure('gained_score') }} as gained_score,
    {{ measure('gained_score_rate') }} as gained_score_rate,
    level,
    {{ measure('credit') }} as credit,
    {{ measure('gpa') }} as platform_grade_points,
    rank,
    rank_base,
    status,
    pass_status,
    published_at,
    review,
    updated_at
from one_row_a_key
