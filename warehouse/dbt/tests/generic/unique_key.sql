{#- Each combination of the columns names one row, and none of them is null. -#}
{% test unique_key(model, columns) %}
    {%- set key = columns | join(', ') %}
    select {{ key }}, count(*) as row_count
    from {{ model }}
    group by {{ key }}
    having count(*) > 1 or {{ columns | join(' is null or ') }} is null
{% endtest %}
