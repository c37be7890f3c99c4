-- Grain: school, student, item of an assessment with a valid score, of the semesters that are shown.
-- Rules: class_mean is the mean of the scores of the item, and empty where these are few. item_order puts
--   each item below the item that it is part of, and indented_name has an em space for each level above the item.
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
),

places as (
    select
        school_id,
        assessment_item_id,
        lpad(cast(coalesce(sort, 999999) as varchar), 6, '0')
            || lpad(cast(assessment_item_id as varchar), 20, '0') as place
    from {{ ref('dim_assessment_item') }}
)

select
    scores.school_id,
    scores.semester_id,
    scores.student_id,
    courses.course_name,
    scores.course_class_id,
    scores.assessment_id,
    scores.assessment_name,
    items.item_name,
    repeat(chr(8195), items.depth - 1) || items.item_name as indented_name,
    concat(level_1.place, level_2.place, level_3.place) as item_order,
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
{%- for level in range(1, 4) %}
left join places as level_{{ level }}
    on level_{{ level }}.school_id = items.school_id
    and level_{{ level }}.assessment_item_id = items.level_{{ level }}_id
{%- endfor %}
left join {{ ref('dim_course_class') }} as courses using (school_id, course_class_id)
