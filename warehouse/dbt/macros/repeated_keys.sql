{#-
    The keys that occur more than once, or are null in part, each with its row_count. For tables of tens of millions of
    rows, where grouping by a nearly unique key costs more than any other step.
    within, number: columns of the key; number is a small number, such as a lesson. A group of `within` without a repeated
    number, as nearly all are, has no repeated key. Only the other groups are searched.
-#}
{% macro repeated_keys(rows, key, within, number) -%}
    select
        {{ key | join(', ') }},
        count(*) as row_count
    from {{ rows }}
    where
        {{ key | join(' is null or ') }} is null
        or ({{ within | join(', ') }}) in (
            select ({{ within | join(', ') }})
            from {{ rows }}
            group by {{ within | join(', ') }}
            having count(*) > bit_count(bit_or(cast(1 as hugeint) << (abs({{ number }}) % 120)))
        )
    group by {{ key | join(', ') }}
    having count(*) > 1 or {{ key | join(' is null or ') }} is null
{%- endmacro %}
