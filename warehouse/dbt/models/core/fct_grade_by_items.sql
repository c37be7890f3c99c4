-- Grain: school, grade of a course class.
-- Rules: the platform computes suggest_score "from all scored items" and does not say how. Its own suggested scores show
--     the rule.
--   rule: reproduces, as platforms round, at least score_rule_percent (seeds.grade_thresholds) of the assessment's
--     suggested scores, else of the school's. Null: no rule does, and no score is made.
--       share_of_leaves, share_of_tops  points as a share of the full scores of the scored items, times the grade's full
--                                       score; of the lowest or of the topmost items
--       sum_of_leaves, sum_of_tops      sum of the points
--       mean_of_tops                    mean of the points
--       weighted_mean_of_tops           mean by the items' weights
--   shown_by: assessment or school. Only valid scores of live items count (core.fct_item_score).
--   is_as_suggested: the rule reproduces the platform's suggested score. Null: no rule, or no suggested score.
--   is_whole: false if an item of additions with an initial score has no row of the student. Nobody knows whether the
--     student has the initial score or none, so score_by_items is a guess.
--   was_changing: the grade was updated after its load began. The scores may have been read before the update.
-- Source: core.fct_grade, core.fct_item_score, core.dim_assessment_item.
with thresholds as (
    select school_id, value as least_percent
    from {{ ref('stg_grade_thresholds') }}
    where threshold = 'score_rule_percent'
),

items as (
    select
        *,
        coalesce(is_leaf and scoring_type = 'addition' and initial_score is not null, false) as begins_with_points
    from {{ ref('dim_assessment_item') }}
    where not is_deleted
),

assessments as (
    select school_id, assessment_id, count(*) filter (where begins_with_points) as items_with_points
    from items
    group by school_id, assessment_id
),

summed as (
    select
        scores.school_id,
        scores.assessment_id,
        scores.student_id,
        {{ sums_of_items('leaf', 'items.is_leaf and scores.is_valid and scores.score is not null') }},
        {{ sums_of_items('top', 'items.depth = 1 and scores.is_valid and scores.score is not null') }},
        count(*) filter (where items.begins_with_points) as begun_items
    from {{ ref('fct_item_score') }} as scores
    inner join items
        on items.school_id = scores.school_id
        and items.assessment_item_id = scores.assessment_item_id
    group by scores.school_id, scores.assessment_id, scores.student_id
),

grades as (
    select
        grades.school_id,
        grades.grade_id,
        grades.semester_id,
        grades.assessment_id,
        grades.student_id,
        grades.full_score,
        grades.suggest_score,
        coalesce(held.updated_at > held.synced_at, false) as was_changing,
        coalesce(assessments.items_with_points, 0) <= coalesce(summed.begun_items, 0) as is_whole,
        summed.* exclude (school_id, assessment_id, student_id, begun_items)
    from {{ ref('fct_grade') }} as grades
    inner join {{ ref('stg_grades') }} as held
        on held.school_id = grades.school_id
        and held.grade_id = grades.grade_id
    left join assessments
        on assessments.school_id = grades.school_id
        and assessments.assessment_id = grades.assessment_id
    left join summed
        on summed.school_id = grades.school_id
        and summed.assessment_id = grades.assessment_id
        and summed.student_id = grades.student_id
    where
        grades.source = 'class'
        and grades.assessment_id is not null
),

candidates as (
    select
        school_id,
        assessment_id,
        suggest_score,
        {{ each_rule(suggestion_rules()) }}
    from grades
    where
        suggest_score is not null
        and leaf_total is not null
),

-- Counts for each assessment, and for the school.
counted as (
    select
        school_id,
        assessment_id,
        rule,
        any_value(place) as place,
        grouping(assessment_id) as breadth,
        count(*) as compared,
        count(*) filter (where {{ is_told('value', 'suggest_score') }}) as agreed,
        count(*) filter (where suggest_score = value) as agreed_exactly
    from candidates
    group by grouping sets ((school_id, assessment_id, rule), (school_id, rule))
),

shown as (
    select counted.*
    from counted
    inner join thresholds
        on thresholds.school_id = counted.school_id
    where 100 * counted.agreed >= thresholds.least_percent * counted.compared
    qualify row_number() over (
        partition by counted.school_id, counted.breadth, counted.assessment_id
        order by counted.agreed desc, counted.agreed_exactly desc, counted.place
    ) = 1
),

ruled as (
    select
        grades.*,
        coalesce(of_assessment.rule, of_school.rule) as rule,
        case
            when of_assessment.rule is not null then 'assessment'
            when of_school.rule is not null then 'school'
        end as shown_by
    from grades
    left join shown as of_assessment
        on of_assessment.breadth = 0
        and of_assessment.school_id = grades.school_id
        and of_assessment.assessment_id = grades.assessment_id
    left join shown as of_school
        on of_school.breadth = 1
        and of_school.school_id = grades.school_id
),

made as (
    select
        *,
        cast({{ by_rule('rule', suggestion_rules()) }} as decimal(18, 6)) as score_by_items
    from ruled
)

select
    school_id,
    grade_id,
    semester_id,
    assessment_id,
    student_id,
    suggest_score,
    coalesce(leaf_items, 0) as scored_items,
    rule,
    shown_by,
    score_by_items,
    case
        when rule is null or suggest_score is null then null
        when score_by_items is null then false
        else {{ is_told('score_by_items', 'suggest_score') }}
    end as is_as_suggested,
    is_whole,
    was_changing
from made
