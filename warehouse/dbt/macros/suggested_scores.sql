{#-
    Names and values of the rules that may make the suggested score of an assessment from its items. The rules use the
    leaves of the tree, or its topmost items. share: points as a share of the full scores of the scored items, times the
    full score of the grade. If two rules agree with equally many scores, the first is taken.
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

{#- Sums over a student's scored items that meet a condition; `name` begins the names of the columns. -#}
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
