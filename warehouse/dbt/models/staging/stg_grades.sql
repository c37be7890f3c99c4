-- Grain: school, grade. Live rows only. A null score was not given, unless score_text has a word instead. An empty text
--   is null too; raw's _extra has the original. gained_score_rate is a share of the full score. Some platforms send
--   it in percent: a value above 1 that is nearer to gained_score in percent is divided by 100.
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
    {{ word('score') }} as score_text,
    {{ measure('real_score') }} as platform_real_score,
    {{ measure('suggest_score') }} as suggest_score,
    {{ measure('gained_score') }} as gained_score,
    cast(
        case
            when
                gained_score_rate > 1
                and abs({{ measure('gained_score_rate') }} * {{ measure('full_score') }} - 100 * {{ measure('gained_score') }})
                < abs({{ measure('gained_score_rate') }} * {{ measure('full_score') }} - {{ measure('gained_score') }})
                then {{ measure('gained_score_rate') }} * 0.01
            else {{ measure('gained_score_rate') }}
        end as decimal(18, 6)
    ) as gained_score_rate,
    level,
    {{ measure('credit') }} as credit,
    {{ measure('gpa') }} as platform_grade_points,
    rank,
    rank_base,
    status,
    pass_status,
    published_at,
    review,
    updated_at,
    _synced_at as synced_at
from one_row_a_key
