-- Grain: school, assessment item that is meant to have scores (core.fct_assessment_item).
-- Rules: expected = scored + invalid + missing. Members of the class when the item was published or last scored are
--     expected, except members who have left since without a score.
--   state: no_students (nobody is expected), not_started (no score was given), partial or complete. Null if scores or
--     memberships were never loaded.
--   completeness_rate = 100 * (expected - missing) / expected. For several items, use the sums. Leave out items that are
--     not started: nothing is missing there yet.
-- Source: core.fct_assessment_item and dimensions.
with items as (
    select
        *,
        case
            when is_begun is null or expected is null then null
            when expected = 0 then 'no_students'
            when not is_begun then 'not_started'
            when missing > 0 then 'partial'
            else 'complete'
        end as state
    from {{ ref('fct_assessment_item') }}
)

select
    items.school_id,
    items.semester_id,
    {{ semester_names() }},
    items.course_class_id,
    classes.course_name,
    classes.class_name,
    classes.teacher_names,
    items.assessment_id,
    items.assessment_item_id,
    items.item_name,
    items.evaluator_id,
    evaluators.teacher_name as evaluator_name,
    items.score_source,
    items.score_rule,
    items.rule_shown_by,
    items.state,
    'members' as population,
    items.expected,
    items.scored,
    items.zeros,
    items.invalid,
    items.missing,
    items.others_scored,
    {{ rate('(items.expected - items.missing)', 'items.expected') }} as completeness_rate,
    items.first_scored_at,
    items.last_scored_at,
    items.published_at
from items
left join {{ ref('dim_semester') }} as semesters
    on semesters.school_id = items.school_id
    and semesters.semester_id = items.semester_id
left join {{ ref('dim_course_class') }} as classes
    on classes.school_id = items.school_id
    and classes.course_class_id = items.course_class_id
left join {{ ref('dim_teacher') }} as evaluators
    on evaluators.school_id = items.school_id
    and evaluators.teacher_id = items.evaluator_id
