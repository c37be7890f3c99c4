{#-
    The rules that the scores of an assessment's items may make its suggested score by, in the order in which one
    goes before another that shows as much: their names and values. Of the leaves of the tree, or of its topmost
    items; share: points as a share of the full scores of what is scored, of the full score of the grade.
-#}
{% macro suggestion_rules() -%}
    {{ return({
        'share_of_leaves': ratio('full_score * leaf_total', 'leaf_full_scores', places=6, digits=18),
        'share_of_tops': ratio('full_score * top_total', 'top_full_scores', places=6, digits=18),
        'sum_of_tops': 'top_total',
        'sum_of_leaves': 'leaf_total',
        'weighted_mean_of_tops': ratio('top_weighted_total', 'top_weights', places=6, digits=18),
        'mean_of_tops': ratio('top_total', 'top_items', places=6, digits=18)
    }) }}
{%- endmacro %}

{#- Sums over the scored items of a student of which a condition holds, as columns named after them. -#}
{% macro sums_of_items(name, condition) -%}
    {%- set those = 'filter (where ' ~ condition ~ ')' -%}
    count(*) {{ those }} as {{ name }}_items,
    try_cast(sum(scores.score) {{ those }} as decimal(18, 6)) as {{ name }}_total,
    case
        when count(items.full_score) {{ those }} = count(*) {{ those }} then sum(items.full_score) {{ those }}
    end as {{ name }}_full_scores,
    case
        when count(items.weight) {{ those }} = count(*) {{ those }}
            then sum(scores.score * items.weight) {{ those }}
    end as {{ name }}_weighted_total,
    sum(items.weight) {{ those }} as {{ name }}_weights
{%- endmacro %}
