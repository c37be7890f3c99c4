-- Grain: school, assessment, kind of scores that a score can be made of (made_of), scoring type of the item. made_of raw:
--   the raw scores of an item; items: the scores of its parts, with an empty scoring type.
-- Rules: the platform does not say how it makes one score of several. The scores that it has made show the rule.
--   rule: a rule qualifies if it reproduces, as platforms round, at least score_rule_percent (seeds.grade_thresholds) of
--     the platform's own item scores that tell rules apart. Of these rules, the rule that reproduces most scores
--     exactly is taken.
--       of raw scores  avg, sum, last (by creation), max, min, initial_and_sum (initial score, additions and deductions:
--                      at most the full score, and at least 0 if the item has an initial score)
--       of parts       sum, avg, weighted_avg (by the items' weights), share (points as a share of the parts' full
--                      scores, times the item's own)
--   Raw scores are compared with the platform's own score of their item. If the item has none, they are compared with
--     the score of the item above, as a sum of its parts.
--   shown_by:
--     assessment  the scores of the assessment show the rule
--     school      the scores of the school do, first of the same type, then of all types but additions
--     default     neither does: avg (raw scores), initial_and_sum (additions) or share (parts)
--   compared: the scores that tell rules apart, among the scores that shown_by names. agreed: of these, the scores that
--     the rule reproduces.
-- Source: core.fct_score, core.dim_assessment_item.
with own as (
    select
        school_id,
        assessment_item_id,
        student_id,
        score
    from {{ ref('fct_score') }}
    where
        is_item_score
        and is_valid
        and score is not null
),

items as (
    select * from {{ ref('dim_assessment_item') }} where not is_deleted
),

thresholds as (
    select school_id, value as least_percent
    from {{ ref('stg_grade_thresholds') }}
    where threshold = 'score_rule_percent'
),

raws as (
    {{ raw_scores_by_student() }}
    where grouped.valid_scores > 0
),

of_raws as (
    select
        school_id,
        assessment_id,
        assessment_item_id,
        parent_item_id,
        coalesce(scoring_type, '') as scoring_type,
        student_id,
        {{ is_telling(raw_rules()) }} as is_telling,
        {{ each_rule(raw_rules()) }}
    from raws
),

-- The sums that raw scores of items without an own score make for the item above. Additions always count by their rule.
parents_of_raws as (
    select
        of_raws.school_id,
        of_raws.assessment_id,
        of_raws.parent_item_id as assessment_item_id,
        of_raws.student_id,
        of_raws.rule,
        any_value(of_raws.place) as place,
        min(of_raws.scoring_type) filter (where of_raws.is_telling and of_raws.scoring_type <> 'addition')
            as scoring_type,
        sum(coalesce(additions.value, of_raws.value)) as value,
        count(*) as parts
    from of_raws
    left join of_raws as additions
        on additions.scoring_type = 'addition'
        and additions.rule = 'initial_and_sum'
        and additions.school_id = of_raws.school_id
        and additions.assessment_item_id = of_raws.assessment_item_id
        and additions.student_id = of_raws.student_id
    anti join own
        on own.school_id = of_raws.school_id
        and own.assessment_item_id = of_raws.assessment_item_id
        and own.student_id = of_raws.student_id
    where of_raws.parent_item_id is not null
    group by
        of_raws.school_id, of_raws.assessment_id, of_raws.parent_item_id, of_raws.student_id, of_raws.rule
    having min(of_raws.scoring_type) filter (where of_raws.is_telling and of_raws.scoring_type <> 'addition')
        = max(of_raws.scoring_type) filter (where of_raws.is_telling and of_raws.scoring_type <> 'addition')
),

-- The number of live parts of each item that are scored in points.
part_counts as (
    select school_id, parent_item_id as assessment_item_id, count(full_score) as parts
    from items
    where parent_item_id is not null
    group by school_id, parent_item_id
),

-- Scores that are the same by every rule.
scores as (
    select school_id, assessment_item_id, student_id, score from own

    union all

    select raws.school_id, raws.assessment_item_id, raws.student_id, raws.mean as score
    from raws
    anti join own using (school_id, assessment_item_id, student_id)
    where not {{ is_telling(raw_rules()) }}
),

parts as (
    select
        parents.school_id,
        any_value(parents.assessment_id) as assessment_id,
        parents.assessment_item_id,
        scores.student_id,
        {{ score_parts() }}
    from scores
    inner join items as children
        on children.school_id = scores.school_id
        and children.assessment_item_id = scores.assessment_item_id
    inner join items as parents
        on parents.school_id = children.school_id
        and parents.assessment_item_id = children.parent_item_id
    group by parents.school_id, parents.assessment_item_id, scores.student_id
),

of_parts as (
    select
        school_id,
        assessment_id,
        assessment_item_id,
        student_id,
        parts.parts,
        {{ is_telling(part_rules()) }} as is_telling,
        {{ each_rule(part_rules()) }}
    from parts
),

candidates as (
    select school_id, assessment_id, assessment_item_id, student_id, 'raw' as made_of, scoring_type, rule, place, value
    from of_raws
    where is_telling

    union all

    select
        school_id, assessment_id, assessment_item_id, student_id, 'raw' as made_of,
        parents_of_raws.scoring_type, rule, place, value
    from parents_of_raws
    inner join part_counts using (school_id, assessment_item_id, parts)

    union all

    select school_id, assessment_id, assessment_item_id, student_id, 'items' as made_of, '' as scoring_type, rule, place, value
    from of_parts
    inner join part_counts using (school_id, assessment_item_id, parts)
    where is_telling
),

-- Counts for a scoring type in an assessment, for a scoring type in the school, and for additions and other types there.
counted as (
    select
        candidates.school_id,
        candidates.assessment_id,
        candidates.made_of,
        candidates.scoring_type,
        candidates.scoring_type = 'addition' as is_addition,
        candidates.rule,
        any_value(candidates.place) as place,
        grouping(candidates.assessment_id) + grouping(candidates.scoring_type) as breadth,
        count(*) as compared,
        count(*) filter (where {{ is_told('candidates.value', 'own.score') }}) as agreed,
        count(*) filter (where own.score = candidates.value) as agreed_exactly
    from candidates
    inner join own
        on own.school_id = candidates.school_id
        and own.assessment_item_id = candidates.assessment_item_id
        and own.student_id = candidates.student_id
    group by grouping sets (
        (candidates.school_id, candidates.assessment_id, candidates.made_of, candidates.scoring_type, is_addition, candidates.rule),
        (candidates.school_id, candidates.made_of, candidates.scoring_type, is_addition, candidates.rule),
        (candidates.school_id, candidates.made_of, is_addition, candidates.rule)
    )
),

shown as (
    select counted.*
    from counted
    inner join thresholds
        on thresholds.school_id = counted.school_id
    where 100 * counted.agreed >= thresholds.least_percent * counted.compared
    qualify row_number() over (
        partition by
            counted.school_id, counted.breadth, counted.assessment_id, counted.made_of, counted.scoring_type,
            counted.is_addition
        -- A rounded mean may equal the last mark every time, so exact agreement decides first.
        order by counted.agreed_exactly desc, counted.agreed desc, counted.place
    ) = 1
),

needed as (
    select distinct school_id, assessment_id, 'raw' as made_of, scoring_type from of_raws
    union all
    select distinct school_id, assessment_id, 'items' as made_of, '' as scoring_type
    from items
    where not is_leaf
)

select
    needed.school_id,
    needed.assessment_id,
    needed.made_of,
    needed.scoring_type,
    coalesce(
        of_assessment.rule,
        of_type.rule,
        of_school.rule,
        case
            when needed.made_of = 'items' then 'share'
            when needed.scoring_type = 'addition' then 'initial_and_sum'
            else 'avg'
        end
    ) as rule,
    case
        when of_assessment.rule is not null then 'assessment'
        when coalesce(of_type.rule, of_school.rule) is not null then 'school'
        else 'default'
    end as shown_by,
    coalesce(of_assessment.compared, of_type.compared, of_school.compared, 0) as compared,
    coalesce(of_assessment.agreed, of_type.agreed, of_school.agreed, 0) as agreed
from needed
left join shown as of_assessment
    on of_assessment.breadth = 0
    and of_assessment.school_id = needed.school_id
    and of_assessment.assessment_id = needed.assessment_id
    and of_assessment.made_of = needed.made_of
    and of_assessment.scoring_type = needed.scoring_type
left join shown as of_type
    on of_type.breadth = 1
    and of_type.school_id = needed.school_id
    and of_type.made_of = needed.made_of
    and of_type.scoring_type = needed.scoring_type
left join shown as of_school
    on of_school.breadth = 2
    and of_school.school_id = needed.school_id
    and of_school.made_of = needed.made_of
    and of_school.is_addition = (needed.scoring_type = 'addition')
