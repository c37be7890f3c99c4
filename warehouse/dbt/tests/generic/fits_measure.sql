{#- The columns keep their exact value as decimal(18, 6), see macros/numbers.sql. -#}
{% test fits_measure(model, columns) %}
    {{ config(severity='warn', store_failures=true) }}
    select *
    from {{ model }}
    where
        _deleted_at is null
        and (
            {%- for column in columns %}
            {{ 'or ' if not loop.first }}{{ measure(column) }} is distinct from {{ column }}
            {%- endfor %}
        )
{% endtest %}
