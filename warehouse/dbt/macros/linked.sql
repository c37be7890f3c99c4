{#-
    Pairs the rows of two CTEs (school_id, kind, id, code, is_deleted) that stand for the same thing in the v1
    and in the v3 interface, one to one: `linked` (school_id, id, other_id, matched_by).
    First the same id, unless both have a code and the codes differ; then the same code and kind, where one
    row only has it on either side (one live row, if there are others); then the same id after all, since
    codes change, and since a v1 code may be that of a course with several classes.
-#}
{% macro linked(ours, theirs, code_name) -%}
    pairs as (
        select
            {{ ours }}.school_id,
            {{ ours }}.id,
            {{ theirs }}.id as other_id,
            case when coalesce({{ ours }}.code = {{ theirs }}.code, true) then 1 else 3 end as step
        from {{ ours }}
        inner join {{ theirs }}
            on {{ theirs }}.school_id = {{ ours }}.school_id
            and {{ theirs }}.id = {{ ours }}.id

        union all

        select
            mine.school_id,
            mine.id,
            other.id as other_id,
            2 as step
        from ({{ _sole_holders(ours) }}) as mine
        inner join ({{ _sole_holders(theirs) }}) as other
            on other.school_id = mine.school_id
            and other.kind = mine.kind
            and other.code = mine.code
            and other.id <> mine.id
    ),

    linked as (
        select
            school_id,
            id,
            other_id,
            case when step = 2 then '{{ code_name }}' else 'id' end as matched_by
        from pairs
        qualify
            step = min(step) over (partition by school_id, id)
            and step = min(step) over (partition by school_id, other_id)
    )
{%- endmacro %}

{% macro _sole_holders(rows) -%}
    select school_id, kind, code, arg_max(id, not is_deleted) as id
    from {{ rows }}
    where code is not null
    group by school_id, kind, code
    having count(*) = 1 or count(*) filter (where not is_deleted) = 1
{%- endmacro %}
