{#- A seed has a default row (school_id empty); with a column, one for each of the values. -#}
{% test has_defaults(model, column=none, values=['any']) %}
    select wanted.value
    from (select unnest({{ values }}) as value) as wanted
    where not exists (
        select 1
        from {{ model }} as seed
        where seed.school_id is null
        {%- if column %} and seed.{{ column }} = wanted.value{% endif %}
    )
{% endtest %}
