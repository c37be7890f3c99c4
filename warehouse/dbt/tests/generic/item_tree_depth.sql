{#- The interface knows items of 1 to 3 levels; a deeper one has ancestors that no level column shows. -#}
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
