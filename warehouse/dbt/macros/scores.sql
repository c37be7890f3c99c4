{#-
    The rules that a student's raw scores of an item may make one score by, in the order in which one goes before
    another that shows as much: their names and values, of the columns of `raw_scores_by_student`. No evaluator
    has a weight, so a weighted mean of them is none.
-#}
{% macro raw_rules() -%}
    {{ return({
        'avg': 'raws.mean',
        'sum': 'raws.total',
        'last': 'raws.last_score',
        'max': 'raws.greatest_score',
        'min': 'raws.least_score',
        'initial_and_sum': 'raws.initial_and_sum'
    }) }}
{%- endmacro %}

{#- The rules that the scores of an item's parts may make one score by: the same, of the columns of a group of
    `score_parts`. share: points of the parts as a share of their full scores. -#}
{% macro part_rules() -%}
    {{ return({
        'sum': 'parts.total',
        'avg': ratio('parts.total', 'parts.parts', places=6, digits=18),
        'weighted_avg': ratio('parts.weighted_total', 'parts.weights', places=6, digits=18),
        'share': ratio('parts.full_score * parts.total', 'parts.full_scores', places=6, digits=18)
    }) }}
{%- endmacro %}

{#- What stands in the place of a number, such as a letter; null for nothing, and for a dash, which is nothing. -#}
{% macro word(column) -%}
    case
        when {{ column }} is null
            then nullif(regexp_replace(trim(_extra ->> '$.{{ column }}'), '^[-‐-―]$', ''), '')
    end
{%- endmacro %}

{#- Somebody has given this score: a number, or a word. -#}
{% macro is_given(scores) -%}
    ({{ scores }}.score is not null or {{ scores }}.score_text is not null)
{%- endmacro %}

{#- One row a student and item with raw scores: what each rule would make of the valid ones. -#}
{% macro raw_scores_by_student() -%}
    select
        grouped.*,
        items.parent_item_id,
        items.scoring_type,
        items.compute_type,
        {{ ratio('grouped.total', 'grouped.valid_scores', places=6, digits=18) }} as mean,
        -- Points that are added and taken off, from none to all.
        cast(
            greatest(least(coalesce(items.initial_score, 0) + grouped.total, items.full_score), 0) as decimal(18, 6)
        ) as initial_and_sum
    from (
        select
            school_id,
            assessment_id,
            assessment_item_id,
            student_id,
            count(*) as raw_scores,
            count(score) filter (where is_valid) as valid_scores,
            try_cast(sum(score) filter (where is_valid) as decimal(18, 6)) as total,
            max(score) filter (where is_valid) as greatest_score,
            min(score) filter (where is_valid) as least_score,
            arg_max(score, (created_at, score_id)) filter (where is_valid and score is not null) as last_score,
            max(score) as any_score,
            max(score_text) as any_text,
            bool_and(is_valid) as are_valid,
            coalesce(min(evaluator_id) filter (where {{ is_given('scores') }}), min(evaluator_id)) as evaluator_id,
            coalesce(max(evaluator_id) filter (where {{ is_given('scores') }}), max(evaluator_id)) as other_evaluator_id,
            min(created_at) filter (where {{ is_given('scores') }}) as first_scored_at,
            max(created_at) filter (where {{ is_given('scores') }}) as last_scored_at,
            min(published_at) as published_at,
            max(updated_at) as updated_at
        from {{ ref('fct_score') }} as scores
        where score_type = 'raw'
        group by school_id, assessment_id, assessment_item_id, student_id
    ) as grouped
    left join {{ ref('dim_assessment_item') }} as items
        on items.school_id = grouped.school_id
        and items.assessment_item_id = grouped.assessment_item_id
{%- endmacro %}

{#- The measures of a group of `scores` of `children`, live parts of one of `parents`, that rules go by. -#}
{% macro score_parts() -%}
    count(*) as parts,
    try_cast(sum(scores.score) as decimal(18, 6)) as total,
    any_value(parents.full_score) as full_score,
    case when count(children.full_score) = count(*) then sum(children.full_score) end as full_scores,
    case when count(children.weight) = count(*) then sum(scores.score * children.weight) end as weighted_total,
    sum(children.weight) as weights
{%- endmacro %}

{#- One row a rule: `rule`, its `place` and its `value`. -#}
{% macro each_rule(rules) -%}
    unnest(
        [
            {%- for rule, value in rules.items() %}
            {'rule': '{{ rule }}', 'place': {{ loop.index }}, 'value': {{ value }}}{{ ',' if not loop.last }}
            {%- endfor %}
        ],
        recursive := true
    )
{%- endmacro %}

{#- Whether rules make different scores of the same. -#}
{% macro is_telling(rules) -%}
    greatest({{ rules.values() | join(', ') }}) <> least({{ rules.values() | join(', ') }})
{%- endmacro %}

{#- Whether what the platform says is what a rule makes, rounded as platforms do or not at all. -#}
{% macro is_told(value, told) -%}
    {{ told }} = {{ value }}
    {%- for places in (2, 1, 0) %}
        or {{ told }} = cast({{ value }} as decimal(18, {{ places }}))
    {%- endfor %}
{%- endmacro %}

{#- What the rule in `rule` makes: the value of the one of that name. -#}
{% macro by_rule(rule, rules) -%}
    case {{ rule }}
        {%- for name, value in rules.items() %}
        when '{{ name }}' then {{ value }}
        {%- endfor %}
    end
{%- endmacro %}

{#- The rule that makes a score, and how it is known, of `rules` as core.score_rule has them: an item's own
    compute_type, where it is one of `own`, goes before other assessments and the default. -#}
{% macro rule_in_force(compute_type, own) -%}
    {%- set says = "rules.shown_by <> 'assessment' and " ~ compute_type ~ " in ('" ~ own | join("', '") ~ "')" -%}
    case when {{ says }} then {{ compute_type }} else rules.rule end as own_rule,
    case when {{ says }} then 'platform' else rules.shown_by end as own_shown_by
{%- endmacro %}

{#- Who gave all of a group of item scores; null where several did, or nobody who is known. -#}
{% macro sole_evaluator(which='') -%}
    case
        when
            max(evaluators) {{ which }} = 1
            and min(evaluator_id) {{ which }} = max(evaluator_id) {{ which }}
            then min(evaluator_id) {{ which }}
    end
{%- endmacro %}
