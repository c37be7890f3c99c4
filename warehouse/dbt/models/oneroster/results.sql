-- Grain: school, line item, student of the class with a published mark.
-- Rules: each result has its enrollment, without which receivers refuse it: the results of a student who leaves a class
--   are left out with the enrollment. A mark that is not published, or that the platform does not have, is left out. An
--   invalid mark is exempt, without its points. Comments are free text about a person, and stay in staging.
--   scoreDate: the last mark of the item; the publication of the grade.
-- Source: core.fct_item_score, core.fct_grade, core.dim_assessment_item.
with items as (
    {{ items_of_year() }}
),

grades as (
    {{ grades_of_year() }}
),

class_students as (
    {{ students_of_classes() }}
),

results as (
    select
        scores.school_id,
        {{ sourced_id('result-item', ['assessment_item_id', 'student_id'], 'scores') }} as sourced_id,
        {{ sourced_id('lineitem-item', ['assessment_item_id'], 'scores') }} as line_item_id,
        scores.student_id,
        scores.is_valid as counts,
        scores.score,
        scores.score_text,
        coalesce(scores.last_scored_at, scores.published_at) as scored_at,
        items.course_class_id
    from {{ ref('fct_item_score') }} as scores
    inner join items
        on items.school_id = scores.school_id
        and items.assessment_item_id = scores.assessment_item_id
    semi join class_students
        on class_students.school_id = scores.school_id
        and class_students.course_class_id = items.course_class_id
        and class_students.student_id = scores.student_id
    where
        scores.published_at is not null
        and (scores.score is not null or scores.score_text is not null or not scores.is_valid)

    union all

    select
        school_id,
        {{ sourced_id('result-grade', ['grade_id']) }},
        {{ sourced_id('lineitem-grade', ['assessment_id']) }},
        student_id,
        true,
        real_score,
        score_text,
        published_at,
        course_class_id
    from grades
)

select
    school_id,
    sourced_id as "sourcedId",
    {{ bulk_columns() }},
    line_item_id as "lineItemSourcedId",
    {{ sourced_id('student', ['student_id']) }} as "studentSourcedId",
    case when counts then 'fully graded' else 'exempt' end as "scoreStatus",
    case when counts then cast(score as double) end as "score",
    cast(scored_at as date) as "scoreDate",
    cast(null as varchar) as "comment",
    case when counts then score_text end as "textScore",
    {{ sourced_id('class', ['course_class_id']) }} as "classSourcedId",
    {{ blank(['inProgress', 'incomplete', 'late', 'missing']) }}
from results
