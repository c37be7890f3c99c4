{#- The interface knows items of 1 to 3 levels; the ancestors of a deeper one are not all in its level columns. -#}
{% test item_tree_depth(model) %}
    {{ config(severity='warn', store_failures=true) }}
    select items.*
    from {{ model }} as items
    inner join {{ model }} as top
        on top.school_id = items.school_id
        and top.assessment_item_id = items.level_1_id
    where
        items.depth = 3
        and top.parent_item_id is not null
{% endtest %}
