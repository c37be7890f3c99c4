{#- In each group, rows that are not over yet (is_complete false) come after all others, along a column. -#}
{% test unfinished_is_last(model, by, along) %}
    {%- set group = by | join(', ') %}
    select {{ group }}, min({{ along }}) filter (where not is_complete) as first_unfinished
    from {{ model }}
    group by {{ group }}
    having
        min({{ along }}) filter (where not is_complete) <= max({{ along }}) filter (where is_complete)
        or count(is_complete) < count(*)
{% endtest %}
