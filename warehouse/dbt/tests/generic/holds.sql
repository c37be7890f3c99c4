{#- The condition is true in every row; unknown (null) is a breach. -#}
{% test holds(model, condition) %}
    select *
    from {{ model }}
    where not coalesce({{ condition }}, false)
{% endtest %}
