{#- In each group, the parts add up to the whole, which every row of the group repeats. -#}
{% test parts_make_the_whole(model, by, part, whole) %}
    {%- set group = by | join(', ') %}
    select {{ group }}, sum({{ part }}) as parts, any_value({{ whole }}) as whole
    from {{ model }}
    group by {{ group }}
    having sum({{ part }}) <> any_value({{ whole }})
{% endtest %}
