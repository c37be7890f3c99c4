{#-
    The CTE `linked` (school_id, id, other_id, matched_by): one-to-one pairs of rows that stand for the same thing in the
    v1 and in the v3 interface. The two CTEs of rows have school_id, kind, id, code, name and is_deleted.
    The first of these that a row has makes its pair:
        1. the same id, unless both rows have a code and the codes differ
        2. the same code and kind, if in each interface only one row, or only one live row, has them
        3. the same name and kind, likewise: an id of v1 may belong to another row in v3
        4. the same id with different codes: codes change, and a v1 code may be the code of a course with several classes
    name is null if names do not identify a row.
-#}
{% macro linked(ours, theirs, code_name) -%}
    pairs as (
        select
            {{ ours }}.school_id,
            {{ ours }}.id,
            {{ theirs }}.id as other_id,
            case when coalesce({{ ours }}.code = {{ theirs }}.code, true) then 1 else 4 end as step
        from {{ ours }}
        inner join {{ theirs }}
            on {{ theirs }}.school_id = {{ ours }}.school_id
            and {{ theirs }}.id = {{ ours }}.id

        {%- for column in ('code', 'name') %}

        union all

        select
            mine.school_id,
            mine.id,
            other.id as other_id,
            {{ loop.index + 1 }} as step
        from ({{ _sole_holders(ours, column) }}) as mine
        inner join ({{ _sole_holders(theirs, column) }}) as other
            on other.school_id = mine.school_id
            and other.kind = mine.kind
            and other.{{ column }} = mine.{{ column }}
            and other.id <> mine.id
        {%- endfor %}
    ),

    linked as (
        select
            school_id,
            id,
            other_id,
            case step when 2 then '{{ code_name }}' when 3 then 'name' else 'id' end as matched_by
        from pairs
        qualify
            step = min(step) over (partition by school_id, id)
            and step = min(step) over (partition by school_id, other_id)
    )
{%- endmacro %}

{% macro _sole_holders(rows, mark) -%}
    select school_id, kind, {{ mark }}, arg_max(id, not is_deleted) as id
    from {{ rows }}
    where {{ mark }} is not null
    group by school_id, kind, {{ mark }}
    having count(*) = 1 or count(*) filter (where not is_deleted) = 1
{%- endmacro %}

{#- The names of a course and its class together; null if both are empty. -#}
{% macro class_in_words() -%}
    nullif(concat_ws(' ', nullif(trim(course_name), ''), nullif(trim(class_name), '')), '')
{%- endmacro %}
