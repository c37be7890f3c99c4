-- Grain: school, assessment item.
-- Rules: items form a tree of 1 to 3 levels. Columns for each level hold the ancestor's id and name, from the top down
--   to the item itself. An item whose parent is missing counts as top. A leaf has no live item below it. Removed
--   items stay (is_deleted).
-- Source: raw.assessment_items.
with items as (
    select * from {{ ref('stg_assessment_items') }}
),

parents_of_live_items as (
    select distinct
        school_id,
        parent_item_id as assessment_item_id
    from items
    where
        parent_item_id <> assessment_item_id
        and not is_deleted
),

-- The ids and names of the item and its ancestors, the top first.
ancestors as (
    select
        items.school_id,
        items.assessment_item_id,
        list_filter(
            [
                {'id': grandparent.assessment_item_id, 'name': grandparent.item_name},
                {'id': parent.assessment_item_id, 'name': parent.item_name},
                {'id': items.assessment_item_id, 'name': items.item_name}
            ],
            lambda item: item.id is not null
        ) as levels
    from items
    left join items as parent
        on parent.school_id = items.school_id
        and parent.assessment_item_id = items.parent_item_id
        and parent.assessment_item_id <> items.assessment_item_id
    left join items as grandparent
        on grandparent.school_id = parent.school_id
        and grandparent.assessment_item_id = parent.parent_item_id
        and grandparent.assessment_item_id not in (items.assessment_item_id, parent.assessment_item_id)
)

select
    items.school_id,
    items.assessment_item_id,
    items.assessment_id,
    items.item_name,
    items.item_type,
    items.parent_item_id,
    cast(len(ancestors.levels) as bigint) as depth,
    parents_of_live_items.assessment_item_id is null as is_leaf,
    {%- for level in range(1, 4) %}
    ancestors.levels[{{ level }}].id as level_{{ level }}_id,
    ancestors.levels[{{ level }}].name as level_{{ level }}_name,
    {%- endfor %}
    items.description,
    items.sort,
    items.full_score,
    items.initial_score,
    items.weight,
    items.stage_id,
    items.scoring_type,
    items.compute_type,
    items.display_type,
    items.tags,
    items.published_at,
    items.is_deleted,
    items.deleted_at,
    items.synced_at
from items
inner join ancestors
    on ancestors.school_id = items.school_id
    and ancestors.assessment_item_id = items.assessment_item_id
left join parents_of_live_items
    on parents_of_live_items.school_id = items.school_id
    and parents_of_live_items.assessment_item_id = items.assessment_item_id
