{#-
    The keys that occur more than once, or are null in part, each with its row_count, among tens of millions of
    rows: to group these by a key that is nearly each one's own costs more than anything else done with them.
    within, number: columns of the key; the latter a small number, such as a lesson. Where no group of the
    former has a number twice, which is the rule, no key is repeated; only the other groups are looked at.
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
