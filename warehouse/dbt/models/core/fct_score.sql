-- Grain: school, score: what one student got for one item (score_type raw: from one evaluator; item_score:
--   the item's own).
-- Rules: live rows only. score null is not scored, 0 is zero points; score_text is a word in the place of a number,
--   which is a score, too, and in no sum. Statistics take is_valid rows with
--   is_item_score: of type item_score, and of several of a student for an item the one changed last. Written
--   comments stay in staging.stg_scores.
-- Source: raw.scores; class and semester by the assessment.
with scores as (
    select * from {{ ref('stg_scores') }}
),

assessments as (
    select * from {{ ref('dim_assessment') }}
),

-- Only what occurs twice is sorted.
repeated as (
    select school_id, assessment_item_id, student_id
    from scores
    where score_type = 'item_score'
    group by school_id, assessment_item_id, student_id
    having count(*) > 1
),

superseded as (
    select school_id, score_id
    from scores
    semi join repeated using (school_id, assessment_item_id, student_id)
    where score_type = 'item_score'
    qualify row_number() over (
        partition by school_id, assessment_item_id, student_id order by updated_at desc nulls last, score_id desc
    ) > 1
)

select
    scores.school_id,
    scores.score_id,
    scores.assessment_id,
    scores.assessment_item_id,
    assessments.course_class_id,
    assessments.semester_id,
    scores.student_id,
    scores.evaluator_id,
    scores.score_type,
    coalesce(scores.score_type = 'item_score', false) and superseded.score_id is null as is_item_score,
    scores.score,
    scores.score_text,
    scores.gained_score,
    scores.is_valid,
    scores.invalid_type_id,
    scores.invalid_reason,
    scores.tag,
    scores.rank,
    scores.rank_base,
    scores.status,
    scores.published_at,
    scores.created_at,
    scores.updated_at
from scores
left join assessments
    on assessments.school_id = scores.school_id
    and assessments.assessment_id = scores.assessment_id
left join superseded
    on superseded.school_id = scores.school_id
    and superseded.score_id = scores.score_id
