-- Grain: school, score of one student for one item (score_type raw: from one evaluator; item_score: the item's own).
-- Rules: live rows only.
--   score: null: not scored; 0: zero points. score_text: a word instead of a number. A word is a score too, in no sum.
--   Statistics use rows with is_valid and is_item_score. is_item_score: the row has the type item_score; of several rows
--     of a student for an item, it is the row changed last.
--   Written comments stay in staging.stg_scores.
-- Source: raw.scores; class and semester by the assessment.
with scores as (
    select * from {{ ref('stg_scores') }}
),

assessments as (
    select * from {{ ref('dim_assessment') }}
),

-- Only repeated keys are sorted.
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
