-- Grain: school, assessment item, student: the score of the item. fct_score may have several rows for it, or none.
-- Rules: score_source is the first of these that has a score, or that is taken out of statistics:
--     item_score   the platform's own score of the item
--     raw          the valid raw scores of the evaluators, by the rule for the assessment (core.score_rule)
--     items        the valid scores of the item's live parts, by the rule for the assessment
--   score: null: not scored, unless score_text has a word instead of points; 0: zero points.
--   is_valid: false: the score does not count in statistics. Raw scores: false if no raw score counts.
--   rule: how a score is made that is not the platform's own. shown_by: how the rule is known, as in core.score_rule, or
--     platform: the item's own compute_type. It goes before the school's rule and the default.
--   parts: the number of scores that the score is made of. From two on, the rule matters.
--   evaluators: the number of teachers who gave the score: 0 unknown, 1, or 2 for several. evaluator_id: the teacher, if
--     there is one. If the platform's own score names nobody, the item's raw scores name the teachers.
-- Source: core.fct_score, core.score_rule, core.dim_assessment_item.
with own as (
    select * from {{ ref('fct_score') }} where is_item_score
),

items as (
    select * from {{ ref('dim_assessment_item') }}
),

rules as (
    select * from {{ ref('score_rule') }}
),

raws as (
    {{ raw_scores_by_student() }}
),

-- The scores that raw scores make, as if the platform had none of its own.
of_raws as (
    select
        raws.*,
        {{ rule_in_force('raws.compute_type', ('sum', 'avg')) }},
        if(
            raws.valid_scores > 0,
            {{ by_rule('own_rule', raw_rules()) }},
            raws.any_score
        ) as score,
        raws.valid_scores > 0 or raws.are_valid as is_valid,
        case
            when raws.evaluator_id is null then 0
            when raws.evaluator_id = raws.other_evaluator_id then 1
            else 2
        end as evaluators
    from raws
    left join rules
        on rules.school_id = raws.school_id
        and rules.assessment_id = raws.assessment_id
        and rules.made_of = 'raw'
        and rules.scoring_type = coalesce(raws.scoring_type, '')
),

direct as (
    select
        school_id,
        assessment_item_id,
        student_id,
        coalesce(own.assessment_id, of_raws.assessment_id) as assessment_id,
        own.score_id is null
        or (
            not {{ is_given('own') }}
            and own.is_valid
            and coalesce(of_raws.valid_scores > 0 or of_raws.any_text is not null, false)
        ) as is_of_raws,
        if(is_of_raws, of_raws.score, own.score) as score,
        if(is_of_raws, if(of_raws.score is null, of_raws.any_text, null), own.score_text) as score_text,
        if(is_of_raws, of_raws.is_valid, own.is_valid) as is_valid,
        if(is_of_raws, 'raw', 'item_score') as score_source,
        if(is_of_raws, of_raws.own_rule, null) as rule,
        if(is_of_raws, of_raws.own_shown_by, null) as shown_by,
        if(is_of_raws, of_raws.valid_scores, 1) as parts,
        coalesce(of_raws.raw_scores, 0) as raw_scores,
        if(is_of_raws or own.evaluator_id is null, coalesce(of_raws.evaluators, 0), 1) as evaluators,
        if(is_of_raws or own.evaluator_id is null, of_raws.evaluator_id, own.evaluator_id) as evaluator_id,
        if(is_of_raws, of_raws.first_scored_at, if({{ is_given('own') }}, own.created_at, null)) as first_scored_at,
        if(is_of_raws, of_raws.last_scored_at, if({{ is_given('own') }}, own.created_at, null)) as last_scored_at,
        least(own.published_at, of_raws.published_at) as published_at,
        greatest(own.updated_at, of_raws.updated_at) as updated_at
    from own
    full join of_raws using (school_id, assessment_item_id, student_id)
),

{%- for depth in (2, 1) %}

-- The scores of items of level {{ depth }}, made of their parts.
level_{{ depth }} as (
    select
        parts.*,
        {{ rule_in_force('parts.compute_type', ('sum', 'avg', 'weighted_avg')) }},
        coalesce({{ by_rule('own_rule', part_rules()) }}, parts.total) as score
    from (
        select
            parents.school_id,
            parents.assessment_item_id,
            scores.student_id,
            any_value(parents.assessment_id) as assessment_id,
            any_value(parents.compute_type) as compute_type,
            {{ score_parts() }},
            case when min(scores.evaluator_id) < max(scores.evaluator_id) then 2 else max(scores.evaluators) end
                as evaluators,
            min(scores.evaluator_id) as evaluator_id,
            min(scores.first_scored_at) as first_scored_at,
            max(scores.last_scored_at) as last_scored_at,
            min(scores.published_at) as published_at,
            max(scores.updated_at) as updated_at
        from (
            select * from direct
            {%- if depth == 1 %}
            union all by name
            select * from level_2
            {%- endif %}
        ) as scores
        inner join items as children
            on children.school_id = scores.school_id
            and children.assessment_item_id = scores.assessment_item_id
        inner join items as parents
            on parents.school_id = children.school_id
            and parents.assessment_item_id = children.parent_item_id
        anti join direct as told
            on told.school_id = parents.school_id
            and told.assessment_item_id = parents.assessment_item_id
            and told.student_id = scores.student_id
            and ({{ is_given('told') }} or not told.is_valid)
        where
            parents.depth = {{ depth }}
            and not children.is_deleted
            and scores.score is not null
            {%- if depth == 1 %}
            and coalesce(scores.is_valid, true)
            {%- else %}
            and scores.is_valid
            {%- endif %}
        group by parents.school_id, parents.assessment_item_id, scores.student_id
    ) as parts
    left join rules
        on rules.school_id = parts.school_id
        and rules.assessment_id = parts.assessment_id
        and rules.made_of = 'items'
),
{%- endfor %}

made as (
    select * from level_2
    union all by name
    select * from level_1
)

select
    school_id,
    assessment_item_id,
    student_id,
    assessment_id,
    score,
    score_text,
    is_valid,
    score_source,
    rule,
    shown_by,
    parts,
    raw_scores,
    evaluators,
    case when evaluators = 1 then evaluator_id end as evaluator_id,
    first_scored_at,
    last_scored_at,
    published_at,
    updated_at
from direct
anti join made using (school_id, assessment_item_id, student_id)

union all

select
    school_id,
    assessment_item_id,
    student_id,
    assessment_id,
    score,
    null as score_text,
    true as is_valid,
    'items' as score_source,
    own_rule as rule,
    own_shown_by as shown_by,
    parts,
    0 as raw_scores,
    evaluators,
    case when evaluators = 1 then evaluator_id end as evaluator_id,
    first_scored_at,
    last_scored_at,
    published_at,
    updated_at
from made
