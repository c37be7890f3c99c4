{#-
    Each combination of the columns identifies one row, and no column is null.
    within, number: for tables of tens of millions of rows, see macros/repeated_keys.sql.
-#}
{% test unique_key(model, columns, within=none, number=none) %}
    {%- set key = columns | join(', ') %}
    {%- if within %}
    {{ repeated_keys(model, columns, within, number) }}
    {%- else %}
    select {{ key }}, count(*) as row_count
    from {{ model }}
    group by {{ key }}
    having count(*) > 1 or {{ columns | join(' is null or ') }} is null
    {%- endif %}
{% endtest %}
