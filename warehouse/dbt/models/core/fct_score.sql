-- Grain: school, score: what one student got for one item (score_type raw: from one evaluator; item_score:
--   the item's own).
-- Rules: live rows only. score null is not scored, 0 is zero points. Statistics take is_valid rows of one
--   score_type. Written comments stay in staging.stg_scores.
-- Source: raw.scores; class and semester by the assessment.
with scores as (
    select * from {{ ref('stg_scores') }}
),

assessments as (
    select * from {{ ref('dim_assessment') }}
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
    scores.score,
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
