-- Grain: school, student, item of an assessment with a valid score, of the semesters that are shown.
-- Rules: class_mean is the mean of the scores of the item, and empty where these are few.
with scores as (
    select
        scores.*,
        assessments.semester_id,
        assessments.course_class_id,
        assessments.assessment_name
    from {{ ref('fct_item_score') }} as scores
    inner join {{ ref('dim_assessment') }} as assessments using (school_id, assessment_id)
    inner join {{ ref('shown_semester') }} as semesters using (school_id, semester_id)
    where scores.is_valid
),

sums as (
    select
        school_id,
        assessment_item_id,
        sum(score) as score_sum,
        count(score) as scored
    from scores
    group by all
)

select
    scores.school_id,
    scores.semester_id,
    scores.student_id,
    courses.course_name,
    scores.course_class_id,
    scores.assessment_name,
    items.item_name,
    items.sort,
    scores.assessment_item_id,
    scores.score,
    scores.score_text,
    case
        when {{ hides_classmates('sums.scored') }} then {{ ratio('sums.score_sum', 'sums.scored', places=2) }}
    end as class_mean,
    items.full_score,
    {{ percent('scores.score', 'items.full_score', places=2) }} as percent_of_full_score,
    cast(scores.last_scored_at as date) as last_scored_on
from scores
inner join sums using (school_id, assessment_item_id)
left join {{ ref('dim_assessment_item') }} as items using (school_id, assessment_id, assessment_item_id)
left join {{ ref('dim_course_class') }} as courses using (school_id, course_class_id)
