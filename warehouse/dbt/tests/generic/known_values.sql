{#- An enum: a value outside the interface's specification is drift. Gives one row for each such value. -#}
{% test known_values(model, column_name, values) %}
    {{ config(severity='warn', store_failures=true) }}
    select school_id, {{ column_name }}, count(*) as row_count
    from {{ model }}
    where {{ column_name }} not in ('{{ values | join("', '") }}')
    group by school_id, {{ column_name }}
{% endtest %}
