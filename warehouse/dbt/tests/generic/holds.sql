{#- The condition is true in every row. A row with an unknown (null) condition fails. -#}
{% test holds(model, condition) %}
    select *
    from {{ model }}
    where not coalesce({{ condition }}, false)
{% endtest %}
