{#-
    Names and values of the rules that may make one score of a student's raw scores of an item. The values use the columns
    of `raw_scores_by_student`. If two rules agree with equally many scores, the first is taken. Evaluators have no
    weights, so there is no weighted mean.
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

{#- Names and values of the rules that may make one score of the scores of an item's parts, likewise. The values use the
    columns of `score_parts`. share: points of the parts as a share of their full scores. -#}
{% macro part_rules() -%}
    {{ return({
        'sum': 'parts.total',
        'avg': ratio('parts.total', 'parts.parts', places=6, digits=18),
        'weighted_avg': ratio('parts.weighted_total', 'parts.weights', places=6, digits=18),
        'share': ratio('parts.full_score * parts.total', 'parts.full_scores', places=6, digits=18)
    }) }}
{%- endmacro %}

{#- The word that stands instead of a number, such as a letter; null if empty or a dash. -#}
{% macro word(column) -%}
    case
        when {{ column }} is null
            then nullif(regexp_replace(trim(_extra ->> '$.{{ column }}'), '^[-‐-―]$', ''), '')
    end
{%- endmacro %}

{#- True if the score was given: a number or a word. -#}
{% macro is_given(scores) -%}
    ({{ scores }}.score is not null or {{ scores }}.score_text is not null)
{%- endmacro %}

{#- One row a student and item with raw scores: the values that the rules use, of valid scores. -#}
{% macro raw_scores_by_student() -%}
    select
        grouped.*,
        items.parent_item_id,
        items.scoring_type,
        items.compute_type,
        {{ ratio('grouped.total', 'grouped.valid_scores', places=6, digits=18) }} as mean,
        -- Deductions leave at least 0 of an initial score. Without an initial score they are negative points.
        cast(
            least(
                if(items.initial_score is null, grouped.total, greatest(items.initial_score + grouped.total, 0)),
                items.full_score
            ) as decimal(18, 6)
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

{#- The values that the rules use, of a group of `scores` of `children`, the live parts of an item of `parents`. -#}
{% macro score_parts() -%}
    count(*) as parts,
    try_cast(sum(scores.score) as decimal(18, 6)) as total,
    any_value(parents.full_score) as full_score,
    case when count(children.full_score) = count(*) then sum(children.full_score) end as full_scores,
    case when count(children.weight) = count(*) then sum(scores.score * children.weight) end as weighted_total,
    sum(children.weight) as weights
{%- endmacro %}

{#- A row for each rule: `rule`, its `place` and its `value`. -#}
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

{#- True if the rules give different scores. -#}
{% macro is_telling(rules) -%}
    greatest({{ rules.values() | join(', ') }}) <> least({{ rules.values() | join(', ') }})
{%- endmacro %}

{#- True if a rule makes the platform's score, exactly or rounded as platforms round. -#}
{% macro is_told(value, told) -%}
    {{ told }} = {{ value }}
    {%- for places in (2, 1, 0) %}
        or {{ told }} = cast({{ value }} as decimal(18, {{ places }}))
    {%- endfor %}
{%- endmacro %}

{#- The value of the rule that the column `rule` names. -#}
{% macro by_rule(rule, rules) -%}
    case {{ rule }}
        {%- for name, value in rules.items() %}
        when '{{ name }}' then {{ value }}
        {%- endfor %}
    end
{%- endmacro %}

{#- The rule that makes a score, and its source, from `rules` (core.score_rule). An item's own compute_type, if it is among
    `own`, goes before a rule of the school and the default. -#}
{% macro rule_in_force(compute_type, own) -%}
    {%- set says = "rules.shown_by <> 'assessment' and " ~ compute_type ~ " in ('" ~ own | join("', '") ~ "')" -%}
    case when {{ says }} then {{ compute_type }} else rules.rule end as own_rule,
    case when {{ says }} then 'platform' else rules.shown_by end as own_shown_by
{%- endmacro %}

{#- The teacher who gave all of a group of item scores; null if several did, or if unknown. -#}
{% macro sole_evaluator(which='') -%}
    case
        when
            max(evaluators) {{ which }} = 1
            and min(evaluator_id) {{ which }} = max(evaluator_id) {{ which }}
            then min(evaluator_id) {{ which }}
    end
{%- endmacro %}
