-- Grain: school, assessment item that is meant to have scores: a live leaf whose scoring type is in points
--   (seeds.scoring_type_rules). An item whose type has no rule needs a full score.
-- Rules: each student has one score of an item (core.fct_item_score): the platform's own, else made of the evaluators'
--     raw scores by score_rule.
--   is_begun: a score was given to any student, valid or not. An exemption alone begins nothing.
--   expected: members of the course class on known_on, the day of the item's publication, else of its last score, else
--     today. A member who has left the class since then is expected only if a score was given: nobody will give
--     another. An exemption is no such score.
--   Each expected student counts in one of
--     scored   a valid score was given, zeros included
--     invalid  is_valid is false
--     missing  no score, or null
--   others_scored: valid scores of students who left before known_on or came after it.
--   valid_scores, score_sum: valid scores that are numbers, of members and others. A score in words (score_text) is
--     given, and counts in scored.
--   evaluator_id: the teacher who gave the scores, null if several did. The teacher on a score that is not given counts
--     only if no given score names a teacher.
--   last_scored_at: the creation of the last given score, since a publication changes updated_at.
--   published_at: the item's publication, else the first publication of its scores.
--   Counts are null if no scores of the semester were ever loaded. Counts of members are also null if memberships or
--     students were never loaded.
-- Source: core.dim_assessment_item, core.fct_item_score, core.bridge_class_student.
with scores as (
    select * from {{ ref('fct_item_score') }}
),

members as (
    select * from {{ ref('bridge_class_student') }}
),

items as (
    select
        items.school_id,
        items.assessment_item_id,
        items.assessment_id,
        assessments.course_class_id,
        assessments.semester_id,
        items.item_name,
        items.scoring_type,
        items.full_score,
        items.published_at
    from {{ ref('dim_assessment_item') }} as items
    inner join {{ ref('dim_assessment') }} as assessments
        on assessments.school_id = items.school_id
        and assessments.assessment_id = items.assessment_id
    left join {{ ref('scoring_type_rules') }} as rules
        on rules.scoring_type = items.scoring_type
    where
        items.is_leaf
        and not items.is_deleted
        and not assessments.is_deleted
        and coalesce(rules.is_scorable, items.full_score is not null)
),

given as (
    select
        school_id,
        assessment_item_id,
        count(*) filter (where {{ is_given('scores') }}) as given_scores,
        count(*) filter (where {{ is_given('scores') }} and is_valid) as given_valid_scores,
        count(score) filter (where is_valid) as valid_scores,
        sum(score) filter (where is_valid) as score_sum,
        case
            when max(evaluators) filter (where {{ is_given('scores') }}) > 0
                then {{ sole_evaluator('filter (where ' ~ is_given('scores') ~ ')') }}
            else {{ sole_evaluator() }}
        end as evaluator_id,
        case
            when min(score_source) < max(score_source) then min(score_source) || ' and ' || max(score_source)
            else min(score_source)
        end as score_source,
        max(rule) as score_rule,
        max(shown_by) as rule_shown_by,
        max(parts) filter (where rule is not null) as most_parts,
        cast(sum(raw_scores) as bigint) as raw_scores,
        min(first_scored_at) as first_scored_at,
        max(last_scored_at) as last_scored_at,
        min(published_at) as first_published_at,
        max(updated_at) as last_changed_at
    from scores
    group by school_id, assessment_item_id
),

dated as (
    select
        items.* replace (coalesce(items.published_at, given.first_published_at) as published_at),
        given.* exclude (school_id, assessment_item_id, first_published_at),
        cast(coalesce(items.published_at, given.first_published_at, given.last_scored_at) as date) as known_on
    from items
    left join given
        on given.school_id = items.school_id
        and given.assessment_item_id = items.assessment_item_id
),

expected as (
    select
        dated.school_id,
        dated.assessment_item_id,
        count(*) as expected
    from dated
    inner join members
        on members.school_id = dated.school_id
        and members.course_class_id = dated.course_class_id
        and members.left_on is null
        and {{ is_member('members', 'dated.known_on') }}
    group by dated.school_id, dated.assessment_item_id
),

of_members as (
    select
        scores.school_id,
        scores.assessment_item_id,
        count(*) filter (where {{ is_given('scores') }} and scores.is_valid) as scored,
        count(*) filter (where scores.score = 0 and scores.is_valid) as zeros,
        count(*) filter (
            where not scores.is_valid and (members.left_on is null or {{ is_given('scores') }})
        ) as invalid,
        count(*) filter (
            where members.left_on is not null and {{ is_given('scores') }}
        ) as of_those_who_left
    from scores
    inner join dated
        on dated.school_id = scores.school_id
        and dated.assessment_item_id = scores.assessment_item_id
    inner join members
        on members.school_id = scores.school_id
        and members.course_class_id = dated.course_class_id
        and members.student_id = scores.student_id
        and {{ is_member('members', 'dated.known_on') }}
    group by scores.school_id, scores.assessment_item_id
),

counted as (
    select
        dated.*,
        coalesce(expected.expected, 0) + coalesce(of_members.of_those_who_left, 0) as expected,
        coalesce(of_members.scored, 0) as scored,
        coalesce(of_members.zeros, 0) as zeros,
        coalesce(of_members.invalid, 0) as invalid
    from dated
    left join expected
        on expected.school_id = dated.school_id
        and expected.assessment_item_id = dated.assessment_item_id
    left join of_members
        on of_members.school_id = dated.school_id
        and of_members.assessment_item_id = dated.assessment_item_id
)

select
    counted.school_id,
    counted.assessment_item_id,
    counted.assessment_id,
    counted.course_class_id,
    counted.semester_id,
    counted.item_name,
    counted.scoring_type,
    counted.full_score,
    counted.evaluator_id,
    counted.known_on,
    {{ if_loaded(['scores'], 'coalesce(counted.given_scores > 0, false)') }} as is_begun,
    {%- for count in ('expected', 'scored', 'zeros', 'invalid') %}
    {{ if_loaded(['scores', 'class_members', 'students'], 'counted.' ~ count) }} as {{ count }},
    {%- endfor %}
    {{ if_loaded(['scores', 'class_members', 'students'], 'counted.expected - counted.scored - counted.invalid') }} as missing,
    {{ if_loaded(['scores', 'class_members', 'students'], 'coalesce(counted.given_valid_scores, 0) - counted.scored') }} as others_scored,
    {{ if_loaded(['scores'], 'coalesce(counted.valid_scores, 0)') }} as valid_scores,
    {{ if_loaded(['scores'], 'coalesce(counted.raw_scores, 0)') }} as raw_scores,
    counted.score_source,
    counted.score_rule,
    counted.rule_shown_by,
    {{ if_loaded(['scores'], 'coalesce(counted.most_parts, 0)') }} as most_parts,
    counted.score_sum,
    counted.first_scored_at,
    counted.last_scored_at,
    counted.published_at,
    counted.last_changed_at
from counted
left join {{ ref('dim_semester') }} as semesters
    on semesters.school_id = counted.school_id
    and semesters.semester_id = counted.semester_id
