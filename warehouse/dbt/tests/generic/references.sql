{#-
    As related, for several columns in a single check, which costs less than a check each.
    to: by column, the other table and its column, such as dim_term.term_id.
-#}
{% test references(model, to) %}
    {{ config(severity='warn', store_failures=true) }}
    {%- for column_name, target in to.items() %}
    {%- set table, field = target.split('.') %}
    {{ 'union all' if not loop.first }}
    select '{{ column_name }}' as column_name, used.*
    from (
        select school_id, {{ column_name }} as missing_key, count(*) as row_count
        from {{ model }}
        where {{ column_name }} is not null
        group by school_id, {{ column_name }}
    ) as used
    anti join {{ ref(table) }} as target
        on target.school_id = used.school_id
        and target.{{ field }} = used.missing_key
    {%- endfor %}
{% endtest %}
