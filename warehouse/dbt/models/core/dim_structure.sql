-- Grain: school, structure (headquarters, campus, school level, grade, subject group).
-- Rules: the tree is flattened: each structure has the ids and names of its ancestors from the top, itself included.
--   The parent is the first of these that is known:
--     1. parent_id, if the platform sends it
--     2. the last other id in a path of ids (`/1/5/12`)
--     3. the structure whose path is this path without its last name (`A/B/C`)
--   An unknown parent and a circle both end the walk up, so every structure keeps its row. Removed structures stay
--     (is_deleted).
-- Source: raw.structures.
with recursive structures as (
    select * from {{ ref('stg_structures') }}
),

paths as (
    select
        school_id,
        structure_id,
        parent_structure_id,
        structure_name,
        path,
        case
            when regexp_full_match(path, '[0-9 ,./-]+')
                then list_filter(
                    regexp_extract_all(path, '[0-9]+'),
                    lambda part: try_cast(part as bigint) is distinct from structure_id
                )[-1]
        end as last_id_of_path,
        regexp_replace(path, '/[^/]*/?$', '') as path_above
    from structures
),

named_parents as (
    select
        paths.school_id,
        paths.structure_id,
        min(above.structure_id) as parent_structure_id
    from paths
    inner join paths as above
        on above.school_id = paths.school_id
        and rtrim(above.path, '/') = paths.path_above
        and above.structure_id <> paths.structure_id
    where paths.path_above <> ''
    group by paths.school_id, paths.structure_id
),

parents as (
    select
        paths.school_id,
        paths.structure_id,
        paths.structure_name,
        coalesce(
            paths.parent_structure_id,
            try_cast(paths.last_id_of_path as bigint),
            named_parents.parent_structure_id
        ) as parent_structure_id
    from paths
    left join named_parents
        on named_parents.school_id = paths.school_id
        and named_parents.structure_id = paths.structure_id
),

-- Walks from every structure up to its top, one row a step.
walk as (
    select
        school_id,
        structure_id,
        parent_structure_id as next_id,
        [structure_id] as ids,
        [structure_name] as names
    from parents

    union all

    select
        walk.school_id,
        walk.structure_id,
        parents.parent_structure_id as next_id,
        list_prepend(parents.structure_id, walk.ids) as ids,
        list_prepend(parents.structure_name, walk.names) as names
    from walk
    inner join parents
        on parents.school_id = walk.school_id
        and parents.structure_id = walk.next_id
    where not list_contains(walk.ids, parents.structure_id)
),

ancestors as (
    select
        school_id,
        structure_id,
        arg_max(ids, len(ids)) as ids,
        arg_max(names, len(ids)) as names
    from walk
    group by school_id, structure_id
)

select
    structures.school_id,
    structures.structure_id,
    structures.structure_name,
    structures.structure_type,
    parents.parent_structure_id,
    cast(len(ancestors.ids) as bigint) as level,
    array_to_string(ancestors.names, ' / ') as path_names,
    ancestors.ids as path_ids,
    {%- for level in range(1, 6) %}
    ancestors.ids[{{ level }}] as level_{{ level }}_id,
    ancestors.names[{{ level }}] as level_{{ level }}_name,
    {%- endfor %}
    structures.path,
    structures.depth,
    structures.seq,
    structures.weight,
    structures.graduates_in_id,
    structures.outer_id,
    structures.status,
    structures.created_at,
    structures.updated_at,
    structures.is_deleted,
    structures.deleted_at
from structures
inner join parents
    on parents.school_id = structures.school_id
    and parents.structure_id = structures.structure_id
inner join ancestors
    on ancestors.school_id = structures.school_id
    and ancestors.structure_id = structures.structure_id
